package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"
)

// FuzzSplitter cuts a stream at places that the input chooses: the frames are those of the whole stream, and what is held
// is bounded by what has arrived.
func FuzzSplitter(f *testing.F) {
	f.Add(stream([]byte("one"), []byte("two")), []byte{1, 2, 3}, uint16(0))
	f.Add(stream(make([]byte, 300), nil), []byte{200}, uint16(100))
	f.Add([]byte("GET / HTTP/1.1\r\n"), []byte{2, 2}, uint16(0))
	f.Fuzz(func(t *testing.T, data, cuts []byte, limit uint16) {
		whole := Splitter{Limit: int(limit)}
		want, wantErr := split(&whole, data)
		var chunks [][]byte
		rest := data
		for _, cut := range cuts {
			n := min(int(cut), len(rest))
			chunks = append(chunks, rest[:n])
			rest = rest[n:]
		}
		parts := Splitter{Limit: int(limit)}
		var got []Frame
		var gotErr error
		arrived := 0
		for _, chunk := range append(chunks, rest) {
			arrived += len(chunk)
			frames, err := split(&parts, chunk)
			got = append(got, frames...)
			if gotErr = err; err != nil {
				break
			}
			if held := cap(parts.held); held > 2*arrived+64 {
				t.Fatalf("%d bytes are held after %d", held, arrived)
			}
		}
		if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
			t.Fatalf("in chunks %v, whole %v", gotErr, wantErr)
		}
		if len(got) != len(want) || gotErr == nil && parts.Pending() != whole.Pending() {
			t.Fatalf("in chunks %d frames and %d bytes pending, whole %d and %d", len(got), parts.Pending(), len(want), whole.Pending())
		}
		for i := range got {
			if !bytes.Equal(got[i].Bytes, want[i].Bytes) || got[i].Size != want[i].Size || got[i].Cut != want[i].Cut {
				t.Fatalf("frame %d differs", i)
			}
		}
	})
}

// FuzzHeaders holds that a header and its body make up the frame, and that lines and JSON can be made of any body.
func FuzzHeaders(f *testing.F) {
	f.Add(unhex(f, goldenFetchV17))
	f.Add(unhex(f, `0034 0002 00000007 0002 6162 01 05 02 aabb ff`))
	f.Add(unhex(f, `003a 0000 00000007 ffff 00 00`))
	for _, tt := range lineRequests {
		h := binary.BigEndian.AppendUint16(nil, uint16(tt.message.Key()))
		h = binary.BigEndian.AppendUint16(h, uint16(tt.message.GetVersion()))
		h = append(h, 0, 0, 0, 1, 0xff, 0xff)
		if Flexible(tt.message.Key(), tt.message.GetVersion()) {
			h = append(h, 0)
		}
		f.Add(tt.message.AppendTo(h))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := ParseRequestHeader(frame)
		if err != nil {
			if !errors.Is(err, ErrShort) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.HasSuffix(frame, body) || !bytes.Contains(frame, h.ClientID) {
			t.Fatalf("%x: client id %x and body %x are not its parts", frame, h.ClientID, body)
		}
		var d Decoder
		if l := d.AppendRequestLine(nil, h, body); bytes.ContainsAny(l, "\n\r\x1b\x00") {
			t.Fatalf("not one clean line: %q", l)
		}
		if j := AppendRequestJSON(nil, h, body, JSONOptions{}); !json.Valid(j) {
			t.Fatalf("not JSON: %s", j)
		}
		Canonical(h.Key, h.Version, Request, body)
	})
}

// FuzzResponses does the same for responses to each key and version.
func FuzzResponses(f *testing.F) {
	for _, tt := range lineResponses {
		f.Add(tt.message.Key(), tt.message.GetVersion(), tt.message.AppendTo([]byte{0, 0, 0, 1, 0}))
	}
	f.Fuzz(func(t *testing.T, key, version int16, frame []byte) {
		_, body, err := ParseResponseHeader(frame, key, version)
		if err != nil {
			return
		}
		var d Decoder
		if l := d.AppendResponseLine(nil, key, version, body); bytes.ContainsAny(l, "\n\r\x1b\x00") {
			t.Fatalf("not one clean line: %q", l)
		}
		if j := AppendResponseJSON(nil, key, version, body, JSONOptions{}); !json.Valid(j) {
			t.Fatalf("not JSON: %s", j)
		}
		Canonical(key, version, Response, body)
	})
}

// FuzzBatches reads batches and their records: bytes are used up in order, and records that are written minimally are
// written the same again.
func FuzzBatches(f *testing.F) {
	for _, tt := range goldenBatches {
		f.Add(unhex(f, tt.bytes))
	}
	for name := range deflate {
		f.Add(packed(f, name, 3, []byte("value")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for rest := data; len(rest) > 0; {
			b, next, err := NextBatch(rest)
			if err != nil {
				if !errors.Is(err, ErrCut) && !errors.Is(err, ErrMalformed) || len(next) != len(rest) {
					t.Fatalf("%v, rest %d of %d", err, len(next), len(rest))
				}
				break
			}
			if len(b.Bytes)+len(next) != len(rest) || len(b.Bytes) < BatchOverhead {
				t.Fatalf("%d bytes and %d left of %d", len(b.Bytes), len(next), len(rest))
			}
			rest = next
			if b.Attributes&AttrCompression != 0 && len(b.Records) > 1<<12 {
				continue // keep the fuzzer quick
			}
			var records []Record
			size := 0
			err = b.Each(func(r Record) error {
				records = append(records, r)
				size += len(r.Key) + len(r.Value) + len(r.Headers)
				return nil
			})
			if size > max(MaxInflated, len(data)) {
				t.Fatalf("%d bytes of records", size)
			}
			if err != nil {
				continue
			}
			raw := AppendBatch(nil, b, records...)
			if again, _, err := NextBatch(raw); err != nil || !again.CRCValid() || int(again.Count) != len(records) {
				t.Fatalf("written again: %v", err)
			}
			if j := AppendBatchJSON(nil, &b, JSONOptions{}); !json.Valid(j) {
				t.Fatalf("not JSON: %s", j)
			}
		}
	})
}

// FuzzControl holds the codec against the table: a value that Kafka would write is written the same again.
func FuzzControl(f *testing.F) {
	for _, tt := range goldenControls {
		f.Add(AppendControlKey(nil, tt.record.Type()), unhex(f, tt.value))
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		c, err := DecodeControl(key, value)
		found := CanonicalControl(key, value)
		if err != nil {
			if len(found) == 0 {
				t.Fatalf("%x %x: %v, yet no finding", key, value, err)
			}
			return
		}
		if c.String() == "" {
			t.Fatal("prints nothing")
		}
		// Text that is not UTF-8 is a finding, and the codec keeps it; tags that Kafka does not know are none, and the
		// codec drops them.
		again := c.AppendValue(nil)
		for _, f := range found {
			if f.Kind == FindUTF8 {
				return
			}
		}
		if bytes.Equal(again, value) && len(found) > 0 || !bytes.Equal(again, value) && len(found) == 0 && !hasUnknownTag(key, value) {
			t.Fatalf("%x is written again %x; found %v", value, again, found)
		}
	})
}

func hasUnknownTag(key, value []byte) bool {
	return bytes.Contains(appendControlJSON([]byte{'{'}, key, value, JSONOptions{}), []byte(`"unknownTags":{`))
}

// FuzzMetadata holds that what decodes prints, and that an accepted value is used up.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte("\x01\x0c\x00\x11metadata.version\x00\x1d\x00"))
	f.Add([]byte{1, 20, 0, 0})
	eachSeedRecord(f)
	f.Fuzz(func(t *testing.T, value []byte) {
		m, err := DecodeMetadata(value)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.HasSuffix(value, m.Body) {
			t.Fatal("the body is no part of the value")
		}
		if s := m.String(); bytes.ContainsAny([]byte(s), "\n\r\x1b\x00") {
			t.Fatalf("not one clean line: %q", s)
		}
		if j := m.AppendJSON(nil, JSONOptions{Secrets: true}); !json.Valid(j) {
			t.Fatalf("not JSON: %s", j)
		}
		for _, f := range m.Canonical() {
			if f.Kind == FindTrailing || f.Kind == FindMalformed {
				t.Fatalf("accepted in spite of %s", f)
			}
		}
	})
}

// eachSeedRecord adds one captured metadata record of each type.
func eachSeedRecord(f *testing.F) {
	seen := map[byte]bool{}
	var fetch FetchResponse
	for _, c := range captures(f) {
		if c.header.Key != KeyFetch || c.dir != Response || fetch.Parse(c.header.Version, c.body) != nil {
			continue
		}
		for b, rest, err := NextBatch(fetch.Records); err == nil; b, rest, err = NextBatch(rest) {
			_ = b.Each(func(r Record) error {
				if !b.Control() && !seen[r.Value[1]] {
					seen[r.Value[1]] = true
					f.Add(r.Value)
				}
				return nil
			})
		}
	}
}
