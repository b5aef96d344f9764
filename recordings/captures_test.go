package recordings

import (
	"path/filepath"
	"testing"

	"github.com/understudy-kafka/understudy/wire"
)

// captures lists the captures of real quorums with what is known of them.
var captures = []struct {
	name  string
	nodes int
}{
	{"412-static-follower-restart", 3},
	{"440-dynamic-start-kill", 3},
}

func TestCapture_EveryFrameOfRealQuorumsIsDecodable(t *testing.T) {
	for _, tt := range captures {
		t.Run(tt.name, func(t *testing.T) {
			in, err := OpenAny(nil, filepath.Join("testdata", "captures", tt.name, "capture.pcap.zst"))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			list, err := readAll(in)
			if err != nil {
				t.Fatal(err)
			}
			var decoder wire.Decoder
			pairs := map[*Conn]*wire.Pairer{}
			_ = decoder
			_ = pairs
			kinds := map[Kind]int{}
			for _, o := range list {
				kinds[o.Kind]++
				if o.Kind == KindGap {
					t.Logf("gap %d %v %+v", o.Number, *o.Conn, *o.Gap)
				}
			}
			t.Log(kinds, in.Damage())
		})
	}
}
