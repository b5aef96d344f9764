package sim

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

func spare(o Options, n int) Options {
	o.Spares = n
	return o
}

var voterScenarios = []Scenario{
	{
		Name: "add-voter", Title: "an observer becomes a voter",
		Explains: "The leader first asks the new node what it supports (ApiVersions), checks that it has caught up, then writes a Voters record. The new\n" +
			"set counts as soon as it is written, so the record is committed by a majority of four (KIP-853).",
		Options: func() Options { return spare(dynamic(three()), 1) },
		Play: func(s *Stage) {
			s.Begin(4)
			s.w.addVoter(s.node(1), s.node(4))
			s.Until("node 4 is a voter", func() bool { return s.votersOf(4) == 4 })
			s.Committed(1, 2, 3, 4)
		},
	},
	{
		Name: "add-voter-that-lags", Title: "a node that has not caught up is not added",
		Explains: "Node 4 cannot fetch. The leader waits for its ApiVersions answer, finds that it is no observer that has caught up, and answers\n" +
			"REQUEST_TIMED_OUT: as a voter it would only hold up commits.",
		Options: func() Options { return spare(dynamic(three()), 1) },
		Play: func(s *Stage) {
			s.Hold(holding(4, 0, kraft.FetchAPI, false))
			s.Begin()
			s.w.addVoter(s.node(1), s.node(4))
			s.Run(3_000)
			s.Say("the leader counts %d voters", s.votersOf(1))
		},
	},
	{
		Name: "remove-leader", Title: "a leader removes itself",
		Explains: "The new set is in force at once: node 1 goes on leading without counting itself. When the record is committed by nodes 2 and 3 it\n" +
			"resigns and they elect a leader (KAFKA-16530, KAFKA-17604).",
		Options: func() Options { return dynamic(three()) },
		Play: func(s *Stage) {
			s.Begin()
			s.w.removeVoter(s.node(1), 1)
			s.Role(1, kraft.ResignedRole)
			s.Another(1)
		},
	},
	{
		Name: "one-change-at-a-time", Title: "a second change waits for the first",
		Explains: "Node 5 is added while the record that adds node 4 is not committed: REQUEST_TIMED_OUT. Two changes at once could have majorities that\n" +
			"do not meet.",
		Options: func() Options { return spare(dynamic(three()), 2) },
		Play: func(s *Stage) {
			s.Begin(4, 5)
			s.w.addVoter(s.node(1), s.node(4))
			s.w.addVoter(s.node(1), s.node(5))
			s.Until("node 4 is a voter", func() bool { return s.votersOf(1) == 4 })
			s.Committed(1, 2, 3, 4)
			s.w.addVoter(s.node(1), s.node(5))
			s.Until("node 5 is a voter", func() bool { return s.votersOf(1) == 5 })
			s.Committed(1, 2, 3, 4, 5)
		},
	},
	{
		Name: "stale-voter-set-after-restart", Title: "a node whose process forgets the voters of its log",
		Explains: "Broken on purpose: a restart reads the bootstrap checkpoint and not the Voters records behind it. Node 3 was removed and stands for\n" +
			"election with a set that nobody else has.",
		Options:  func() Options { return with(dynamic(three()), ForgetsVoters) },
		Violates: breaks(safety.VotersOnly), Play: playRemovedRestarts,
	},
	{
		Name: "voter-set-survives-restart", Title: "a removed voter that restarts stays an observer",
		Explains: "The same schedule as it should be: the log is read for its Voters records before anything else happens. Node 3 asks the bootstrap\n" +
			"servers for a leader and fetches as an observer.",
		Options: func() Options { return dynamic(three()) }, Play: playRemovedRestarts,
	},
	{
		Name: "disk-replaced", Title: "a voter comes back with an empty disk and a new directory id",
		Explains: "The key of a voter is its id with its directory id, so node 3 is an observer now, and the old key still counts among the three. The\n" +
			"operator removes the old key and adds the new one, while there is a leader to do it (KAFKA-14205, KAFKA-17426).",
		Options: func() Options { return dynamic(three()) },
		Play: func(s *Stage) {
			s.Begin(1, 2, 3)
			s.Wipe(3)
			s.Start(3)
			s.Write(1, 1)
			s.Committed(3)
			s.Say("node 3 has the whole log and is no voter")
			s.remove(3)
			s.Until("the old key is gone", func() bool { return s.votersOf(1) == 2 })
			s.Committed(1, 2)
			s.Run(600)
			s.w.addVoter(s.node(1), s.node(3))
			s.Until("the new key is there", func() bool { return s.votersOf(3) == 3 })
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "auto-join", Title: "a controller adds itself to the voters",
		Explains: "With controller.quorum.auto.join.enable a controller that is no voter asks the leader for it, and a voter with a new disk first has its\n" +
			"former self removed (KAFKA-19078). Node 3 does both without an operator.",
		Options: func() Options {
			o := dynamic(three())
			o.AutoJoin = true
			return o
		},
		Play: func(s *Stage) {
			s.Begin(1, 2, 3)
			s.Wipe(3)
			s.Start(3)
			s.Until("the old key is gone", func() bool { return s.votersOf(1) == 2 })
			s.Until("the new key is there", func() bool { return s.votersOf(1) == 3 })
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "upgrade-kraft-version", Title: "kraft.version is raised from 0 to 1",
		Explains: "The voters have told their directory ids and endpoints with UpdateRaftVoter, which the leader of a static quorum keeps in memory\n" +
			"(KAFKA-16538). It writes KRaftVersion and Voters in one batch, and the voters have keys from then on.",
		Options: three,
		Play: func(s *Stage) {
			s.Begin()
			s.Run(5_000)
			s.w.note(noteUpgrade, s.node(1), "")
			s.node(1).call(&kraft.UpgradeKRaftVersion{Epoch: s.node(1).machine.QuorumState().Epoch, Version: 1})
			s.Until("node 3 knows", func() bool { return s.node(3).version() == 1 })
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "endpoint-changes", Title: "a voter moves, and tells the leader",
		Explains: "Node 2 restarts with another address. Its description in the voter set is out of date, so it sends UpdateRaftVoter and the leader\n" +
			"writes a new Voters record with the same keys.",
		Options: func() Options { return dynamic(three()) },
		Play: func(s *Stage) {
			s.Begin()
			s.node(2).endpoint++
			s.Crash(2, keepsAll)
			s.Start(2)
			s.Until("the set has the new address", func() bool {
				_, voters := s.node(1).lastVoters()
				return voters.Find(2).Endpoints.Equal(s.node(2).endpoints())
			})
			s.Committed(1, 2, 3)
		},
	},
}

func playRemovedRestarts(s *Stage) {
	s.Begin(1, 2, 3)
	s.w.removeVoter(s.node(1), 3)
	s.Until("node 3 knows", func() bool { return s.votersOf(3) == 2 && s.node(3).log.HighWatermark == s.node(3).log.End })
	s.Crash(3, keepsAll)
	s.Cut(1, 3)
	s.Cut(2, 3)
	s.Favour(3)
	s.Start(3)
	s.Run(4_000)
}

// votersOf is the number of voters in the log of a node.
func (s *Stage) votersOf(id kraft.NodeID) int {
	_, voters := s.node(id).lastVoters()
	return voters.Len()
}
