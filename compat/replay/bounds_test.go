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
	story := &tape{}
	story.request(&recordings.Conn{ID: 1, Node: 1, Endpoint: "127.0.0.1:1"}, "understudy", vote(5))(voted(5, true))
	s, err := Load(story, 1)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		go func() {
			for empty := make([]byte, 4000); ; {
				if _, err := far.Write(empty); err != nil {
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
}

// TestAsker_HoldsWhatIsAskedForSoon and no more bytes than two frames of the largest size have.
func TestAsker_HoldsWhatIsAskedForSoon(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	c := &asker{conn: near}
	huge := make([]byte, wire.MaxFrameSize)
	copy(huge, "0123")
	x := &exchange{readable: true, frame: []byte("....0123")}
	for range 10 {
		if c.hold(huge); c.frameFor(x) == nil || c.held != 0 {
			t.Fatalf("a frame that is taken leaves %d bytes", c.held)
		}
	}
	for range 2 {
		c.hold(huge)
	}
	if c.closed {
		t.Error("two frames are too many")
	}
	c.hold(huge)
	if !c.closed || !c.flood {
		t.Errorf("%d bytes are held, and the connection goes on", c.held)
	}
	if c.hold(huge); len(c.frames) != 3 {
		t.Errorf("%d frames are held", len(c.frames))
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
