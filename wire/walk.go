package wire

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/understudy-kafka/understudy/kraft"
)

// walk goes once through an encoded message along its schema. On the way it prints the values, or notes where the
// bytes are not what Kafka would write, or both. It needs memory only for what it prints.
type walk struct {
	r       reader
	version int16

	style   style
	secrets bool // print those too
	dst     []byte

	check    bool
	findings []Finding

	collect bool
	parts   []Part // of secret fields

	start    int    // where the field being read begins
	reading  string // its name
	position int64  // the last field "position" (of a snapshot chunk)
}

// style says how values are printed.
type style uint8

const (
	silent style = iota
	asJSON
	asText // name value, name value
)

// run walks through a whole message and reports whether it could be read to its end; bytes behind it are left.
func (w *walk) run(s *schema, version int16, body []byte) bool {
	w.version = version
	w.r = reader{b: body, flex: s.flexible.has(version)}
	w.structure(s.fields)
	if w.r.bad {
		w.note(Finding{Kind: FindMalformed, Offset: w.start, Field: w.reading, Refused: true})
	}
	return !w.r.bad
}

func (w *walk) note(f Finding) {
	if w.check && len(w.findings) < maxFindings {
		w.findings = append(w.findings, f)
	}
}

func (w *walk) put(text string) {
	if w.style != silent {
		w.dst = append(w.dst, text...)
	}
}

// name prints the name of a field, with what separates it from the one before.
func (w *walk) name(name string, first bool) {
	switch w.style {
	case asJSON:
		if !first {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(append(append(w.dst, '"'), name...), `":`...)
	case asText:
		if !first {
			w.dst = append(w.dst, ", "...)
		}
		w.dst = append(append(w.dst, name...), ' ')
	}
}

// structure walks through a message or a struct.
func (w *walk) structure(fields []field) {
	w.put("{")
	first := true
	for i := range fields {
		f := &fields[i]
		if !f.in.has(w.version) || w.r.flex && f.tagged.has(w.version) {
			continue
		}
		if w.style != silent {
			w.name(f.name, first)
		}
		first = false
		if w.value(f); w.r.bad {
			return
		}
	}
	if w.r.flex {
		w.tags(fields, first)
	}
	w.put("}")
}

// value walks through one field.
func (w *walk) value(f *field) {
	w.start, w.reading = w.r.at, f.name
	if !f.array {
		w.element(f)
		return
	}
	n := w.length(4)
	if n < 0 {
		w.null(f)
		return
	}
	if n > w.r.rest() { // every element takes at least a byte
		w.r.fail()
		return
	}
	w.put("[")
	for i := range n {
		if i > 0 {
			w.put(",")
		}
		if w.element(f); w.r.bad {
			return
		}
	}
	w.put("]")
}

// length reads the length of an array, a string or bytes; -1 stands for null. Outside of the flexible encoding it
// has size bytes.
func (w *walk) length(size int) int {
	start := w.r.at
	var n int
	switch {
	case w.r.flex:
		n = int(w.uvarint()) - 1
	case size == 2:
		n = int(w.r.int16())
	default:
		n = int(w.r.int32())
	}
	if n < -1 && !w.r.bad {
		w.note(Finding{Kind: FindNull, Offset: start, Field: w.reading, Detail: "length " + strconv.Itoa(n)})
		n = -1
	}
	return n
}

// uvarint reads an unsigned varint and notes one that is longer than need be.
func (w *walk) uvarint() uint32 {
	start := w.r.at
	v := w.r.uvarint()
	if n := w.r.at - start; n > 1 && !w.r.bad && w.r.b[w.r.at-1] == 0 {
		w.note(Finding{Kind: FindVarint, Offset: start, Field: w.reading, Detail: fmt.Sprintf("%d in %d bytes", v, n)})
	}
	return v
}

func (w *walk) null(f *field) {
	if w.r.bad {
		return
	}
	if !f.null.has(w.version) {
		w.note(Finding{Kind: FindNull, Offset: w.start, Field: f.name, Refused: true})
	}
	w.put("null")
}

// element walks through a value that is not an array, or one of an array's.
func (w *walk) element(f *field) {
	switch f.kind {
	case kindStruct:
		w.structure(f.fields)
	case kindString:
		w.text(f)
	case kindBytes, kindRecords:
		w.blob(f)
	case kindUUID:
		id := w.r.uuid()
		if w.style != silent {
			w.quoted(base64.RawURLEncoding.EncodeToString(id[:]))
		}
	default:
		w.number(f)
	}
}

func (w *walk) number(f *field) {
	if w.style == silent && f.kind != kindBool {
		w.r.skip(fixedSize[f.kind])
		return
	}
	raw := w.r.span(fixedSize[f.kind])
	if w.r.bad {
		return
	}
	var v int64
	switch f.kind {
	case kindBool:
		if raw[0] > 1 {
			w.note(Finding{Kind: FindBool, Offset: w.r.at - 1, Field: f.name, Detail: strconv.Itoa(int(raw[0]))})
		}
		if w.style != silent {
			w.dst = strconv.AppendBool(w.dst, raw[0] != 0)
		}
		return
	case kindFloat64:
		w.float(math.Float64frombits(binary.BigEndian.Uint64(raw)))
		return
	case kindInt8:
		v = int64(int8(raw[0]))
	case kindInt16:
		v = int64(int16(binary.BigEndian.Uint16(raw)))
	case kindUint16:
		v = int64(binary.BigEndian.Uint16(raw))
	case kindInt32:
		v = int64(int32(binary.BigEndian.Uint32(raw)))
	default:
		v = int64(binary.BigEndian.Uint64(raw))
	}
	if f.name == "position" {
		w.position = v
	}
	if w.style == asText && f.name == "errorCode" {
		w.dst = append(w.dst, ErrorName(kraft.ErrorCode(v))...)
		return
	}
	w.dst = strconv.AppendInt(w.dst, v, 10)
}

func (w *walk) float(v float64) {
	if w.style == asJSON && (math.IsNaN(v) || math.IsInf(v, 0)) { // JSON has no number for these
		w.quoted(strconv.FormatFloat(v, 'g', -1, 64))
		return
	}
	w.dst = strconv.AppendFloat(w.dst, v, 'g', -1, 64)
}

func (w *walk) text(f *field) {
	n := w.length(2)
	if n < 0 {
		w.null(f)
		return
	}
	s := w.r.span(n)
	if w.r.bad {
		return
	}
	if w.check && !utf8.Valid(s) {
		w.note(Finding{Kind: FindUTF8, Offset: w.r.at - n, Field: f.name})
	}
	if f.secret {
		w.secret(n)
	}
	switch {
	case w.style == silent:
	case f.secret && !w.secrets:
		w.withheld(n)
	case w.style == asJSON:
		w.dst = appendJSONString(w.dst, s)
	default:
		w.dst = appendText(line(w.dst), s)
	}
}

func (w *walk) blob(f *field) {
	n := w.length(4)
	if n < 0 {
		w.null(f)
		return
	}
	b := w.r.span(n)
	if w.r.bad {
		return
	}
	if f.kind == kindRecords && w.check {
		w.checkBatches(b)
	}
	if f.secret {
		w.secret(n)
	}
	switch {
	case w.style == silent:
	case f.kind == kindRecords && w.style == asJSON:
		w.batches(b)
	case f.kind == kindRecords, f.secret && !w.secrets:
		w.withheld(n)
	default:
		w.quoted(base64.StdEncoding.EncodeToString(b))
	}
}

// quoted prints text that needs no escapes.
func (w *walk) quoted(text string) {
	if w.style == asJSON {
		w.dst = append(append(append(w.dst, '"'), text...), '"')
	} else {
		w.dst = append(w.dst, text...)
	}
}

// withheld stands for a value that is not shown.
func (w *walk) withheld(n int) { w.quoted("(withheld: " + strconv.Itoa(n) + " bytes)") }

// tags walks through the tagged fields at the end of a struct. Those that Kafka does not know are kept as bytes.
func (w *walk) tags(fields []field, first bool) {
	w.start, w.reading = w.r.at, "tags"
	last := int64(-1)
	var unknown []byte // printed behind the fields
	for n := w.uvarint(); n > 0 && !w.r.bad; n-- {
		w.start, w.reading = w.r.at, "tags"
		start := w.r.at
		number := w.uvarint()
		size := int(w.uvarint())
		if w.r.bad {
			return
		}
		if int64(number) <= last {
			w.note(Finding{Kind: FindTagOrder, Offset: start, Detail: fmt.Sprintf("tag %d after %d", number, last)})
		}
		last = int64(number)
		if f := w.knownTag(fields, number, start); f != nil {
			w.name(f.name, first)
			first = false
			w.tagged(f, start, size)
			continue
		}
		raw := w.r.span(size)
		w.secret(len(raw))
		if w.style != silent {
			fields := w.dst
			w.dst = unknown
			w.name(strconv.Itoa(int(number)), len(unknown) == 0)
			w.quoted(base64.StdEncoding.EncodeToString(raw))
			unknown, w.dst = w.dst, fields
		}
	}
	if len(unknown) > 0 {
		w.name("unknownTags", first)
		w.dst = append(append(append(w.dst, '{'), unknown...), '}')
	}
}

// knownTag is the field with this tag, nil if there is none in this version. Kafka's readers refuse a tag that they know
// from another version.
func (w *walk) knownTag(fields []field, number uint32, start int) *field {
	for i := range fields {
		f := &fields[i]
		if f.tagged == (span{}) || f.tag != number {
			continue
		}
		if f.tagged.has(w.version) && f.in.has(w.version) {
			return f
		}
		w.note(Finding{Kind: FindTagVersion, Offset: start, Field: f.name, Refused: true, Detail: fmt.Sprintf("tag %d in version %d", number, w.version)})
		return nil
	}
	return nil
}

// tagged walks through the content of a known tag. Like Kafka's readers it takes what the field needs, whatever the
// size says.
func (w *walk) tagged(f *field, start, size int) {
	from := w.r.at
	w.value(f)
	if w.r.bad {
		return
	}
	content := w.r.b[from:w.r.at]
	if len(content) != size {
		w.note(Finding{Kind: FindTagSize, Offset: start, Field: f.name, Detail: fmt.Sprintf("size %d, content of %d", size, len(content))})
	} else if w.check && f.isDefault(content, w.version) {
		w.note(Finding{Kind: FindDefault, Offset: start, Field: f.name})
	}
}
