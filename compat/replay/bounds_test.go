package replay

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// TestRun_ANodeThatSendsWithoutEndIsCutOff before the frames that nobody asked for take all memory.
func TestRun_ANodeThatSendsWithoutEndIsCutOff(t *testing.T) {
	for name, size := range map[string]int{"huge frames": 16 << 20, "empty frames": 0} {
		t.Run(name, func(t *testing.T) {
			story := &tape{}
			story.request(&recordings.Conn{ID: 1, Node: 1, Endpoint: "127.0.0.1:1"}, "understudy", vote(5))(voted(5, true))
			s, err := Load(story, 1)
			if err != nil {
				t.Fatal(err)
			}
			frames := binary.BigEndian.AppendUint32(nil, uint32(size))
			frames = append(frames, make([]byte, size)...)
			if size == 0 {
				frames = slices.Repeat(frames, 1000)
			}
			dial := func(context.Context) (net.Conn, error) {
				near, far := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, far) }()
				go func() {
					for {
						if _, err := far.Write(frames); err != nil {
							_ = far.Close()
							return
						}
					}
				}()
				return near, nil
			}
			r, err := Run(t.Context(), s, Options{Dial: dial, Recorded: "4.4.0", Live: "4.4.0", Patience: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if r.Outcome() != Differs || !strings.Contains(r.Differences[0].Live, "more frames than anybody asked for") {
				t.Errorf("%s: %+v", r.Outcome(), r)
			}
		})
	}
}

// TestCompare_MillionsOfTinyElementsAreNotUnfolded: an answer may be a hundred times its size as values.
func TestCompare_MillionsOfTinyElementsAreNotUnfolded(t *testing.T) {
	const n = 1 << 20
	body := binary.AppendUvarint([]byte{0, 0}, n+1)
	body = append(body, make([]byte, 7*n)...) // each a key, two versions and no tags
	body = append(body, 0, 0, 0, 0, 0)
	one := []byte{0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	fields := compare(wire.KeyAPIVersions, 3, wire.Response, one, body)
	if len(fields) != 1 || !strings.Contains(fields[0].live, wire.ErrTooBig.Error()) {
		t.Errorf("%d differences", len(fields))
	}
	if fields := compare(wire.KeyAPIVersions, 3, wire.Response, body, slices.Clone(body)); len(fields) != 0 {
		t.Errorf("the same bytes differ: %v", fields[0])
	}
}
