// Package replay plays a recorded quorum again over real sockets: for each recorded controller a listener that gives
// the recorded answers, and for each recorded connection a client that sends the recorded requests. What lies between
// them (a proxy) sees real TCP traffic. The order is that of the recording, frame by frame, so
// cause always comes before effect; the clock only sets the pace.
package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// Script is a recorded quorum, held in memory.
type Script struct {
	steps []step
	nodes []kraft.NodeID
}

type step struct {
	kind  recordings.Kind
	conn  uint64
	node  kraft.NodeID
	dir   wire.Direction
	at    int64 // ns
	frame []byte
	reset bool
}

// Load reads a recording to its end. Every connection must name the node that listens, and frames must be whole:
// a recording with withheld parts plays too, with the fillers in their place.
func Load(src recordings.Source) (*Script, error) {
	s := &Script{}
	opened := map[uint64]bool{}
	var o recordings.Observation
	for {
		err := src.Next(&o)
		if errors.Is(err, io.EOF) {
			slices.Sort(s.nodes)
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		if o.Conn == nil {
			continue
		}
		if o.Conn.Node == kraft.NoNode {
			return nil, fmt.Errorf("connection %d to %s: the recording does not say which node listens there", o.Conn.ID, o.Conn.Endpoint)
		}
		if !opened[o.Conn.ID] && o.Kind != recordings.KindOpen {
			s.add(step{kind: recordings.KindOpen, conn: o.Conn.ID, node: o.Conn.Node, at: o.At.Seen})
		}
		opened[o.Conn.ID] = true
		st := step{kind: o.Kind, conn: o.Conn.ID, node: o.Conn.Node, dir: o.Dir, at: o.At.Seen, reset: o.Reset}
		switch o.Kind {
		case recordings.KindGap:
			return nil, fmt.Errorf("block %d: the recording has a gap (%s), so it cannot be played", o.Number, o.Gap.Reason)
		case recordings.KindFrame:
			if o.Frame.Cut {
				return nil, fmt.Errorf("block %d: the frame is not whole", o.Number)
			}
			st.frame = slices.Clone(o.Frame.Bytes)
		}
		s.add(st)
	}
}

func (s *Script) add(st step) {
	s.steps = append(s.steps, st)
	if !slices.Contains(s.nodes, st.node) {
		s.nodes = append(s.nodes, st.node)
	}
}

// Nodes lists the controllers of the script, ascending.
func (s *Script) Nodes() []kraft.NodeID { return s.nodes }

// Frames is the number of frames in the script.
func (s *Script) Frames() int {
	n := 0
	for _, st := range s.steps {
		if st.kind == recordings.KindFrame {
			n++
		}
	}
	return n
}

// Duration is the time between the first and the last step as recorded.
func (s *Script) Duration() time.Duration {
	if len(s.steps) == 0 {
		return 0
	}
	return time.Duration(s.steps[len(s.steps)-1].at - s.steps[0].at)
}
