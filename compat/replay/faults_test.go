package replay

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// dropped says that the last frame never reached its receiver.
func (t *tape) dropped() {
	o := &t.list[len(t.list)-1]
	o.Fault = &recordings.Fault{Rule: "drop", Sent: o.Frame.Bytes}
	o.Frame = wire.Frame{}
}

// mutated says that the sender of the last frame wrote it as the frame before, which leaves the tape.
func (t *tape) mutated() {
	last := len(t.list) - 1
	sent := t.list[last-1].Frame.Bytes
	t.list[last].Fault = &recordings.Fault{Rule: "mutate", Sent: sent, Delivered: true}
	t.list = slices.Delete(t.list, last-1, last)
}

// copied is what duplicate makes of the last frame: it comes again, and nobody sent it again.
func (t *tape) copied() {
	o := t.list[len(t.list)-1]
	o.Fault = &recordings.Fault{Rule: "duplicate", Sent: []byte{}, Delivered: true}
	t.list = append(t.list, o)
}

func (t *tape) closed(c *recordings.Conn) {
	t.list = append(t.list, recordings.Observation{Kind: recordings.KindClose, Conn: c, At: wire.Stamp{Seen: t.at}})
}

// renamed gives the last frame, a request or an answer, another id in flight.
func (t *tape) renamed() {
	o := &t.list[len(t.list)-1]
	sent := o.Frame.Bytes
	o.Fault = &recordings.Fault{Rule: "mutate", Sent: sent, Delivered: true}
	o.Frame.Bytes = slices.Clone(sent)
	at := 0
	if o.Dir == wire.Request {
		at = 4
	}
	binary.BigEndian.PutUint32(o.Frame.Bytes[at:], 4711)
}

// faulted is a recording of node 1, which is asked things and asks node 2, twice: the second time over another connection.
type faulted struct {
	tape
	in, out, again *recordings.Conn
}

func newFaulted() *faulted {
	return &faulted{
		in: &recordings.Conn{ID: 1, Node: 1, Endpoint: "127.0.0.1:1"}, out: &recordings.Conn{ID: 2, Node: 2, Endpoint: "127.0.0.1:2"},
		again: &recordings.Conn{ID: 3, Node: 2, Endpoint: "127.0.0.1:2"},
	}
}

func (t *faulted) fetch(c *recordings.Conn, epoch int32) (answer func(kmsg.Response)) {
	return t.request(c, "raft-client-1", fetch(epoch))
}

// TestRun_FaultsReachTheNodeAndDoNotCountAsItsDeeds plays recordings with faults to a node that acts on what it gets: it fetches
// in the epoch that it was told last.
func TestRun_FaultsReachTheNodeAndDoNotCountAsItsDeeds(t *testing.T) {
	for _, tc := range []struct {
		name         string
		tape         func(*faulted)
		asked, heard int
	}{
		{"an answer to it is dropped", func(t *faulted) {
			t.fetch(t.out, 5)(fetched(0, 2, 7))
			t.dropped()
			t.closed(t.out)
			t.fetch(t.again, 5)(fetched(0, 2, 5))
		}, 1, 2},
		{"an answer to it is mutated", func(t *faulted) {
			answer := t.fetch(t.out, 5)
			answer(fetched(0, 2, 6))
			answer(fetched(0, 2, 7))
			t.mutated()
			t.fetch(t.out, 7)(fetched(0, 2, 7))
		}, 1, 2},
		{"its own request is mutated", func(t *faulted) {
			t.fetch(t.out, 5)
			answer := t.fetch(t.out, 9)
			binary.BigEndian.PutUint32(t.list[len(t.list)-2].Frame.Bytes[4:], uint32(t.seq)) // it is one request, of one id
			t.mutated()
			answer(fetched(0, 2, 7))
			t.fetch(t.out, 7)(fetched(0, 2, 7))
		}, 1, 2},
		{"its own request is dropped", func(t *faulted) {
			t.fetch(t.out, 5)
			t.dropped()
			t.closed(t.out)
			t.fetch(t.again, 5)(fetched(0, 2, 7))
			t.fetch(t.again, 7)(fetched(0, 2, 7))
		}, 1, 3},
		{"a request to it is dropped", func(t *faulted) {
			t.request(t.in, "understudy", vote(4))
			t.dropped()
			t.fetch(t.out, 5)(fetched(0, 2, 5))
		}, 1, 1},
		{"a request to it is mutated", func(t *faulted) {
			t.request(t.in, "understudy", vote(5))
			answer := t.request(t.in, "understudy", vote(4))
			t.mutated()
			answer(voted(5, false))
			t.fetch(t.out, 5)(fetched(0, 2, 5))
		}, 2, 1},
		{"a request to it is copied", func(t *faulted) {
			answer := t.request(t.in, "understudy", vote(4))
			t.copied()
			answer(voted(5, false))
			answer(voted(5, false))
			t.fetch(t.out, 5)(fetched(0, 2, 5))
		}, 3, 1},
		{"its own answer is dropped", func(t *faulted) {
			t.request(t.in, "understudy", vote(4))(voted(5, false))
			t.dropped()
			t.fetch(t.out, 5)(fetched(0, 2, 5))
		}, 2, 1},
		{"its own answer is mutated", func(t *faulted) {
			answer := t.request(t.in, "understudy", vote(4))
			answer(voted(5, false))
			answer(voted(5, true))
			t.mutated()
			t.fetch(t.out, 5)(fetched(0, 2, 5))
		}, 2, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFaulted()
				tc.tape(f)
				f.request(f.in, "understudy", vote(5))(voted(5, true))
				epoch := int32(5)
				r := playTo(t, &f.tape, &node{
					answer: honest, fetches: func() *kmsg.FetchRequest { return fetch(epoch) },
					takes: func(m *kmsg.FetchResponse) { epoch = m.Topics[0].Partitions[0].CurrentLeader.LeaderEpoch },
				})
				if r.Outcome() != Same || r.Asked != tc.asked || r.Equal != tc.asked || r.Heard != tc.heard {
					t.Errorf("%s, want %d asked, %d heard: %+v", r.Outcome(), tc.asked, tc.heard, r)
				}
			})
		})
	}
}

// TestRun_AFaultDoesNotHideWhatTheNodeDoes: the node votes as the recorded answer has it after a fault, and not as the recorded node did.
func TestRun_AFaultDoesNotHideWhatTheNodeDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulted()
		answer := f.request(f.in, "understudy", vote(5))
		answer(voted(5, false))
		answer(voted(5, true))
		f.mutated()
		if r := playTo(t, &f.tape, &node{answer: honest}); r.Outcome() != Differs || r.Differences[0].Field != "topics[0].partitions[0].voteGranted" {
			t.Errorf("%s: %+v", r.Outcome(), r)
		}
	})
}

func TestLoad_RefusesAnswersThatCannotBeGivenAgain(t *testing.T) {
	for _, tc := range []struct {
		name string
		tape func(*faulted)
	}{
		{"an answer comes twice", func(t *faulted) { t.fetch(t.out, 5)(fetched(0, 2, 5)); t.copied() }},
		{"a request is answered twice", func(t *faulted) {
			answer := t.fetch(t.out, 5)
			t.copied()
			answer(fetched(0, 2, 5))
			answer(fetched(0, 2, 5))
		}},
		{"an answer has another id", func(t *faulted) { t.fetch(t.out, 5)(fetched(0, 2, 5)); t.renamed() }},
		{"an answer is too short for an id", func(t *faulted) {
			t.fetch(t.out, 5)(fetched(0, 2, 5))
			o := &t.list[len(t.list)-1]
			o.Fault = &recordings.Fault{Rule: "truncate", Sent: o.Frame.Bytes, Delivered: true}
			o.Frame = wire.Frame{}
		}},
		{"a request has another id", func(t *faulted) {
			answer := t.fetch(t.out, 5)
			t.renamed()
			answer(fetched(0, 2, 5))
			binary.BigEndian.PutUint32(t.list[len(t.list)-1].Frame.Bytes, 4711)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFaulted()
			tc.tape(f)
			if _, err := Load(&f.tape, 1); !errors.Is(err, ErrAltered) {
				t.Errorf("error %v, want %v", err, ErrAltered)
			}
		})
	}
}
