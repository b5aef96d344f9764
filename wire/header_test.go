package wire

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRequestHeader_EachForm(t *testing.T) {
	for _, tt := range []struct {
		name     string
		frame    string
		key      int16
		version  int16
		clientID string
		body     string
	}{
		{"v1", `0001 0004 00000007 0002 6162 ff`, 1, 4, "ab", "\xff"},
		{"v1, null client id", `0001 0004 00000007 ffff ff`, 1, 4, "", "\xff"},
		{"v2 without tags", `0034 0002 00000007 0002 6162 00 ff`, 52, 2, "ab", "\xff"},
		{"v2 with a tag", `0034 0002 00000007 0002 6162 01 05 02 aabb ff`, 52, 2, "ab", "\xff"},
		{"ApiVersions v4 is flexible", `0012 0004 00000007 0000 00 ff`, 18, 4, "", "\xff"},
		{"a version not known yet is flexible like its newest", `0012 0063 00000007 0000 00 ff`, 18, 99, "", "\xff"},
		{"a key not known is taken for v1", `0190 0001 00000007 0000 ff`, 400, 1, "", "\xff"},
		{"SaslHandshake never is flexible", `0011 0001 00000007 0000 00`, 17, 1, "", "\x00"},
		{"ControlledShutdown v0 has no client id", `0007 0000 00000007 ff`, 7, 0, "", "\xff"},
		{"empty body", `0011 0001 00000007 0000`, 17, 1, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, body, err := ParseRequestHeader(unhex(t, tt.frame))
			if err != nil {
				t.Fatal(err)
			}
			if h.Key != tt.key || h.Version != tt.version || h.CorrelationID != 7 || string(h.ClientID) != tt.clientID || string(body) != tt.body {
				t.Errorf("%+v, body %x", h, body)
			}
			if null := tt.name == "v1, null client id" || tt.key == 7; (h.ClientID == nil) != null {
				t.Errorf("client id %v", h.ClientID)
			}
		})
	}
}

func TestRequestHeader_CutAnywhereIsShort(t *testing.T) {
	frame := unhex(t, `0034 0002 00000007 0002 6162 02 05 02 aabb 06 00`)
	for n := range len(frame) {
		if _, _, err := ParseRequestHeader(frame[:n]); !errors.Is(err, ErrShort) {
			t.Errorf("%d of %d bytes: %v", n, len(frame), err)
		}
	}
	if _, body, err := ParseRequestHeader(frame); err != nil || len(body) != 0 {
		t.Errorf("whole: %x, %v", body, err)
	}
}

func TestResponseHeader_EachForm(t *testing.T) {
	for _, tt := range []struct {
		name         string
		key, version int16
		frame        string
		body         string
	}{
		{"v0", 1, 4, `00000009 ff`, "\xff"},
		{"v1", 1, 17, `00000009 00 ff`, "\xff"},
		{"v1 with a tag", 1, 17, `00000009 01 00 01 aa ff`, "\xff"},
		{"ApiVersions always is v0", 18, 4, `00000009 ff`, "\xff"},
		{"key not known", 400, 0, `00000009 ff`, "\xff"},
	} {
		id, body, err := ParseResponseHeader(unhex(t, tt.frame), tt.key, tt.version)
		if err != nil || id != 9 || string(body) != tt.body {
			t.Errorf("%s: id %d, body %x, %v", tt.name, id, body, err)
		}
	}
	for _, short := range []string{``, `000000`, `00000009`, `00000009 01 00`, `00000009 ffffffffffff`} {
		if _, _, err := ParseResponseHeader(unhex(t, short), 1, 17); !errors.Is(err, ErrShort) {
			t.Errorf("%q: %v", short, err)
		}
	}
}

func TestFlexible_AgreesWithKmsg(t *testing.T) {
	for key := int16(-1); key < 130; key++ {
		req := kmsg.RequestForKey(key)
		if req == nil {
			if Flexible(key, 50) {
				t.Errorf("key %d is not known, yet flexible", key)
			}
			continue
		}
		for v := int16(0); v <= req.MaxVersion(); v++ {
			req.SetVersion(v)
			if Flexible(key, v) != req.IsFlexible() {
				t.Errorf("%s v%d: flexible %v", Name(key), v, Flexible(key, v))
			}
		}
	}
}

func TestHeaders_DoNotAllocate(t *testing.T) {
	request := unhex(t, goldenFetchV18)
	response := unhex(t, goldenFetchedV17)
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := ParseRequestHeader(request); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ParseResponseHeader(response, KeyFetch, 17); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
