package replay

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/recordings"
)

// damagedTape is a tape that cannot be read in places.
type damagedTape struct {
	*tape
	damage []*recordings.Damage
}

func (t *damagedTape) Damage() []*recordings.Damage { return t.damage }

// TestLoad_SaysWhereARecordingIsCut: what is there is played, and that it does not differ says nothing about the rest.
func TestLoad_SaysWhereARecordingIsCut(t *testing.T) {
	record := func() *tape {
		tp := &tape{}
		in := &recordings.Conn{ID: 1, Node: 1, Endpoint: "127.0.0.1:1"}
		tp.request(in, "understudy", vote(5))(voted(5, true))
		tp.request(in, "understudy", vote(5))
		return tp
	}
	for _, why := range []error{recordings.ErrCut, recordings.ErrNoTrailer} {
		for _, tc := range []struct {
			name    string
			granted bool
			want    Outcome
		}{
			{"what is there is the same", true, Inconclusive},
			{"what is there differs", false, Differs},
		} {
			t.Run(why.Error()+"/"+tc.name, func(t *testing.T) {
				s, err := Load(&damagedTape{record(), []*recordings.Damage{{File: "run", Offset: 77, Err: why}}}, 1)
				if err != nil {
					t.Fatal(err)
				}
				if len(s.LeftOut) != 1 || !strings.Contains(s.LeftOut[0], "run: offset 77: "+why.Error()+"; 3 frames came before it, and 1 requests among them have no answer") {
					t.Errorf("left out: %q", s.LeftOut)
				}
				n := &node{answer: func(epoch int32) *kmsg.VoteResponse { return voted(epoch, tc.granted) }}
				r, err := Run(t.Context(), s, Options{Recorded: "4.4.0", Live: "4.4.0", Dial: func(context.Context) (net.Conn, error) {
					near, far := net.Pipe()
					go n.serve(far)
					return near, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				var text strings.Builder
				if err := r.WriteText(&text); err != nil {
					t.Fatal(err)
				}
				if r.Outcome() != tc.want || !strings.Contains(text.String(), "left out: what the recording lacks: run: offset 77: ") {
					t.Errorf("%s, want %s:\n%s", r.Outcome(), tc.want, &text)
				}
			})
		}
	}
}

// TestLoad_RefusesARecordingThatLacksAPart: a cause may lie in it, whether or not a connection was open there and shows a gap.
func TestLoad_RefusesARecordingThatLacksAPart(t *testing.T) {
	for _, why := range []error{recordings.ErrMissingSegment, errors.New("damaged zstd frame")} {
		_, err := Load(&damagedTape{story(), []*recordings.Damage{{File: "run", Offset: 77, Err: why}}}, 1)
		if !errors.Is(err, ErrDamaged) || !errors.Is(err, why) || !strings.Contains(err.Error(), "run: offset 77: ") {
			t.Errorf("error %v, want %v", err, why)
		}
	}
}
