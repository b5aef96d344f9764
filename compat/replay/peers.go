package replay

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// repeatDelay is how long a request that repeats an answered one waits: a real leader holds a Fetch back too.
const repeatDelay = 20 * time.Millisecond

// arrival is a request that the node has made.
type arrival struct {
	peer   kraft.NodeID
	header wire.RequestHeader
	body   []byte
	at     time.Time
	answer chan []byte   // the frame of the answer; nil closes the connection
	gone   chan struct{} // closed when the node has ended the connection

	sign string // once it was needed
}

func (a *arrival) isGone() bool {
	select {
	case <-a.gone:
		return true
	default:
		return false
	}
}

// serve takes the requests of one connection of the node to a peer, one at a time.
func (r *run) serve(peer kraft.NodeID, conn net.Conn) {
	frames := make(chan []byte)
	closed := make(chan struct{})
	r.all.Go(func() {
		defer close(frames)
		for in := bufio.NewReader(conn); ; {
			f, err := readFrame(in)
			if err != nil {
				return
			}
			select {
			case frames <- f:
			case <-closed:
				return
			}
		}
	})
	defer func() {
		close(closed)
		_ = conn.Close()
		for range frames { // it ends with the connection
		}
	}()
	for f := range frames {
		h, body, err := wire.ParseRequestHeader(f)
		if err != nil {
			return
		}
		a := &arrival{peer: peer, header: h, body: body, at: time.Now(), answer: make(chan []byte, 1), gone: make(chan struct{})}
		if !r.post(a) {
			return
		}
		select {
		case answer := <-a.answer:
			if answer == nil {
				return
			}
			if _, err := conn.Write(sized(answer)); err != nil {
				return
			}
		case <-frames: // it ended, or goes on without an answer, which no raft client does
			close(a.gone)
			return
		case <-r.ctx.Done():
			return
		}
	}
}

// peerState is what a peer of the recording still has to hear and say.
type peerState struct {
	list      []*exchange
	next      int // the first that is neither heard nor passed over
	given     []*exchange
	strangers []*arrival // that nothing in the recording stands for so far
}

// heardBy is the arrival that stands for an exchange; nil while there is none.
func (r *run) heardBy(x *exchange) *arrival {
	if a := r.arrivals[x]; a != nil && !a.isGone() {
		return a
	}
	return nil
}

// receive finds what a request of the node stands for.
func (r *run) receive(a *arrival) {
	raft := string(a.header.ClientID) == raftClient+r.script.Node.String()
	if !raft || a.header.Key == wire.KeyAPIVersions {
		r.answerOther(a)
		return
	}
	p := r.peers[a.peer]
	if r.match(p, a) {
		return
	}
	// What it has asked before has the answer that it had last.
	for _, x := range slices.Backward(p.given) {
		if r.asksSame(x, a) && r.answerAgain(x, a) {
			return
		}
	}
	if x := r.chance(a); x != nil && r.answerAgain(x, a) {
		return
	}
	p.strangers = append(p.strangers, a)
}

// chance finds a recorded request, to whichever peer, that asks the same and was told nothing.
func (r *run) chance(a *arrival) *exchange {
	for _, other := range r.peers {
		for _, x := range other.list {
			if x.chance && r.asksSame(x, a) {
				return x
			}
		}
	}
	return nil
}

// answerAgain gives a request the answer that an equal one had.
func (r *run) answerAgain(x *exchange, a *arrival) bool {
	body, err := inVersion(a.header.Key, x.header.Version, a.header.Version, wire.Response, x.response)
	if err != nil {
		return false
	}
	time.AfterFunc(repeatDelay, func() { a.answer <- responseFrame(&a.header, body) })
	return true
}

// match lets a request stand for the next recorded one, over repetitions that it need not make.
func (r *run) match(p *peerState, a *arrival) bool {
	for i := p.next; i < len(p.list); i++ {
		x := p.list[i]
		if r.passed[x] || r.heardBy(x) != nil {
			continue
		}
		if r.asksSame(x, a) {
			if x.step > r.now {
				// It comes before what the recording has before x, so it is not x: once the node has a leader it forgets what
				// it has asked without one, and asks again (Kafka: RequestManager.resetAll).
				if early := r.chance(a); early != nil && r.answerAgain(early, a) {
					return true
				}
			}
			r.arrivals[x] = a
			return true
		}
		if !x.chance && !folds(p.list, i) {
			return false
		}
	}
	return false
}

// rematch tries strangers again, since the story has gone on, and turns away those that have waited for long.
func (r *run) rematch() {
	for _, p := range r.peers {
		kept := p.strangers[:0]
		for _, a := range p.strangers {
			switch {
			case a.isGone():
			case r.match(p, a):
			case time.Since(a.at) > strangerPatience:
				r.turnedAway[a.peer] = a
				a.answer <- nil
			default:
				kept = append(kept, a)
			}
		}
		p.strangers = kept
	}
}

// folds reports whether the replay does without a recorded request: from the third repetition on. The first ones show that
// the node has taken the answer, which what comes next may rest on.
func folds(list []*exchange, i int) bool {
	return repeats(list, i) && repeats(list, i-1) && repeats(list, i-2)
}

// repeats reports whether a recorded request and its answer are those before once more.
func repeats(list []*exchange, i int) bool {
	if i < 1 {
		return false
	}
	x, before := list[i], list[i-1]
	return x.answered && before.answered && x.header.Version == before.header.Version && bytes.Equal(x.response, before.response) &&
		x.signature() == before.signature()
}

func (x *exchange) signature() string {
	if x.sign == "" {
		x.sign = signature(x.header.Key, x.header.Version, x.request)
	}
	return x.sign
}

// asksSame reports whether the node asks what it asked in the recording, in whichever version.
func (r *run) asksSame(x *exchange, a *arrival) bool {
	if x.header.Key != a.header.Key {
		return false
	}
	if x.header.Version == a.header.Version && x.signature() == a.signature() {
		return true
	}
	if r.recorded == nil || r.live == nil || r.recorded.Build == r.live.Build {
		return false
	}
	for _, f := range differing(x, a) {
		if explain(r.recorded, r.live, x.header.Key, wire.Request, f.path) == "" {
			return false
		}
	}
	return true
}

// differing lists where a request of the node differs from a recorded one, in the node's version.
func differing(x *exchange, a *arrival) []field {
	body, err := inVersion(x.header.Key, x.header.Version, a.header.Version, wire.Request, x.request)
	if err != nil {
		return []field{{"", err.Error(), ""}}
	}
	return compare(x.header.Key, a.header.Version, wire.Request, body, a.body)
}

func (a *arrival) signature() string {
	if a.sign == "" {
		a.sign = signature(a.header.Key, a.header.Version, a.body)
	}
	return a.sign
}

// answerOther answers what is no matter of the raft layer as it was answered once; what never was ends the connection.
func (r *run) answerOther(a *arrival) {
	var found []byte
	for _, x := range r.script.other[a.peer] {
		if x.header.Key != a.header.Key {
			continue
		}
		body := x.response
		if x.header.Version != a.header.Version {
			if len(body) >= 2 && binary.BigEndian.Uint16(body) != 0 {
				continue // an error, such as that of a version that is too new, is no answer to another version
			}
			var err error
			if body, err = inVersion(a.header.Key, x.header.Version, a.header.Version, wire.Response, body); err != nil {
				continue
			}
		}
		found = responseFrame(&a.header, body)
		if x.header.Version == a.header.Version {
			break
		}
	}
	a.answer <- found
}
