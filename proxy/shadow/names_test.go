package shadow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// capturedStage is a stage whose observer does not know who listens where, as with a capture.
func capturedStage(t *testing.T, change ...func(*Options)) *stage {
	s := newStage(t, change...)
	s.unnamed = true
	return s
}

func TestNames_OwnWord(t *testing.T) {
	at := kraft.LogEnd{LastEpoch: 4, LastOffset: 9}
	tests := []struct {
		name  string
		ask   request
		reply response
		named bool
	}{
		{"accepts a Vote meant for it", stand(5), refused(5), true},
		{"accepts a pre-vote meant for it", preVote(5), granted(5), true},
		{"accepts the leadership announced to it", begin(5), begun(kraft.None, 5, 2), true},
		{"serves as the leader", fetch(5, 0, 0), served(5, -1), true},
		{"serves a snapshot as the leader", fetchSnapshot(5, at, 0), chunk(5, at, 9, 0, "a"), true},
		{"describes the quorum as the leader", describe(), described(kraft.None, 5, 1, 9, 1, 2), true},
		{"takes an update as the leader", updateVoter(5), updated(kraft.None, 5, 1), true},
		{"refuses a Vote meant for another", stand(5), ballotAnswer(false, kraft.InvalidVoterKey, 5, -1), false},
		{"fences a Vote before it looks whom it is for", stand(5), ballotAnswer(false, kraft.FencedLeaderEpoch, 6, -1), false},
		{"names the leader, not itself", fetch(5, 0, 0), notLeader(5, 3), false},
		{"takes a Vote without a voter key", ballot{epoch: 5, version: 2, noKey: true}.request(), granted(5), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := capturedStage(t)
			s.ask(2, 1, stand(1)).answer(voteFailed(kraft.InvalidRequest)) // a raft request that says nothing of names
			s.ask(2, 1, tt.ask).answer(tt.reply)
			r := s.harmless()
			if named := s.c.endpoints["127.0.0.1:19091"].grade >= ownWord; named != tt.named || named && s.c.endpoints["127.0.0.1:19091"].node.id != 1 {
				t.Fatal(s.text())
			}
			if !tt.named {
				if r.Verdict != Inconclusive || len(r.Unjudged) != 1 {
					t.Error(s.text())
				}
				return
			}
			if r.Judged != r.Decisions || r.Decisions != 2 {
				t.Errorf("judged %d of %d: what came before the name was to be held back", r.Judged, r.Decisions)
			}
		})
	}
}

func TestNames_ByFlag(t *testing.T) {
	s := capturedStage(t, func(o *Options) { o.Names = map[string]kraft.NodeID{"127.0.0.1:19091": 1} })
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, 3))
	s.conforms()
}

func TestNames_ByHearsay(t *testing.T) {
	s := capturedStage(t)
	// node 3 leads and says, by its Begin, that it listens at 19093; node 1 never says who it is
	s.ask(3, 2, begin(5)).answer(begun(kraft.None, 5, 3))
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, 3))
	s.ask(1, 2, begin(6)).answer(begun(kraft.None, 6, 1))
	for range 40 {
		s.ask(2, 1, fetch(6, 0, 0)).answer(notLeader(6, -1))
	}
	s.finish()
	if e := s.c.endpoints["127.0.0.1:19091"]; e.grade != hearsay || e.node.id != 1 {
		t.Fatal(s.text())
	}
}

func TestNames_DisputedHearsayIsNone(t *testing.T) {
	c := New(Options{})
	c.learnHearsay(1, "127.0.0.1", 19091)
	c.learnHearsay(2, "127.0.0.1", 19092)
	c.learnHearsay(1, "127.0.0.1", 19099) // known elsewhere
	c.learnHearsay(-1, "127.0.0.1", 19093)
	c.learnHearsay(3, "::1", 19093)
	c.learnHearsay(4, "controller-4", 9093)
	for name, want := range map[string]grade{
		"127.0.0.1:19091": hearsay, "127.0.0.1:19099": unnamed, "[::1]:19093": hearsay, "controller-4:9093": hearsay,
	} {
		if e := c.endpoints[name]; e == nil || e.grade != want {
			t.Errorf("%s: %+v", name, e)
		}
	}
	c.learnHearsay(7, "127.0.0.1", 19091)
	if e := c.endpoints["127.0.0.1:19091"]; e.grade != unnamed || e.node != nil {
		t.Error("two nodes are said to be there, and one of them is believed")
	}
	c.learnOwnWord(c.endpoints["127.0.0.1:19099"], 2) // node 2 is there itself, so not where it was said to be
	if e := c.endpoints["127.0.0.1:19092"]; e.grade != unnamed {
		t.Error("hearsay outlives the node's own word")
	}
	for i := range 2 * maxEndpoints {
		c.learnHearsay(5, "127.0.0.1", 20000+i)
	}
	if len(c.endpoints) > maxEndpoints {
		t.Errorf("%d listeners by hearsay", len(c.endpoints))
	}
}

func TestNames_ListenerThatContradictsItself(t *testing.T) { // the port went to another node, or an answer was forged
	s := newStage(t).meet(1, 2)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.ask(2, 1, fetch(6, 0, 0)).answer(fetched{epoch: 6, leader: 3, hw: -1}.response())
	s.ask(2, 1, fetch(6, 0, 0)).answer(notLeader(6, 3))
	r := s.harmless()
	if r.Verdict != Inconclusive {
		t.Error(s.text())
	}
	s.remarks("answered as node 1 and as node 3")
}

func TestNames_OneContradictionAgainstMany(t *testing.T) { // it counts against the message
	s := newStage(t).meet(1, 2)
	for range surely {
		s.ask(2, 1, fetch(5, 0, 0)).answer(served(5, -1))
	}
	s.ask(2, 1, fetch(5, 0, 0)).answer(fetched{epoch: 5, leader: 3, hw: -1}.response())
	s.diverges("M2", 1)
}

func TestNames_ClientIDs(t *testing.T) {
	for text, want := range map[string]kraft.NodeID{
		"raft-client-0": 0, "raft-client-17": 17, "raft-client-2147483647": 2147483647,
		"raft-client-": -1, "raft-client-2147483648": -1, "raft-client-99999999999": -1, "raft-client-1x": -1, "1": -1, "": -1, "adminclient-1": -1,
	} {
		if id, ok := raftClientID([]byte(text)); id != want || ok != (want >= 0) {
			t.Errorf("%q: node %d, %t", text, id, ok)
		}
	}
}

func TestNames_OtherClientsSpeakForNobody(t *testing.T) { // a tool may send what it likes
	s := newStage(t).meet(1, 2, 3)
	s.ask(2, 3, stand(5)).answer(refused(5))
	l := s.line(2, 1)
	l.correlation++
	v := stand(3)(s, 3, 1)
	l.observe(wire.Request, encodeRequest(v, l.correlation, "kcat"), nil)
	l2 := s.dial(3, 1)
	l2.correlation++
	l2.observe(wire.Request, encodeRequest(v, l2.correlation, "kcat"), nil)
	s.harmless()
}

func TestLookahead_WaitsForNamesAndIsBounded(t *testing.T) {
	s := capturedStage(t)
	for range windowBytes/60_000 + 10 {
		r := fetch(5, 0, 0)(s, 2, 1).(*kmsg.FetchRequest)
		r.Rack = strings.Repeat("x", 60_000)
		s.line(2, 1).send(r).answer(notLeader(5, -1))
	}
	if s.c.window != nil || s.c.order == 0 {
		t.Error("the window did not end")
	}
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	if s.c.window != nil {
		t.Error("the name of a listener is waited for twice")
	}
	if r := s.harmless(); r.Verdict != Inconclusive {
		t.Error(r.Verdict)
	}
}

func TestLookahead_EndsAfterAMinuteOfTheStream(t *testing.T) {
	s := capturedStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.at += windowTime
	s.ask(2, 1, fetch(5, 0, 0))
	if s.c.window != nil {
		t.Error("the window did not end")
	}
}

func TestLookahead_HeldObservationsAreCopies(t *testing.T) {
	s := capturedStage(t)
	l := s.line(2, 1)
	l.correlation++
	b := encodeRequest(fetch(5, 0, 0)(s, 2, 1), l.correlation, "raft-client-2")
	o := recordings.Observation{
		Kind: recordings.KindFrame, Conn: l.conn, Frame: wire.Frame{Bytes: b, Size: len(b)}, Withheld: []recordings.Withheld{{Start: 1}},
		Fault: &recordings.Fault{Sent: b, Delivered: true}, Gap: &recordings.Gap{},
	}
	s.observe(&o)
	clear(b)
	o.Withheld[0].Start, o.Fault.Delivered, o.Gap.Fatal = 9, false, true
	h := &s.c.window.held[0]
	if h.Frame.Bytes[1] != 1 || h.Withheld[0].Start != 1 || !h.Fault.Delivered || h.Fault.Sent[1] != 1 || h.Gap.Fatal {
		t.Error("what is held changes with the source's buffers")
	}
}

func TestNames_ListenersAreBounded(t *testing.T) {
	c := New(Options{})
	for i := range maxListeners + 10 {
		c.endpointOf(&recordings.Conn{Node: kraft.NoNode, Endpoint: fmt.Sprint("host-", i)})
	}
	if len(c.endpoints) > maxListeners+1 {
		t.Errorf("%d listeners", len(c.endpoints))
	}
	if e := c.endpointOf(&recordings.Conn{Node: 7, Endpoint: "one more"}); !e.ambiguous {
		t.Error("a listener beyond the bound is judged")
	}
	if e := New(Options{}).endpointOf(&recordings.Conn{Node: 7}); e.node.id != 7 {
		t.Error("a listener without an address has no name")
	}
}
