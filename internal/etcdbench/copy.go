package main

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/understudy-kafka/understudy/kraft"
)

// newBusyLeader leads five voters; three observers fetch, and four Fetches are parked.
func newBusyLeader() (*node, error) {
	n, err := newLeader(5)
	if err != nil {
		return nil, err
	}
	for id := kraft.NodeID(2); id <= 8; id++ {
		ev := n.fetch(id, n.log.End)
		if id <= 5 {
			ev.MaxWaitMs = 500
		}
		if err := n.on(ev); err != nil {
			return nil, err
		}
	}
	leader, parked := n.machine.Role().(*kraft.Leader), n.machine.Inspect().Parked
	if len(leader.Voters) != 5 || len(leader.Observers) != 3 || len(parked) != 4 {
		return nil, fmt.Errorf("%v with %d parked Fetches", leader, len(parked))
	}
	return n, nil
}

// parkedSize is what the machine keeps of a parked Fetch; the type is not exported.
const parkedSize = 88

// bytes is how many bytes a copy of the machine has to move.
func (n *node) bytes() int {
	leader := n.machine.Role().(*kraft.Leader)
	return int(unsafe.Sizeof(*n.machine)) + (len(leader.Voters)+len(leader.Observers))*int(unsafe.Sizeof(kraft.Replica{})) +
		len(n.machine.Inspect().Parked)*parkedSize
}

// onBusyLeader repeats an operation on a busy leader.
func onBusyLeader(prepare func(n *node) func()) steps {
	return func(count int) (time.Duration, error) {
		n, err := newBusyLeader()
		if err != nil {
			return 0, err
		}
		operation := prepare(n)
		start := time.Now()
		for range count {
			operation()
		}
		return time.Since(start), nil
	}
}

// The results are kept, so that the compiler cannot leave the work out.
var (
	keptBytes       []byte
	keptMachine     *kraft.QuorumStateMachine
	keptFingerprint [16]byte
)

func copyBytes(n *node) func() {
	from, to := make([]byte, n.bytes()), make([]byte, n.bytes())
	return func() { copy(to, from) }
}

func copyBytesFresh(n *node) func() {
	from := make([]byte, n.bytes())
	return func() { keptBytes = append([]byte(nil), from...) }
}

func cloneReused(n *node) func() {
	to := n.machine.Clone()
	return func() { n.machine.CopyInto(to) }
}

func cloneFresh(n *node) func() { return func() { keptMachine = n.machine.Clone() } }

func fingerprint(n *node) func() { return func() { keptFingerprint = n.machine.Fingerprint() } }
