package belief

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// What brute force has shown the search to be wrong about, each by itself.

// TestFetchAnswer_WithAnErrorNamesNoPosition: an answer with an error that also names a diverging epoch, or a snapshot, is none that a node gives.
func TestFetchAnswer_WithAnErrorNamesNoPosition(t *testing.T) {
	given := answer{said: content{err: kraft.NotLeaderOrFollower, leader: 2, epoch: 3, hw: -1, diverge: nowhere, snapshot: nowhere}}
	asked := &askedSlot{x: &crossing{key: wire.KeyFetch}}
	for name, tc := range map[string]struct {
		diverge, snapshot kraft.OffsetAndEpoch
		want              bool
	}{
		"neither":           {nowhere, nowhere, true},
		"a diverging epoch": {kraft.OffsetAndEpoch{Offset: 4, Epoch: 2}, nowhere, false},
		"a snapshot":        {nowhere, kraft.OffsetAndEpoch{Offset: 4, Epoch: 2}, false},
	} {
		seen := given.said
		seen.diverge, seen.snapshot = tc.diverge, tc.snapshot
		if got := given.explains(&seen, asked, wire.KeyFetch); got != tc.want {
			t.Errorf("%s: explained %t", name, got)
		}
	}
}

// TestFetch_BeyondTheKnownLog: who asks a leader for what lies behind the end of its log, as far as that was seen, asks after an append
// that nobody has seen. It counts for the place where the batch begins that holds what it asks for.
func TestFetch_BeyondTheKnownLog(t *testing.T) {
	for _, tc := range []struct {
		name  string
		grown []kraft.Offset // the log ends so far behind what is known, after each append
		asked kraft.Offset   // so far behind it
	}{
		{"at the end of the log", []kraft.Offset{1}, 1},
		{"a batch is behind it", []kraft.Offset{1, 2}, 1},
		{"two batches before", []kraft.Offset{1, 3}, 3},
		{"in the middle of a batch", []kraft.Offset{2}, 1},
		{"in the middle of the second", []kraft.Offset{1, 4}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, release := range bruteReleases {
				w, g := beyond(t, release, tc.grown, tc.asked)
				if verdict, why := w.judged(g); verdict != bruteExplained {
					t.Errorf("Kafka %s: %s, %s; %s", release, verdict, why, w.describe())
				}
				if explained, _ := w.explain(bruteSteps); !explained {
					t.Errorf("Kafka %s: the enumeration does not explain it; %s", release, w.describe())
				}
			}
		})
	}
}

// beyond is a window in which a leader's log grows unseen before a follower asks for what is in the new part.
func beyond(t *testing.T, release string, grown []kraft.Offset, asked kraft.Offset) (*bruteWindow, *bruteGame) {
	var g *bruteGame
	var n *bruteNode
	for seed := uint64(1); n == nil; seed++ {
		g = newBruteGame(t, seed, release, 2, 0, false)
		for range 40 {
			g.play(20)
			for _, one := range g.nodes {
				if one.m.Role().Kind() == kraft.LeaderRole && !one.ended && len(one.came) == 0 && len(one.said) == 0 && len(one.asked) == 0 && one.waits() {
					n = one
				}
			}
			if n != nil {
				break
			}
		}
	}
	from := 3 - n.id
	w := &bruteWindow{start: n.clone().old()}
	before, epoch := n.log.End, n.m.QuorumState().Epoch
	for _, more := range grown {
		n.begin(&bruteStep{kind: bruteAppends, end: before + more})
		n.act([]kraft.Timer{{Kind: kraft.LingerTimer}}, 0)
	}
	r, _ := g.q.profile.Range(kraft.FetchAPI)
	body, err := g.q.sender.AppendSend(nil, &kraft.SendFetch{
		Replica: kraft.ReplicaKey{ID: from}, Epoch: epoch, FetchOffset: before + asked, LastFetchedEpoch: epoch, MaxWaitMs: 500, HighWatermark: 1 << 40,
	}, r.Max)
	if err != nil {
		t.Fatal(err)
	}
	m := &bruteMessage{conn: ConnID{ID: 9000}, from: from, to: n.id, key: wire.KeyFetch, version: r.Max, body: body, id: 9000}
	m.decode(t)
	n.comes(m)
	n.begin(&bruteStep{kind: bruteTakes})
	if len(n.said) == 0 {
		n.begin(&bruteStep{kind: bruteAppends, end: n.log.End + 1})
		n.act([]kraft.Timer{{Kind: kraft.LingerTimer}}, 0)
	}
	answer := &bruteMessage{conn: m.conn, from: n.id, to: from, reply: true, key: m.key, version: m.version, body: n.said[0].body}
	answer.decode(t)
	w.seen = []*bruteMessage{m, answer}
	return w, g
}

// TestLog_KnowsWhoElectedTheLeader: the first batch of a leader names those who have elected it, and a leader serves it as it has written it.
// Logs that differ in it are not the same.
func TestLog_KnowsWhoElectedTheLeader(t *testing.T) {
	first := func(size int32, granting ...kraft.NodeID) kraft.Batch {
		return kraft.Batch{Base: 3, Last: 3, Epoch: 2, Size: size, Control: []kraft.ControlRecord{
			{Type: kraft.LeaderChangeRecord, Leader: 1, VoterIDs: []kraft.NodeID{1, 2, 3}, Granting: granting},
		}}
	}
	data := kraft.Batch{Base: 3, Last: 3, Epoch: 2, Size: 70}
	unseen := kraft.Batch{Base: 3, Last: 5, Epoch: 2}
	for name, tc := range map[string]struct {
		known, served kraft.Batch
		want          bool
	}{
		"the same":                          {first(0, 1, 2), first(90, 2, 1), true},
		"other voters":                      {first(0, 1, 2), first(90, 1, 3), false},
		"no election":                       {first(0, 1, 2), data, false},
		"it describes itself anew":          {first(0, 1, 2), kraft.Batch{Base: 3, Last: 5, Epoch: 2, Size: 90, Control: append(first(0, 1, 2).Control, kraft.ControlRecord{Type: kraft.KRaftVersionRecord}, kraft.ControlRecord{Type: kraft.VotersRecord})}, true},
		"a part of which the end was known": {unseen, data, true},
		"that part, in another epoch":       {unseen, kraft.Batch{Base: 3, Last: 3, Epoch: 1, Size: 70}, false},
	} {
		h := &hypothesis{}
		h.tail = h.tail.push(kraft.Batch{Base: 0, Last: 2, Epoch: 1, Size: 70}).push(tc.known)
		if got := h.holds(&tc.served); got != tc.want {
			t.Errorf("%s: holds it %t", name, got)
		}
	}
	one, other := (*batchNode)(nil).push(first(0, 1, 2)), (*batchNode)(nil).push(first(0, 1, 3))
	if one.voted == other.voted || one.push(data).voted == other.push(data).voted || one.newest(1).voted == other.newest(1).voted {
		t.Error("logs whose leaders were elected by others are taken to be the same")
	}
	if again := (*batchNode)(nil).push(first(90, 1, 2)); again.voted != one.voted {
		t.Error("logs whose leaders were elected by the same are taken to differ")
	}
}

// TestVote_ThatIsGrantedTellsTheEndOfTheLog: a leader that left office may have written more than it was seen to serve, but not once it has
// granted its vote to a candidate whose log ends where its own is known to end.
func TestVote_ThatIsGrantedTellsTheEndOfTheLog(t *testing.T) {
	for _, tc := range []struct {
		offset kraft.Offset
		epoch  kraft.Epoch
		want   bool // more may follow
	}{{5, 2, false}, {6, 2, true}, {7, 3, true}} {
		h := &hypothesis{openTail: true}
		h.append(kraft.Batch{Base: 0, Last: 4, Epoch: 2, Size: 70})
		h.grants(&crossing{key: wire.KeyVote, said: content{offset: tc.offset, last: tc.epoch, granted: true}})
		if h.openTail != tc.want {
			t.Errorf("candidate's log ends at %d@%d: more may follow %t", tc.offset, tc.epoch, h.openTail)
		}
	}
}

// TestFetch_ThatWasAnsweredAtOnceIsNotRefused: a leader that ends refuses Fetches that have waited, whatever else they could have been
// answered since, and none that it had answered at once.
func TestFetch_ThatWasAnsweredAtOnceIsNotRefused(t *testing.T) {
	empty, records := answer{valid: true, leads: true}, answer{valid: true, leads: true, some: true}
	fenced := answer{said: content{err: kraft.FencedLeaderEpoch}}
	for name, tc := range map[string]struct {
		slot askedSlot
		want bool
	}{
		"it waits":                     {askedSlot{parked: true}, true},
		"it has waited for records":    {askedSlot{could: []answer{empty, records}}, true},
		"there were records":           {askedSlot{could: []answer{records}}, false},
		"of an epoch that is over":     {askedSlot{could: []answer{fenced}}, false},
		"of a log that is not known":   {askedSlot{could: []answer{{vague: true}}}, true},
		"its position was another one": {askedSlot{could: []answer{{leads: true}}}, false},
	} {
		if got := tc.slot.waited(); got != tc.want {
			t.Errorf("%s: waited %t", name, got)
		}
	}
}
