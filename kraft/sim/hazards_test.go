package sim

import (
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// TestHazards_FetchesTwiceIsNoPretext: a follower may end because it got records twice only where two Fetches can be in flight, and only if its
// log has those records.
func TestHazards_FetchesTwiceIsNoPretext(t *testing.T) {
	w := New()
	o := Draw(1)
	o.Events, o.Kinds = 500, 0
	if err := o.Resize(3, 0, 0); err != nil {
		t.Fatal(err)
	}
	for i := range o.Profiles {
		o.Profiles[i] = profiles[0]
	}
	if r := w.Run(o); r.Violation != nil {
		t.Fatal(&r)
	}
	var n *node
	for _, x := range w.nodes[:3] {
		if x.machine.Role().Kind() == kraft.FollowerRole {
			n = x
		}
	}
	if n == nil {
		t.Fatal("nobody follows")
	}
	held, ok := n.chain.Holding(n.log.End - 1)
	if !ok {
		t.Fatal("the log is empty")
	}
	newer := profiles[len(profiles)-1]
	older := profiles[0]
	for _, x := range []struct {
		name  string
		epoch kraft.Epoch
		base  kraft.Offset
		rules *kraft.Rules
		want  Hazard
	}{
		{"records that it has", held.Epoch, n.log.End - 1, &older.Rules, FetchesTwice},
		{"records of another epoch", held.Epoch + 1, n.log.End - 1, &older.Rules, NoHazard},
		{"records that it has not", held.Epoch, n.log.End, &older.Rules, NoHazard},
		{"a release with one Fetch in flight", held.Epoch, n.log.End - 1, &newer.Rules, NoHazard},
	} {
		profile := *n.profile
		profile.Rules = *x.rules
		n.profile = &profile
		n.event = &kraft.ReceiveFetchResponse{Batches: []kraft.Batch{{Base: x.base, Last: x.base, Epoch: x.epoch}}}
		if got := w.hazard(n, kraft.FatalUnexpectedOffset); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// TestHazards_ToldThatItLeadsIsNoPretext: only a node whose disk was lost may end because it is told that it leads.
func TestHazards_ToldThatItLeadsIsNoPretext(t *testing.T) {
	w := New()
	o := Draw(1)
	o.Kinds, o.Events = 0, 0
	if err := o.Resize(3, 0, 0); err != nil {
		t.Fatal(err)
	}
	w.Run(o)
	n := w.nodes[0]
	told := func(leader kraft.NodeID) kraft.Event {
		return &kraft.ReceiveVoteResponse{PartitionAnswer: kraft.PartitionAnswer{LeaderID: leader}}
	}
	for _, x := range []struct {
		name   string
		lost   bool
		event  kraft.Event
		reason kraft.FatalReason
		want   Hazard
	}{
		{"by an answer to its Vote", true, told(n.id), kraft.FatalInvalidTransition, ToldThatItLeads},
		{"by a newer epoch", true, told(n.id), kraft.FatalInconsistentLeader, ToldThatItLeads},
		{"that another one leads", true, told(2), kraft.FatalInvalidTransition, NoHazard},
		{"by an answer to its Fetch", true, &kraft.ReceiveFetchResponse{}, kraft.FatalInvalidTransition, NoHazard},
		{"with its disk", false, told(n.id), kraft.FatalInvalidTransition, NoHazard},
		{"with its disk, by a newer epoch", false, told(n.id), kraft.FatalInconsistentLeader, NoHazard},
	} {
		if w.lost = w.lost[:0]; x.lost {
			w.lost = append(w.lost, n.replicaKey())
		}
		n.event = x.event
		if got := w.hazard(n, x.reason); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// TestFaults_VotersAreRemovedWhereKafkaCanGoOn: the fault model leaves out the removals that remove-leader-of-two and removed-leader-stays
// show, and no others.
func TestFaults_VotersAreRemovedWhereKafkaCanGoOn(t *testing.T) {
	w := New()
	o := Draw(1)
	o.Dynamic, o.Events = true, 0
	if err := o.Resize(5, 0, 0); err != nil {
		t.Fatal(err)
	}
	w.Run(o)
	set := func(ids ...kraft.NodeID) kraft.VoterSet {
		var list []kraft.Voter
		for _, id := range ids {
			list = append(list, kraft.Voter{Key: w.nodes[id-1].replicaKey()})
		}
		return kraft.NewVoterSet(list...)
	}
	for _, x := range []struct {
		name         string
		leader, gone kraft.NodeID
		voters       kraft.VoterSet
		dead         []kraft.NodeID
		want         bool
	}{
		{"a leader removes another one of three", 1, 3, set(1, 2, 3), nil, true},
		{"a leader removes the other one of two", 1, 2, set(1, 2), nil, true},
		{"a leader removes itself of three", 1, 1, set(1, 2, 3), nil, true},
		{"a leader removes itself of two", 1, 1, set(1, 2), nil, false},
		{"a leader removes the last voter", 1, 1, set(1), nil, false},
		{"a leader outside the voters removes one of three", 4, 3, set(1, 2, 3), nil, true},
		{"a leader outside the voters removes one of two", 4, 2, set(1, 2), nil, false},
		{"a dead voter of three is removed", 1, 3, set(1, 2, 3), []kraft.NodeID{3}, true},
		{"one of three is removed while another one is dead", 1, 3, set(1, 2, 3), []kraft.NodeID{2}, false},
		{"a leader removes itself of three while another one is dead", 1, 1, set(1, 2, 3), []kraft.NodeID{3}, false},
		{"a leader outside the voters removes the dead one of three", 4, 3, set(1, 2, 3), []kraft.NodeID{3}, true},
		{"a leader outside the voters removes one of four while another one is dead", 5, 3, set(1, 2, 3, 4), []kraft.NodeID{4}, false},
	} {
		for i, n := range w.nodes[:5] {
			n.dead = slices.Contains(x.dead, kraft.NodeID(i+1))
		}
		if got := w.canRemove(w.nodes[x.leader-1].replicaKey(), x.voters, w.nodes[x.gone-1].replicaKey()); got != x.want {
			t.Errorf("%s: %t, want %t", x.name, got, x.want)
		}
	}
}

// TestFaults_NoDiskIsLostThatIsToBecomeAVoter: the fault model leaves out what added-disk-is-gone shows.
func TestFaults_NoDiskIsLostThatIsToBecomeAVoter(t *testing.T) {
	w := New()
	o := Draw(1)
	o.Dynamic, o.Kinds, o.Events, o.AutoJoin = true, 0, 1500, false
	if err := o.Resize(3, 1, 0); err != nil {
		t.Fatal(err)
	}
	if r := w.Run(o); r.Violation != nil {
		t.Fatal(&r)
	}
	leader, spare := w.nodes[0], w.nodes[3]
	if !w.canLose(spare.replicaKey()) {
		t.Fatal("a node that nobody counts on cannot lose its disk")
	}
	request := func() *message {
		m := w.message()
		m.from, m.to = spare, leader
		m.add = kraft.ReceiveAddRaftVoter{Voter: spare.replicaKey()}
		m.event, m.request = &m.add, &m.add.Request
		return m
	}
	leader.inbox = append(leader.inbox, request())
	if w.canLose(spare.replicaKey()) {
		t.Error("the disk is lost while the leader has the request")
	}
	leader.inbox = leader.inbox[:0]
	w.queue.push(item{at: w.now, kind: deliver, what: request()})
	if w.canLose(spare.replicaKey()) {
		t.Error("the disk is lost while the request is on its way")
	}
	if !w.canLose(w.nodes[1].replicaKey()) {
		t.Error("another disk cannot be lost")
	}
}

// TestSim_WhatKafkaDoesNotSurviveIsLeftOut plays seeds that ended as Kafka would: by removed-leader-stays, by added-disk-is-gone, and by
// told-that-it-leads where the answer to a Vote says so, and by a voter that has not read yet that it is one when the leader's disk is lost.
func TestSim_WhatKafkaDoesNotSurviveIsLeftOut(t *testing.T) {
	for _, seed := range []uint64{408135, 1006832, 3001687, 6038039} {
		if r := New().Run(Draw(seed)); r.Violation != nil {
			t.Error(&r)
		}
	}
}
