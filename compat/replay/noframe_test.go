package replay

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// TestRun_BytesThatAreNoFrameHideNothingElse: one hostile connection is told, and the others are played. What the node does otherwise
// on them is found all the same.
func TestRun_BytesThatAreNoFrameHideNothingElse(t *testing.T) {
	for _, gap := range []recordings.Gap{
		{Reason: (&wire.StreamError{Size: -1}).Error(), Bytes: -1, Frames: -1, Fatal: true},
		{Reason: recordings.ReasonCut, Bytes: 3},
	} {
		for _, dir := range []wire.Direction{wire.Request, wire.Response} {
			for _, tc := range []struct {
				name string
				node *node
				want Outcome
			}{
				{"a node that does the same", &node{answer: honest}, Same},
				{"a twin that grants all", &node{answer: func(epoch int32) *kmsg.VoteResponse { return voted(epoch, true) }}, Differs},
			} {
				t.Run(fmt.Sprintf("%s/%s/%s", gap.Reason, dir, tc.name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := newFaulted()
						hostile := &recordings.Conn{ID: 4, Node: 1}
						f.request(hostile, "understudy", vote(5))(voted(5, true))
						f.list = append(f.list, recordings.Observation{Kind: recordings.KindGap, Conn: hostile, Dir: dir, Number: 3, Gap: &gap})
						f.closed(hostile)
						f.request(f.in, "understudy", vote(4))(voted(5, false))
						r := playTo(t, &f.tape, tc.node)
						if r.Outcome() != tc.want || r.Asked != 2 || r.Compared != 2 {
							t.Errorf("%s: %+v", r.Outcome(), r)
						}
						var text bytes.Buffer
						if err := r.WriteText(&text); err != nil {
							t.Fatal(err)
						}
						for _, want := range []string{"not sent: bytes that are no frame: block 3, ", "on connection 4", "node 1: " + gap.Reason} {
							if !strings.Contains(text.String(), want) {
								t.Errorf("%q lacks %q", &text, want)
							}
						}
					})
				})
			}
		}
	}
}
