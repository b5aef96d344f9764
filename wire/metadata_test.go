package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"sort"
	"strings"
	"testing"
)

func TestMetadata_OfRealQuorums(t *testing.T) {
	first := map[string]string{}
	eachCapturedRecord(t, func(b *Batch, r Record) {
		if b.Control() {
			return
		}
		m, err := DecodeMetadata(r.Value)
		if err != nil {
			t.Fatalf("offset %d: %v", r.Offset, err)
		}
		text := m.AppendJSON(nil, JSONOptions{Secrets: true})
		if !json.Valid(text) {
			t.Errorf("offset %d: not JSON: %s", r.Offset, text)
		}
		if _, ok := first[m.Name]; !ok {
			first[m.Name] = m.String() + "\n" + string(m.AppendJSON(nil, JSONOptions{})) + "\n"
		}
	})
	names := make([]string, 0, len(first))
	for name := range first {
		names = append(names, name)
	}
	sort.Strings(names)
	var out []byte
	for _, name := range names {
		out = append(out, first[name]...)
	}
	golden(t, "metadata.golden", out)
}

func TestMetadata_FeatureLevelAndNoOp(t *testing.T) {
	m, err := DecodeMetadata([]byte("\x01\x0c\x00\x11metadata.version\x00\x1d\x00"))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.String(); got != "FeatureLevelRecord {name metadata.version, featureLevel 29}" {
		t.Error(got)
	}
	level, ok := m.Field("featureLevel")
	if !ok || string(level) != "29" {
		t.Errorf("featureLevel %s %v", level, ok)
	}
	if _, ok := m.Field("level"); ok {
		t.Error("a field that is not there was found")
	}
	if m, err := DecodeMetadata([]byte{1, 0x14, 0, 0}); err != nil || m.String() != "NoOpRecord {}" {
		t.Errorf("%s %v", &m, err)
	}
}

func TestMetadata_RefusesWhatKafkaRefuses(t *testing.T) {
	whole := []byte("\x01\x0c\x00\x11metadata.version\x00\x1d\x00")
	for _, tt := range []struct {
		name  string
		value []byte
		want  error
		text  string
	}{
		{"nothing", nil, ErrMalformed, "frame"},
		{"frame version 0", append([]byte{0}, whole[1:]...), ErrUnsupported, "frame version 0"},
		{"unknown type", []byte{1, 99, 0, 0}, ErrUnsupported, "type 99, version 0"},
		{"huge type", []byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0}, ErrUnsupported, "type 4294967295"},
		{"unknown version", append([]byte{1, 12, 9}, whole[3:]...), ErrUnsupported, "FeatureLevelRecord version 9"},
		{"cut", whole[:len(whole)-2], ErrMalformed, "field featureLevel"},
		{"bytes behind the body", append(bytes.Clone(whole), 0), ErrMalformed, "1 bytes behind the body"},
	} {
		_, err := DecodeMetadata(tt.value)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.want, tt.text)
		}
	}
}

// TestMetadata_ZeroIsHarmless covers a value that did not come from DecodeMetadata.
func TestMetadata_ZeroIsHarmless(t *testing.T) {
	var m MetadataRecord
	if m.String() == "" || !json.Valid(m.AppendJSON(nil, JSONOptions{})) || m.Canonical() != nil {
		t.Errorf("%s %s", &m, m.AppendJSON(nil, JSONOptions{}))
	}
}

// TestMetadata_FloatsAreJSON covers the one field with a fraction, whose value may be no number at all.
func TestMetadata_FloatsAreJSON(t *testing.T) {
	for _, tt := range []struct{ bits, want string }{
		{"3ff8000000000000", "1.5"}, {"7ff8000000000000", `"NaN"`}, {"7ff0000000000000", `"+Inf"`},
	} {
		m, err := DecodeMetadata(unhex(t, "01 0e 00 01 02 6b "+tt.bits+" 00 00"))
		if err != nil {
			t.Fatal(err)
		}
		if value, ok := m.Field("value"); !ok || string(value) != tt.want {
			t.Errorf("%s: %s %v, want %s", tt.bits, value, ok, tt.want)
		}
	}
}
