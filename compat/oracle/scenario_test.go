package oracle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
)

// script is one scenario with the real client. Its checks are the reference's statements that were once executed.
type script struct {
	name string
	from string // first release that can do it
	hunt bool   // shows what no conversation does, and is short: mutants are looked for in it
	run  func(s *scene)
}

// scene is what a script plays on.
type scene struct {
	*testing.T
	*oracle.Cluster
	version string
	checks  *int
}

func (s *scene) check(what string, ok bool) {
	s.Helper()
	*s.checks++
	if s.Err != nil {
		s.Fatal(s.Err)
	}
	if !ok {
		s.Errorf("%s\n%s", what, s.Cluster)
	}
}

var scripts = []script{
	{name: "election with static voters", run: func(s *scene) { election(s, 0) }},
	{name: "election with dynamic voters", run: func(s *scene) { election(s, 1) }},
	{name: "votes", run: votes},
	{name: "divergence", run: divergence},
	{name: "snapshot", run: snapshot},
	{name: "voter changes", run: voterChanges},
	{name: "losing candidate", run: losingCandidate},
	{name: "fatal input", run: fatalInput},
	{name: "old peer", run: oldPeer},
	{name: "parked fetch", run: parkedFetch},
	{name: "only voter", run: onlyVoter},
	{name: "upgrade of kraft.version", from: "4.1.0", run: upgrade},
	{name: "auto-join", from: "4.2.0", run: autoJoin},
	{name: "shutdown", run: shutdown},
	{name: "large records", run: largeRecords},
	{name: "resignation", run: resignation},
	{name: "time passes inside a turn", run: during},
	{name: "storage fails", run: storageFails},
	{name: "slow listener", run: slowListener},
	{name: "restart loses the unflushed tail", run: lostTail},
	{name: "snapshot within what was read", hunt: true, run: snapshotWithinWhatWasRead},
	{name: "snapshot without voters", hunt: true, run: snapshotWithoutVoters},
	{name: "leader with another address", hunt: true, run: movedLeader},
	{name: "voter change expires within a turn", hunt: true, run: changeExpiresInTurn},
	{name: "shutdown before the message of a turn", hunt: true, run: shutdownInTurn},
	{name: "update-voter timer while nothing is in flight", hunt: true, run: updateVoterAtVersionZero},
	{name: "an answer names another address", hunt: true, run: answerNamesAnotherAddress},
	{name: "late answers", run: lateAnswers},
	{name: "records behind a forced drain", hunt: true, run: recordsBehindForcedDrain},
	{name: "records of a negative epoch", run: recordsOfNegativeEpoch},
	{name: "offsets that stand still", run: offsetsThatStandStill},
	{name: "unknown kraft.version", run: unknownKRaftVersion},
	{name: "snapshot below the log end", run: snapshotBelowTheLogEnd},
	{name: "many successors", run: manySuccessors},
	{name: "leader without an address", run: leaderWithoutAnAddress},
	{name: "observer without an id", run: observerWithoutAnID},
	{name: "voters only in the configuration", run: votersOnlyInTheConfiguration},
	{name: "vote for oneself", run: voteForOneself},
	{name: "snapshots of two topics", run: snapshotsOfTwoTopics},
	{name: "calls in every role", run: callsInEveryRole},
}

// TestKafka_ScriptedScenarios plays the scripts with the machine beside the real client.
func TestKafka_ScriptedScenarios(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			tw := twin.New(start(t, oracle.Build{Version: version}))
			checks := 0
			for _, sc := range scripts {
				if sc.from != "" && !from(version, sc.from) {
					continue
				}
				t.Run(sc.name, func(t *testing.T) {
					sc.run(&scene{T: t, Cluster: oracle.NewCluster(tw), version: version, checks: &checks})
				})
				if err := tw.Reset(); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("Kafka %s: %d checks", version, checks)
			reached(version).note("scripts", tw)
		})
	}
}

// three starts voters 1 to 3, which draw 100, 200 and 300 ms for their first election.
func (s *scene) three(kraftVersion int) {
	for id := int32(1); id <= 3; id++ {
		s.Start(oracle.NewInit(id, kraftVersion, 1, 2, 3), map[string][]int32{"0:1000": {id * 100}})
	}
}

func (s *scene) leading(kraftVersion int) {
	s.three(kraftVersion)
	s.Elect(1)
}

func election(s *scene, kraftVersion int) {
	s.three(kraftVersion)
	s.Advance(1100, 1)
	s.check("the election timeout makes n1 Prospective", s.State(1).Role == "Prospective")
	s.Elect(1)
	s.check("n1 leads after pre-vote and vote", s.State(1).Role == "Leader" && s.State(2).Role == "Follower" && s.State(3).Role == "Follower" && s.State(1).HighWatermark > 0)
	end := s.State(1).End
	s.Append(1, 3)
	s.Pass(6, 100)
	s.check("three records are committed everywhere", s.State(1).HighWatermark == end+3 && s.State(2).HighWatermark == end+3 && s.State(3).HighWatermark == end+3)
}

func votes(s *scene) {
	for id := int32(1); id <= 3; id++ {
		in := oracle.NewInit(id, 1, 1, 2, 3)
		in.Stored = &oracle.StoredState{Epoch: 5, Leader: -1, Voted: -1, Version: 1}
		s.Start(in, map[string][]int32{"0:1000": {id * 100}})
	}
	s.Elect(1)
	s.Pass(3, 100)
	epoch, end, last := s.State(1).Epoch, s.State(2).End, s.State(2).LastEpoch
	ask := func(what, want string, epoch, candidate, voter, lastEpoch int32, offset int64, cluster string) {
		_, reply := s.Craft(2, voteRequest(2, epoch, candidate, voter, lastEpoch, offset, cluster))
		s.check(what+": "+oracle.Describe(reply)+", want "+want, oracle.Describe(reply) == want)
	}
	known := fmt.Sprintf("leader 1 epoch %d", epoch)
	ask("wrong cluster", "INCONSISTENT_CLUSTER_ID", epoch+1, 3, 2, last, end, "other")
	ask("old epoch", "FENCED_LEADER_EPOCH "+known+" granted false", epoch-1, 3, 2, 0, end, oracle.ClusterID)
	ask("epoch of the leader", "NONE "+known+" granted false", epoch, 3, 2, epoch-1, end, oracle.ClusterID)
	ask("last epoch not below the epoch", "INVALID_REQUEST "+known+" granted false", epoch, 3, 2, epoch, end, oracle.ClusterID)
	_, reply := s.Craft(2, preVoteRequest(epoch, 3, 2, last, end))
	s.check("pre-vote at a follower that has fetched: "+oracle.Describe(reply), oracle.Describe(reply) == "NONE "+known+" granted false")
	next := fmt.Sprintf("leader -1 epoch %d", epoch+1)
	ask("wrong voter key, but the epoch is taken over", "INVALID_VOTER_KEY "+next+" granted false", epoch+1, 3, 9, last, end, oracle.ClusterID)
	s.check("n2 is Unattached now", s.State(2).Role == "Unattached" && s.State(2).Epoch == epoch+1)
	ask("shorter log", "NONE "+next+" granted false", epoch+1, 3, 2, last, end-1, oracle.ClusterID)
	ask("equal log", "NONE "+next+" granted true", epoch+1, 3, 2, last, end, oracle.ClusterID)
	ask("same candidate, shorter log", "NONE "+next+" granted true", epoch+1, 3, 2, 0, 0, oracle.ClusterID)
	ask("other candidate", "NONE "+next+" granted false", epoch+1, 1, 2, last, end, oracle.ClusterID)
	s.Do(2, oracle.Command{Cmd: "restart", State: true})
	ask("after a restart, same candidate", "NONE "+next+" granted true", epoch+1, 3, 2, last, end, oracle.ClusterID)
}

func divergence(s *scene) {
	s.leading(1)
	s.Pass(5, 100)
	s.Cut = func(a, b int32) bool { return a == 1 || b == 1 }
	s.Append(1, 2)
	s.Append(1, 2)
	end := s.State(1).End
	leader := func() int32 {
		for id := int32(2); id <= 3; id++ {
			if s.State(id).Role == "Leader" {
				return id
			}
		}
		return 0
	}
	for i := 0; i < 60 && leader() == 0; i++ {
		s.Pass(1, 100)
	}
	l := leader()
	s.check("a new leader while n1 is cut off", l != 0 && s.State(1).End == end)
	s.Append(l, 1)
	s.Pump(50)
	s.Cut = func(int32, int32) bool { return false }
	truncated := false
	for i := 0; i < 40 && s.Err == nil && (s.State(1).Role != "Follower" || s.State(1).End != s.State(l).End); i++ {
		for n := 0; len(s.Net) > 0 && n < 60; n++ {
			m := s.Take(0)
			a := s.Deliver(m, oracle.Command{Settle: true, State: true})
			truncated = truncated || has(a, "truncate")
		}
		s.Advance(50)
	}
	s.check("a diverging epoch truncates n1", truncated && s.State(1).Role == "Follower" && s.State(1).End == s.State(l).End)
}

func has(a *oracle.Answer, kind string) bool {
	for _, e := range a.Effects {
		if e.Kind == kind {
			return true
		}
	}
	return false
}

func snapshot(s *scene) {
	s.leading(1)
	for i := 0; i < 4; i++ {
		s.Append(1, 2)
		s.Pass(1, 100)
		s.Pump(50)
	}
	hw, epoch := s.State(1).HighWatermark, s.State(1).Epoch
	a := s.Do(1, oracle.Command{Cmd: "snapshot", Offset: hw, Epoch: epoch, Records: oracle.Records(20), Settle: true, State: true})
	s.check("the leader makes a snapshot", a.Created)
	s.Append(1, 1)
	s.Pump(50)
	s.Do(1, oracle.Command{Cmd: "deleteBefore", Offset: hw, Epoch: epoch, Settle: true, State: true})
	s.check("its log start moves", s.State(1).Start == hw)
	in := oracle.NewInit(4, 1)
	in.Config["controller.quorum.fetch.snapshot.max.bytes"] = 1000
	s.Start(in, nil)
	loaded, chunks := false, 0
	for i := 0; i < 40 && s.Err == nil && s.State(4).HighWatermark < s.State(1).HighWatermark; i++ {
		s.Advance(50)
		for n := 0; len(s.Net) > 0 && n < 60; n++ {
			m := s.Take(0)
			if m.Response && m.API == 59 {
				chunks++
			}
			loaded = has(s.Deliver(m, oracle.Command{Settle: true, State: true}), "loadSnapshot") || loaded
		}
	}
	s.check(fmt.Sprintf("a new observer loads it, %d chunks", chunks), loaded && chunks > 0 && s.State(4).HighWatermark == s.State(1).HighWatermark)
}

func voterChanges(s *scene) {
	s.leading(1)
	s.Pass(4, 100)
	s.Start(oracle.NewInit(4, 1), nil)
	s.Pass(12, 100)
	s.check("observer n4 has caught up", s.State(4).HighWatermark == s.State(1).HighWatermark)
	number, _ := s.Craft(1, addVoterRequest(4))
	s.Pass(8, 100)
	s.check("AddRaftVoter "+oracle.Describe(s.Replies[number]), len(s.State(1).Voters) == 4 && oracle.Describe(s.Replies[number]) == "NONE")
	number, _ = s.Craft(1, removeVoterRequest(3))
	s.Pass(8, 100)
	s.check("RemoveRaftVoter "+oracle.Describe(s.Replies[number]), len(s.State(1).Voters) == 3 && oracle.Describe(s.Replies[number]) == "NONE")
	s.moveVoter2()
	s.Pass(8, 100)
	number, _ = s.Craft(1, removeVoterRequest(1))
	for i := 0; i < 30 && s.State(1).Role == "Leader"; i++ {
		s.Pass(1, 100)
	}
	s.check("the leader removes itself: "+oracle.Describe(s.Replies[number]), s.State(1).Role != "Leader")
}

// moveVoter2 lets node 2 come back under another address, which it announces itself. Until 4.0 the update period starts
// anew even if a Fetch in flight prevents the request, so the clock must pass the deadline exactly between the
// turn that handles a Fetch response and the next one.
func (s *scene) moveVoter2() {
	log := s.Do(2, oracle.Command{Cmd: "log"})
	in := oracle.NewInit(2, 1, 1, 2, 3)
	in.Endpoints = map[string]string{oracle.Channel: "h2:9999"}
	in.Log, in.Stored = log.Bytes, &oracle.StoredState{Epoch: s.State(2).Epoch, Leader: 1, Voted: -1, Version: 1}
	s.Start(in, nil)
	updates := 0
	for i := 0; i < 3000 && s.Err == nil && !strings.Contains(fmt.Sprint(s.State(1).Voters), "h2:9999"); i++ {
		if len(s.Net) == 0 {
			s.Advance(50)
			continue
		}
		m := s.Take(0)
		deadline := s.State(2).Timers["updateVoter"]
		if m.Response && m.API == 1 && m.To == 2 && deadline-s.Now <= 600 {
			s.Deliver(m, oracle.Command{Poll: 1, State: true})
			s.Now = max(s.Now, deadline)
			s.Do(2, oracle.Command{Cmd: "poll", Poll: 1, State: true})
			continue
		}
		if m.API == 82 && !m.Response {
			updates++
		}
		s.Deliver(m, oracle.Command{Settle: true, State: true})
	}
	s.check(fmt.Sprintf("UpdateRaftVoter was sent %d times", updates), updates > 0 && strings.Contains(fmt.Sprint(s.State(1).Voters), "h2:9999"))
}

func losingCandidate(s *scene) {
	s.three(1)
	s.Do(1, oracle.Command{Cmd: "poll", Random: map[string][]int32{"0:2": {1}, "1:2": {1}, "0:50": {13}}})
	s.Advance(1100, 1)
	answer := func(granted bool) {
		sent := s.Net
		s.Net = nil
		for _, m := range sent {
			if m.From == 1 && m.API == 52 && (!granted || m.To == 2) {
				s.Do(1, oracle.Command{Cmd: "response", Corr: m.Corr, Version: m.Version, Body: voteAnswer(m.Version, s.State(1).Epoch, granted), Settle: true, State: true})
			}
		}
	}
	answer(true)
	answer(false)
	s.check("n1 is a candidate that cannot win", s.State(1).Role == "Candidate")
	began := s.Now
	for s.Err == nil && s.State(1).Role == "Candidate" && s.Now < began+5000 {
		s.Now++
		s.Do(1, oracle.Command{Cmd: "poll", Poll: 1, State: true})
	}
	waited := s.Now - began
	want := map[string]int64{"4.0.0": 100, "4.0.2": 50}[s.version]
	s.check(fmt.Sprintf("it gives up after %d ms", waited), s.State(1).Role == "Prospective" && (waited == want || want == 0 && waited >= 1000))
}

func fatalInput(s *scene) {
	s.leading(1)
	s.Craft(2, beginRequest(s.State(1).Epoch, 3))
	s.check("BeginQuorumEpoch of another leader ends n2: "+s.Nodes[2].Fatal, s.Nodes[2].Fatal != "" && len(s.Replies) == 0)
	a := s.Do(2, oracle.Command{Cmd: "restart", State: true})
	s.check("it starts again as Follower", a.Fatal == "" && s.State(2).Role == "Follower")
}

func oldPeer(s *scene) {
	for id := int32(1); id <= 3; id++ {
		in := oracle.NewInit(id, 1, 1, 2, 3)
		s.Nodes[id] = &oracle.Node{ID: id, Init: in}
		s.Do(id, oracle.Command{Cmd: "init", Init: &in, MaxVersions: map[int16]int16{52: 1}, Random: map[string][]int32{"0:1000": {id * 100}}, State: true})
	}
	s.Advance(1100, 1)
	without := 0
	for _, m := range s.Net {
		if m.API == 52 && m.Body == nil {
			without++
		}
	}
	s.Elect(1)
	s.check(fmt.Sprintf("%d pre-votes cannot be encoded for Vote v1, so n1 becomes a candidate at once", without), without == 2 && s.State(1).Role == "Leader")
}

func parkedFetch(s *scene) {
	s.leading(1)
	s.Pump(50)
	parked := s.State(1).Parked
	s.Now += 500
	a := s.Do(1, oracle.Command{Cmd: "poll", Expire: true})
	replies := 0
	for _, e := range a.Effects {
		if e.Kind == "reply" {
			replies++
		}
	}
	s.check(fmt.Sprintf("expiry answers %d of %d parked fetches without a turn", replies, parked), parked == 2 && replies == 2 && a.Polls == 0)
}

func onlyVoter(s *scene) {
	s.Start(oracle.NewInit(1, 1, 1), nil)
	s.check("the only voter leads at once", s.State(1).Role == "Leader")
	s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
	s.check("and commits its first batch", s.State(1).HighWatermark == 3)
}

func upgrade(s *scene) {
	s.leading(0)
	updates := 0
	for i := 0; i < 60 && s.Err == nil; i++ {
		for n := 0; len(s.Net) > 0 && n < 60; n++ {
			m := s.Take(0)
			if m.API == 82 && !m.Response {
				updates++
			}
			s.Deliver(m, oracle.Command{Settle: true, State: true})
		}
		s.Advance(100)
	}
	a := s.Do(1, oracle.Command{Cmd: "upgrade", Epoch: s.State(1).Epoch, Level: 1, Settle: true, State: true})
	s.Pass(6, 100)
	s.check(fmt.Sprintf("kraft.version 0 to 1 after %d UpdateRaftVoter %s", updates, a.Error), s.State(1).KRaft == 1 && s.State(2).KRaft == 1 && s.State(1).HighWatermark == s.State(1).End)
}

func autoJoin(s *scene) {
	s.leading(1)
	in := oracle.NewInit(4, 1)
	in.Config["controller.quorum.auto.join.enable"] = true
	s.Start(in, nil)
	for i := 0; i < 60 && len(s.State(1).Voters) < 4; i++ {
		s.Pass(1, 100)
	}
	s.check("an observer joins by itself", len(s.State(1).Voters) == 4)
}

func shutdown(s *scene) {
	s.leading(1)
	a := s.Do(2, oracle.Command{Cmd: "shutdown", Ms: 5000, Settle: true, State: true})
	s.check("a follower shuts down at once", a.Finished)
	a = s.Do(1, oracle.Command{Cmd: "shutdown", Ms: 5000, Settle: true, State: true})
	s.check("a leader resigns first", s.State(1).Role == "Resigned" && !a.Finished)
}

func largeRecords(s *scene) {
	s.Start(oracle.NewInit(1, 1, 1), nil)
	s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
	big := make([]byte, 5<<20)
	a := s.Do(1, oracle.Command{Cmd: "append", Epoch: s.State(1).Epoch, Records: [][]byte{big}, Settle: true})
	s.check("a record of 5 MiB: "+a.Error, a.Error == "")
	a = s.Do(1, oracle.Command{Cmd: "append", Epoch: s.State(1).Epoch, Records: [][]byte{big, big}, Settle: true})
	s.check("a batch above 8 MiB is refused", a.Error != "")
}

func resignation(s *scene) {
	s.leading(1)
	s.Pump(50)
	s.Do(1, oracle.Command{Cmd: "resign", Epoch: s.State(1).Epoch, Settle: true, State: true})
	s.check("the leader resigns", s.State(1).Role == "Resigned")
	for i := 0; i < 40 && s.State(2).Role != "Leader" && s.State(3).Role != "Leader"; i++ {
		s.Pass(1, 50)
	}
	s.check("a successor is elected", s.State(2).Role == "Leader" || s.State(3).Role == "Leader")
}

func during(s *scene) {
	s.leading(1)
	now := s.Now
	a := s.Do(2, oracle.Command{Cmd: "poll", Poll: 3, During: 7, State: true})
	s.check("three turns took 21 ms", a.Now == now+21 && s.Now == now+21)
}

func storageFails(s *scene) {
	s.three(1)
	s.Now += 1100
	s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
	m := s.Net[0]
	epoch := s.State(1).Epoch
	a := s.Do(1, oracle.Command{
		Cmd: "response", Corr: m.Corr, Version: m.Version, Body: voteAnswer(m.Version, epoch, true),
		FailAt: map[string]int{"persist": 1}, Poll: 1, State: true,
	})
	s.check("a failing quorum-state file ends the process: "+a.Fatal, a.Fatal != "")
	s.Do(1, oracle.Command{Cmd: "restart", State: true})
	s.check("the epoch was not written", s.State(1).Epoch == epoch)
}

func slowListener(s *scene) {
	s.leading(1)
	s.Pass(4, 100)
	s.Do(2, oracle.Command{Cmd: "hold"})
	for i := 0; i < 2; i++ {
		s.Append(1, 2)
		s.Pass(7, 100)
	}
	s.check("a reader is held and the listener stays behind", s.State(2).HeldReaders > 0 && s.State(2).ListenerNext < s.State(2).HighWatermark)
	s.Do(2, oracle.Command{Cmd: "release", Settle: true, State: true})
	s.check("the listener catches up", s.State(2).ListenerNext == s.State(2).HighWatermark)
}

func lostTail(s *scene) {
	s.Start(oracle.NewInit(1, 1, 1), nil)
	s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
	end := s.State(1).End
	s.Do(1, oracle.Command{Cmd: "append", Epoch: s.State(1).Epoch, Records: oracle.Records(2), FailAt: map[string]int{"flush": 1}, Poll: 1})
	s.check("the flush fails: "+s.Nodes[1].Fatal, s.Nodes[1].Fatal != "")
	s.Do(1, oracle.Command{Cmd: "restart", LoseUnflushed: true, State: true})
	s.check("the records are gone", s.State(1).End == end)
}
