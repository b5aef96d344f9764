package wire

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// JSONOptions say what JSON output shows.
type JSONOptions struct {
	// Secrets shows fields that hold credentials, or may hold them, instead of only their size.
	Secrets bool
}

// AppendRequestJSON appends a request's body as a JSON object with Kafka's field names: ids of 16 bytes in base64url,
// bytes in base64, record batches decoded, tags that Kafka does not know under "unknownTags". A body that cannot be
// read gives {"undecodable": reason, "size": bytes}; so does a key without a file of its own here.
func AppendRequestJSON(dst []byte, h RequestHeader, body []byte, o JSONOptions) []byte {
	dst, err := appendMessage(dst, h.Key, h.Version, Request, body, o)
	if err == nil && h.Key == KeyEnvelope && !o.Secrets {
		return appendInner(dst, body)
	}
	return dst
}

// AppendResponseJSON appends the body of the response to a request of this key and version; see [AppendRequestJSON].
func AppendResponseJSON(dst []byte, key, version int16, body []byte, o JSONOptions) []byte {
	dst, _ = appendMessage(dst, key, responseVersion(key, version, body), Response, body, o)
	return dst
}

func appendMessage(dst []byte, key, version int16, dir Direction, body []byte, o JSONOptions) ([]byte, error) {
	start := len(dst)
	s := messageSchema(key, version, dir)
	if s == nil {
		err := fmt.Errorf("%s v%d: %w", Name(key), version, ErrUnsupported)
		return appendUndecodable(dst, err, len(body)), err
	}
	w := walk{style: asJSON, secrets: o.Secrets, dst: dst}
	if !w.run(s, version, body) {
		err := fmt.Errorf("%s v%d, byte %d, field %s: %w", Name(key), version, w.start, w.reading, ErrMalformed)
		return appendUndecodable(w.dst[:start], err, len(body)), err
	}
	return w.dst, nil
}

// appendInner adds the header of the request inside an envelope to the JSON object at the end of dst.
func appendInner(dst, body []byte) []byte {
	r := reader{b: body, flex: true}
	h, inner, err := ParseRequestHeader(r.blob())
	if err != nil {
		return dst
	}
	dst = append(dst[:len(dst)-1], `,"inner":{"name":`...)
	dst = appendJSONString(dst, []byte(Name(h.Key)))
	dst = append(dst, `,"requestApiKey":`...)
	dst = strconv.AppendInt(dst, int64(h.Key), 10)
	dst = append(dst, `,"requestApiVersion":`...)
	dst = strconv.AppendInt(dst, int64(h.Version), 10)
	dst = append(dst, `,"correlationId":`...)
	dst = strconv.AppendInt(dst, int64(h.CorrelationID), 10)
	if h.ClientID != nil {
		dst = append(dst, `,"clientId":`...)
		dst = appendJSONString(dst, h.ClientID)
	}
	dst = append(dst, `,"size":`...)
	dst = strconv.AppendInt(dst, int64(len(inner)), 10)
	return append(dst, "}}"...)
}

func appendUndecodable(dst []byte, err error, size int) []byte {
	return appendReason(append(dst, '{'), err, size)
}

// appendReason appends why something could not be decoded as the last fields of an object, and closes it.
func appendReason(dst []byte, err error, size int) []byte {
	dst = append(dst, `"undecodable":`...)
	dst = appendJSONString(dst, []byte(err.Error()))
	dst = append(dst, `,"size":`...)
	return append(strconv.AppendInt(dst, int64(size), 10), '}')
}

// batches prints record batches as a list. A chunk of a snapshot begins with a batch only if it is the first.
func (w *walk) batches(b []byte) {
	if w.position > 0 {
		w.withheld(len(b))
		return
	}
	w.dst = append(w.dst, '[')
	for first := true; len(b) > 0; first = false {
		if !first {
			w.dst = append(w.dst, ',')
		}
		batch, rest, err := NextBatch(b)
		if err != nil {
			w.dst = appendUndecodable(w.dst, err, len(b))
			break
		}
		w.dst = AppendBatchJSON(w.dst, &batch, JSONOptions{Secrets: w.secrets})
		b = rest
	}
	w.dst = append(w.dst, ']')
}

// AppendBatchJSON appends a batch of the metadata log as a JSON object with its records.
func AppendBatchJSON(dst []byte, b *Batch, o JSONOptions) []byte {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{`{"baseOffset":`, int64(b.BaseOffset)},
		{`,"lastOffset":`, int64(b.LastOffset())},
		{`,"epoch":`, int64(b.Epoch)},
		{`,"count":`, int64(b.Count)},
		{`,"baseTimestamp":`, b.BaseTimestamp},
		{`,"size":`, int64(len(b.Bytes))},
	} {
		dst = strconv.AppendInt(append(dst, f.name...), f.value, 10)
	}
	dst = strconv.AppendBool(append(dst, `,"control":`...), b.Control())
	dst = strconv.AppendBool(append(dst, `,"crcValid":`...), b.CRCValid())
	if b.Attributes&AttrCompression != 0 {
		dst = appendJSONString(append(dst, `,"compression":`...), []byte(b.Codec()))
	}
	dst = append(dst, `,"records":[`...)
	first := true
	err := b.Each(func(r Record) error {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendRecordJSON(dst, b, &r, o)
		return nil
	})
	if err != nil {
		if !first {
			dst = append(dst, ',')
		}
		dst = appendUndecodable(dst, err, len(b.Records))
	}
	return append(dst, "]}"...)
}

func appendRecordJSON(dst []byte, b *Batch, r *Record, o JSONOptions) []byte {
	dst = strconv.AppendInt(append(dst, `{"offset":`...), int64(r.Offset), 10)
	dst = append(dst, ',')
	if b.Control() {
		return appendControlJSON(dst, r.Key, r.Value, o)
	}
	m, err := DecodeMetadata(r.Value)
	if err != nil {
		return appendReason(dst, err, len(r.Value))
	}
	return append(m.appendJSON(dst, o), '}')
}

// appendControlJSON appends type, version and data of a control record, and closes the object.
func appendControlJSON(dst []byte, key, value []byte, o JSONOptions) []byte {
	t, err := ControlTypeOf(key)
	if err == nil {
		s := controlIndex.find(int16(t))
		r := reader{b: value}
		version := r.int16()
		w := walk{style: asJSON, secrets: o.Secrets}
		if s != nil && !r.bad && s.valid.has(version) && w.run(s, version, value) {
			dst = appendJSONString(append(dst, `"type":`...), []byte(t.String()))
			dst = append(dst, `,"data":`...)
			return append(append(dst, w.dst...), '}')
		}
		err = fmt.Errorf("%s: %w", t, ErrMalformed)
	}
	return appendReason(dst, err, len(value))
}

const hexDigits = "0123456789abcdef"

// appendJSONString appends text as a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		c := s[0]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < ' ' || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRune(s)
			dst = utf8.AppendRune(dst, r)
			s = s[n:]
			continue
		}
		s = s[1:]
	}
	return append(dst, '"')
}
