package kraft_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// A clone and its original go the same way when they are told the same, and do not see what only the other is told.
func TestClone_IsIndependent(t *testing.T) {
	for _, role := range roles {
		s := stageIn(role)
		if role == kraft.LeaderRole {
			s.on(s.fetch(2, 1, 500))
			s.on(s.fetch(9, 1, 500))
			s.on(appendRequest(1, 1, 10, true))
		}
		before := s.machine.Fingerprint()
		c := s.machine.Clone()
		if c.Fingerprint() != before {
			t.Errorf("%v: a clone has another fingerprint", role)
		}
		for _, ev := range []kraft.Event{&kraft.RoleAction{}, s.fetch(3, 1, 500), vote(7, longLog), begin(3, 8)} {
			s.on(ev)
		}
		if c.Fingerprint() != before {
			t.Errorf("%v: the clone has changed with the original", role)
		}
	}
}

// Along a random history, a machine that is replaced by its clone now and then does what the original does.
func TestClone_ContinuesAsTheOriginalWould(t *testing.T) {
	for _, seed := range seeds(2) {
		c := newCluster(seed, 3)
		random := rand.New(rand.NewPCG(seed, 5))
		spares := map[*node]*kraft.QuorumStateMachine{}
		for range 300 {
			for range random.IntN(20) {
				c.turn()
			}
			if l := c.leader(); l != nil && random.IntN(2) == 0 {
				l.handle(&kraft.AppendRequested{Epoch: l.epoch(), Records: 1, Size: 50, Schedule: true})
			}
			n := c.nodes[random.IntN(len(c.nodes))]
			old := n.machine
			if spare := spares[n]; spare != nil {
				old.CopyInto(spare)
				n.machine = spare
			} else {
				n.machine = old.Clone()
			}
			spares[n] = old
			if n.machine.Fingerprint() != old.Fingerprint() {
				t.Fatalf("seed %d: a copy into used storage differs", seed)
			}
		}
		if c.lead() == nil {
			t.Fatalf("seed %d: no leader", seed)
		}
	}
}

// The hash is fixed: recorded fingerprints stay valid.
func TestFingerprint_IsStable(t *testing.T) {
	want := map[kraft.RoleKind][2]byte{}
	for _, role := range roles {
		a, b := stageIn(role).machine.Fingerprint(), stageIn(role).machine.Fingerprint()
		if a != b {
			t.Errorf("%v: two equal machines differ", role)
		}
		want[role] = [2]byte{a[0], a[15]}
	}
	for i, role := range roles {
		for _, other := range roles[:i] {
			if want[role] == want[other] {
				t.Errorf("%v and %v have the same fingerprint", role, other)
			}
		}
	}
}

// Instants that decide nothing are no part of it; what decides is.
func TestFingerprint_IgnoresInstants(t *testing.T) {
	a, b := leaderStage(3), leaderStage(3)
	b.now = 7000
	a.on(a.fetch(2, 1, 0))
	b.on(b.fetch(2, 1, 0))
	if a.machine.Fingerprint() != b.machine.Fingerprint() {
		t.Error("the time of a Fetch counts")
	}
	b.on(b.fetch(4, 1, 0))
	if a.machine.Fingerprint() == b.machine.Fingerprint() {
		t.Error("an observer does not count")
	}
}

// Every value prints on one line, without an address in it.
func TestStrings_OneLine(t *testing.T) {
	c := newDynamicCluster(3, 3)
	seen := map[string]bool{}
	check := func(s string) {
		if strings.ContainsAny(s, "\n\t") || strings.Contains(s, "0xc0") || strings.Contains(s, "%!") || s == "" {
			t.Errorf("prints as %q", s)
		}
	}
	c.seen = func(n *node, a kraft.Action) {
		seen[reflect.TypeOf(a).String()], seen[reflect.TypeOf(n.event).String()] = true, true
		check(a.String())
		check(n.event.String())
		check(n.machine.Role().String())
		check(n.log.String())
		for _, connection := range n.machine.Inspect().Connections {
			check(connection.String())
		}
	}
	leader := c.lead()
	leader.append(2)
	c.settle(3000)
	leader.handle(&kraft.Shutdown{TimeoutMs: 5000})
	c.settle(9000)
	if len(seen) < 20 {
		t.Errorf("only %d kinds of values were seen", len(seen))
	}
	for _, ev := range []kraft.Event{
		&kraft.Resign{}, &kraft.UpgradeKRaftVersion{}, &kraft.ParkedExpired{}, &kraft.ScheduleAppend{}, &kraft.SnapshotCreated{},
		&kraft.ReceiveAddRaftVoter{}, &kraft.ReceiveRemoveRaftVoter{}, &kraft.ReceiveUpdateRaftVoter{}, &kraft.ReceiveDescribeQuorum{},
		&kraft.ReceiveFetchSnapshot{}, &kraft.ReceiveAPIVersionsResponse{}, &kraft.ReceiveAddRaftVoterResponse{},
		&kraft.ReceiveRemoveRaftVoterResponse{}, &kraft.ReceiveUpdateRaftVoterResponse{}, &kraft.ReceiveFetchSnapshotResponse{},
		&kraft.ReceiveEndQuorumEpochResponse{}, &kraft.AppendRequested{}, preVote(1, longLog), end(1, 2), &kraft.Shutdown{},
		&kraft.RequestFailed{Response: kraft.Response{Error: kraft.NetworkException, WrongPartition: true}},
		&kraft.ReceiveVoteRequest{Request: kraft.Request{WrongPartition: true}},
		&kraft.ReceiveVoteResponse{PartitionAnswer: kraft.PartitionAnswer{Error: kraft.FencedLeaderEpoch, HasEndpoint: true}},
		&kraft.ReceiveFetchResponse{Diverging: kraft.OffsetAndEpoch{Epoch: -1}, Snapshot: kraft.SnapshotID{Offset: 3}},
		&kraft.ReceiveFetchResponse{Diverging: kraft.OffsetAndEpoch{Epoch: 3}},
		&kraft.ReceiveFetchResponse{Diverging: kraft.OffsetAndEpoch{Epoch: -1}, Snapshot: kraft.SnapshotID{Offset: -1}, Batches: []kraft.Batch{{}}},
	} {
		check(ev.String())
	}
	for _, a := range []kraft.Action{
		&kraft.TruncateTo{}, &kraft.BeginSnapshotFetch{}, &kraft.AppendSnapshot{}, &kraft.AbandonSnapshotFetch{}, &kraft.InstallSnapshot{},
		&kraft.AppendControl{}, &kraft.AppendRecords{}, &kraft.CancelTimer{}, &kraft.Refused{}, &kraft.Fatal{}, &kraft.SendAPIVersions{},
		&kraft.SendUpdateVoter{}, &kraft.SendAddRaftVoter{}, &kraft.SendRemoveRaftVoter{}, &kraft.SendFetchSnapshot{},
		&kraft.SendEndQuorumEpoch{}, &kraft.ReplyEndQuorumEpoch{}, &kraft.ReplyFetchSnapshot{}, &kraft.ReplyDescribeQuorum{},
		&kraft.ReplyAddRaftVoter{}, &kraft.ReplyRemoveRaftVoter{}, &kraft.ReplyUpdateRaftVoter{}, &kraft.ReplyDivergingEpoch{},
		&kraft.ReplyFetch{FetchAnswer: kraft.FetchAnswer{Diverging: kraft.OffsetAndEpoch{Epoch: -1}}},
		&kraft.ReplyVote{Reply: kraft.Reply{Error: kraft.InvalidRequest}, PartitionReply: kraft.PartitionReply{PartitionError: kraft.InvalidRequest}},
		&kraft.AppendControl{Batch: kraft.Batch{Control: []kraft.ControlRecord{{}, {Type: kraft.KRaftVersionRecord}, {Type: kraft.VotersRecord, Voters: kraft.NewVoterSet(staticVoter(1), staticVoter(2))}}}},
	} {
		check(a.String())
	}
	for _, role := range roles {
		check(role.String())
		check(stageIn(role).machine.Role().String())
	}
	for api := kraft.APIKey(0); api < 90; api++ {
		check(api.String())
	}
	check(kraft.NewEndpoints(kraft.Endpoint{Name: "a"}, kraft.Endpoint{Name: "b"}).String())
	check((&kraft.PreparedBatch{}).String())
	check(kraft.AddChange.String())
}

// What decides is in the fingerprint: the pending change, what was parked, the history of the voters.
func TestFingerprint_SeesWhatIsPending(t *testing.T) {
	seen := map[[16]byte]string{}
	check := func(name string, s *stage) {
		t.Helper()
		f := s.machine.Fingerprint()
		if other, ok := seen[f]; ok {
			t.Errorf("%q looks like %q", name, other)
		}
		seen[f] = name
	}
	s := dynamicLeader(3)
	check("a leader", s)
	s.on(s.fetch(4, s.log.End, 0))
	check("with an observer", s)
	e := addVoter(4)
	probe := sent[kraft.SendAPIVersions](s.on(e))[0]
	check("an addition", s)
	s.on(supports(probe, 1))
	check("that is queued", s)
	s.act()
	check("that is written", s)
	s.act(kraft.VoterChangeTimer)
	check("and was given up", s)
	s = dynamicLeader(3)
	s.on(removeVoter(2))
	check("a removal", s)
	s.on(s.fetch(2, s.log.End, 500))
	check("with a parked Fetch", s)
}
