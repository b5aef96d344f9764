package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FindingKind says in which way bytes are not what Kafka would write.
type FindingKind uint8

// The kinds of finding.
const (
	FindVersion    FindingKind = iota // key or version not known: nothing was checked
	FindMalformed                     // it does not follow the schema
	FindTrailing                      // bytes behind the end of the message
	FindVarint                        // a varint that is longer than need be
	FindDefault                       // a tagged field that holds its default, which Kafka leaves out
	FindTagVersion                    // a known tag in a version that does not have it
	FindTagOrder                      // tags that do not ascend
	FindTagSize                       // a tagged field whose content is not of its size
	FindNull                          // null where it may not be, or a negative length other than -1
	FindBool                          // a bool other than 0 and 1
	FindUTF8                          // a string that is not UTF-8
	FindControl                       // a control record whose value is not what Kafka writes
	FindDiffers                       // kmsg encodes the message differently
)

var findingNames = [...]string{
	"version not known", "malformed", "trailing bytes", "varint longer than need be", "default written out",
	"tag of another version", "tags out of order", "size of a tag", "null where it may not be",
	"bool neither 0 nor 1", "string is not UTF-8", "control record", "encodes differently",
}

func (k FindingKind) String() string { return findingNames[k] }

// Finding is a place where bytes decode, or nearly so, but are not what Kafka would write.
type Finding struct {
	Kind    FindingKind
	Offset  int    // in the body, bytes; in the value of a control record
	Field   string // Kafka's name of the field, if it is one
	Detail  string
	Refused bool // Kafka's own reader refuses the message for it; some of its nodes exit then
}

func (f Finding) String() string {
	text := fmt.Sprintf("byte %d: %s", f.Offset, f.Kind)
	if f.Field != "" {
		text += " at " + f.Field
	}
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	return text
}

// maxFindings bounds the findings of one body.
const maxFindings = 64

// Canonical compares the body of a request, or of the response to a request, with what Kafka would have written for the
// same content. It returns nothing if they are the same, so that encoding what was decoded gives the same bytes. Keys
// without a file of their own here are checked with kmsg, and only for whether they encode to the same bytes.
func Canonical(key, version int16, dir Direction, body []byte) []Finding {
	if dir == Response {
		version = responseVersion(key, version, body)
	}
	if s := messageSchema(key, version, dir); s != nil {
		return canonical(s, version, body)
	}
	if !Decodable(key, version) {
		return []Finding{{Kind: FindVersion, Detail: fmt.Sprintf("%s v%d", Name(key), version)}}
	}
	return viaKmsg(key, version, dir, body)
}

// canonical checks a body of a known layout.
func canonical(s *schema, version int16, body []byte) []Finding {
	w := walk{check: true}
	if w.run(s, version, body) && w.r.rest() > 0 {
		w.note(Finding{Kind: FindTrailing, Offset: w.r.at, Detail: fmt.Sprintf("%d bytes", w.r.rest())})
	}
	return w.findings
}

// checkBatches looks at the control records in a run of batches.
func (w *walk) checkBatches(b []byte) {
	base := w.r.at - len(b)
	for rest := b; len(rest) > 0; {
		start := base + len(b) - len(rest)
		batch, next, err := NextBatch(rest)
		if err != nil {
			return // a cut batch is legal, and any other is judged by those who read records
		}
		rest = next
		if !batch.Control() {
			continue
		}
		var again []byte
		err = batch.Each(func(r Record) error {
			again = AppendRecord(again, &r)
			for _, f := range CanonicalControl(r.Key, r.Value) {
				w.note(Finding{
					Kind: FindControl, Offset: start, Refused: f.Refused,
					Detail: fmt.Sprintf("batch at offset %d, record at offset %d: %s", batch.BaseOffset, r.Offset, f),
				})
			}
			return nil
		})
		switch {
		case err != nil:
			w.note(Finding{Kind: FindControl, Offset: start, Detail: err.Error()})
		case batch.Attributes&AttrCompression == 0 && string(again) != string(batch.Records):
			w.note(Finding{Kind: FindControl, Offset: start, Detail: fmt.Sprintf("batch at offset %d: records are written otherwise", batch.BaseOffset)})
		}
	}
}

// CanonicalControl compares the value of a control record with what Kafka would have written. Offsets are those in the value.
func CanonicalControl(key, value []byte) []Finding {
	t, err := ControlTypeOf(key)
	if err != nil {
		return []Finding{{Kind: FindMalformed, Detail: err.Error(), Refused: true}}
	}
	s := controlIndex.find(int16(t))
	r := reader{b: value}
	version := r.int16()
	if s == nil || r.bad || !s.valid.has(version) {
		return []Finding{{Kind: FindVersion, Detail: fmt.Sprintf("%s version %d", t, version), Refused: s == nil}}
	}
	return canonical(s, version, value)
}

// viaKmsg checks a body of a key without a layout here: whether kmsg encodes it as it was.
func viaKmsg(key, version int16, dir Direction, body []byte) []Finding {
	var d Decoder
	var m interface{ AppendTo([]byte) []byte }
	var err error
	if dir == Request {
		var req kmsg.Request
		req, err = d.Request(key, version, body)
		m = req
	} else {
		var resp kmsg.Response
		resp, err = d.Response(key, version, body)
		m = resp
	}
	if err != nil {
		return []Finding{{Kind: FindMalformed, Detail: err.Error(), Refused: true}}
	}
	again := m.AppendTo(nil)
	for i := range min(len(again), len(body)) {
		if again[i] != body[i] {
			return []Finding{{Kind: FindDiffers, Offset: i}}
		}
	}
	switch n := len(body) - len(again); {
	case n > 0:
		return []Finding{{Kind: FindTrailing, Offset: len(again), Detail: fmt.Sprintf("%d bytes", n)}}
	case n < 0:
		return []Finding{{Kind: FindDiffers, Offset: len(body)}}
	default:
		return nil
	}
}
