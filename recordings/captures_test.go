package recordings

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/understudy-kafka/understudy/wire"
)

// quorums lists the captures of real quorums with what is in them.
var quorums = []struct {
	name                  string
	frames, opens, closes int
	gaps                  string
}{
	// The follower was stopped while an answer was on its way to it: 73 bytes of it came.
	{"412-static-follower-restart", 1295, 26, 17, "[the connection ended within a frame, 73 bytes, packet 1437]"},
	{"440-dynamic-start-kill", 668, 112, 102, "[]"},
}

func quorumCapture(name string) string {
	return filepath.Join("testdata", "captures", name, "capture.pcap.zst")
}

// TestCapture_EveryFrameOfRealQuorumsIsDecodable also holds for the recordings made of the captures. A redacted
// one withholds what it must in ways that decode too.
func TestCapture_EveryFrameOfRealQuorumsIsDecodable(t *testing.T) {
	for _, tt := range quorums {
		t.Run(tt.name, func(t *testing.T) {
			in, err := OpenAny(nil, quorumCapture(tt.name))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			list, err := readAll(in)
			if err != nil || len(in.Damage()) > 0 {
				t.Fatal(err, in.Damage())
			}
			h := sortOut(list)
			if len(h.frames) != tt.frames || len(h.opens) != tt.opens || len(h.closes) != tt.closes {
				t.Errorf("%d frames, %d opens, %d closes", len(h.frames), len(h.opens), len(h.closes))
			}
			gaps := []string{}
			for _, o := range h.gaps {
				gaps = append(gaps, fmt.Sprintf("%s, %d bytes, packet %d", o.Gap.Reason, o.Gap.Bytes, o.Number))
			}
			if fmt.Sprint(gaps) != tt.gaps {
				t.Errorf("gaps %v, want %s", gaps, tt.gaps)
			}
			if err := decodable(list); err != nil {
				t.Errorf("capture: %v", err)
			}
			for _, include := range []bool{true, false} {
				base := tempBase(t)
				writeAll(t, base, Options{IncludeRecords: include}, list)
				recorded, r := mustRead(t, base)
				if err := decodable(recorded); err != nil || len(r.Damage()) > 0 {
					t.Errorf("include records %v: %v, damage %v", include, err, r.Damage())
				}
				if err := sameFrames(sortOut(recorded).frames, h.frames); (err == nil) != include {
					t.Errorf("include records %v: %v", include, err)
				}
			}
		})
	}
}

// decodable decodes every frame and every batch.
func decodable(list []Observation) error {
	var d wire.Decoder
	pairs := map[uint64]*wire.Pairer{}
	for i := range list {
		o := &list[i]
		if o.Kind == KindOpen {
			pairs[o.Conn.ID] = &wire.Pairer{}
		}
		if o.Kind != KindFrame {
			continue
		}
		if err := decode(&d, pairs[o.Conn.ID], o); err != nil {
			return fmt.Errorf("%s: %w", brief(*o), err)
		}
	}
	return nil
}

func decode(d *wire.Decoder, p *wire.Pairer, o *Observation) error {
	if o.Dir == wire.Request {
		h, body, err := wire.ParseRequestHeader(o.Frame.Bytes)
		if err != nil {
			return err
		}
		_, err = d.Request(h.Key, h.Version, body)
		p.Request(h, body, o.At, o.Seq)
		return err
	}
	x, err := p.Response(o.Frame.Bytes, o.At)
	if err != nil {
		return err
	}
	defer p.Release(x)
	if _, err := d.Response(x.Header.Key, x.Header.Version, x.Response); err != nil {
		return err
	}
	if x.Header.Key != wire.KeyFetch {
		return nil
	}
	var f wire.FetchResponse
	if err := f.Parse(x.Header.Version, x.Response); err != nil {
		return err
	}
	for rest := f.Records; len(rest) > 0; {
		batch, next, err := wire.NextBatch(rest)
		if errors.Is(err, wire.ErrCut) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(o.Withheld) == 0 && !batch.CRCValid() {
			return errors.New("checksum of a batch")
		}
		if err := batch.Each(func(wire.Record) error { return nil }); err != nil {
			return err
		}
		rest = next
	}
	return nil
}
