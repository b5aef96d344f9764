package sim

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// What Kafka itself does not withstand. The random runs leave these out or go on after them; here they are shown.
var hazardScenarios = []Scenario{
	{
		Name: "static-disk-lost", Title: "a static voter that comes back empty breaks its promises",
		Explains: "At kraft.version 0 a voter has no directory id, so node 2 counts as before although its disk is new. Records that nodes 1 and 2 had\n" +
			"committed are on node 1 alone, and nodes 2 and 3 elect a leader without them. No protocol survives a voter that forgets: with\n" +
			"kraft.version 1 the new disk is another replica (KIP-853; see disk-replaced).",
		Options: three, Violates: breaks(safety.LeaderCompleteness),
		Play: func(s *Stage) {
			s.Begin()
			s.Isolate(3)
			s.Write(1, 2)
			s.Committed(1, 2)
			s.Wipe(2)
			s.Heal()
			s.Isolate(1)
			s.Start(2)
			s.Elect(3)
		},
	},
	{
		Name: "only-voter-loses-its-tail", Title: "an only voter commits before it flushes",
		Explains: "A leader counts its own log end before the flush, and answers parked Fetches in between (KafkaRaftClient.maybeAppendBatches). With one\n" +
			"voter that is a majority: node 2, an observer, learns that a record is committed which the disk of node 1 does not have. The machine\n" +
			"dies, node 1 writes something else at the same offset. Run at least three voters, or a disk that survives.",
		Options: func() Options {
			o := staged(1, latest)
			o.Observers, o.NoLimits = 1, true
			return o
		},
		Violates: breaks(safety.LeaderCompleteness),
		Play: func(s *Stage) {
			s.Begin(2)
			s.Run(300)
			n := s.node(1)
			n.crashMode = losesTail
			s.w.beforeFlush = func(at *node) bool { return at == n && at.log.End > at.log.Flushed() }
			s.Append(1, 2)
			s.Until("node 1 is down", func() bool { return !n.up() })
			s.w.beforeFlush = nil
			s.Run(5)
			s.Start(1)
			s.Elect(1)
			s.Write(1, 3)
			s.Committed(2)
		},
	},
	{
		Name: "remove-leader-of-two", Title: "of two voters the leader removes itself, and dies too early",
		Explains: "Node 1 writes the set without itself and dies before node 2 has it. Node 1 is no voter by its own log and does not stand; node 2 still\n" +
			"knows two voters and needs the vote of node 1, whose log is longer. Neither can ever lead. Remove the other one first, or have\n" +
			"three.",
		Options: func() Options { return dynamic(staged(2, latest)) },
		Play: func(s *Stage) {
			s.Begin(1, 2)
			s.Isolate(1)
			s.remove(1)
			s.Run(50)
			s.Crash(1, keepsAll)
			s.Heal()
			s.Start(1)
			s.Run(13_000)
			s.Say("after 13 s: node 1 leads: %t, node 2 leads: %t", s.node(1).leads(), s.node(2).leads())
		},
	},
	{
		Name: "removed-leader-stays", Title: "a leader that was removed goes on leading, and dies too early",
		Explains: "Node 1 removes itself, node 3 is slow, and the request times out. The record is committed when node 3 has fetched it, but only the request\n" +
			"that is gone would have made node 1 resign (RemoveVoterHandler.highWatermarkUpdated): it goes on leading voters that it is none of.\n" +
			"Then it removes node 3 and dies before node 2 has that record. Node 2 needs the vote of node 3, whose log is longer; node 3 is no\n" +
			"voter by its own log and does not stand. After a removal that timed out, see who leads before you remove another voter.",
		Options: func() Options { return dynamic(three()) },
		Play: func(s *Stage) {
			s.Begin(1, 2, 3)
			s.Hold(holding(3, 1, kraft.FetchAPI, false))
			s.remove(1)
			s.Run(2_010)
			s.Release()
			s.Committed(1, 2, 3)
			s.Say("node 1 leads: %t; the voters are %d, and it is none of them", s.node(1).leads(), s.votersOf(1))
			s.Isolate(2)
			s.remove(3)
			s.Until("node 3 has the record", func() bool { return s.votersOf(3) == 1 })
			s.Crash(1, keepsAll)
			s.Heal()
			s.Run(13_000)
			s.Say("after 13 s: node 2 leads: %t, node 3 leads: %t", s.node(2).leads(), s.node(3).leads())
		},
	},
	{
		Name: "added-disk-is-gone", Title: "the disk of a new voter is lost while it is being added",
		Explains: "Node 1, the only voter, is asked to add node 2, which has caught up. Node 2 gets an empty disk before node 1 asks it for its versions.\n" +
			"Whoever runs there answers, and the fetches of the old key are recent (AddVoterHandler.handleApiVersionsResponse), so a key that is\n" +
			"gone becomes one of two voters. Nothing can be committed any more, nor the voter removed. See that a new voter runs before you add it,\n" +
			"and grow a quorum of one while nothing else happens.",
		Options: func() Options { return spare(dynamic(staged(1, latest)), 1) },
		Play: func(s *Stage) {
			s.Begin(2)
			s.Hold(holding(1, 2, kraft.APIVersionsAPI, false))
			s.w.addVoter(s.node(1), s.node(2))
			s.Run(50)
			s.Wipe(2)
			s.Start(2)
			s.Release()
			s.Until("node 2 is a voter", func() bool { return s.votersOf(1) == 2 })
			end := s.node(1).log.End
			s.Role(1, kraft.ProspectiveRole)
			s.Run(5)
			s.Say("committed up to %d of %d, and node 1 asks in vain, as in voter-key-lost-twice", s.w.history.Committed(), end)
		},
	},
	{
		Name: "stale-voters", Title: "a node that does not read a set of voters that it has written",
		Explains: "Node 1 had written five records that were never committed. It cuts them off and gets others in their place, with a Voters record among\n" +
			"them that removes it. But it has read control records up to the old end, and does not read below that again\n" +
			"(KRaftControlRecordStateMachine.truncateNewEntries leaves nextOffset alone). It goes on as a voter and stands for election, until a\n" +
			"restart or a later Voters record.",
		Options: func() Options {
			o := dynamic(three())
			o.KeepStaleVoters = true
			return o
		},
		Violates: breaks(safety.VotersOnly),
		Play: func(s *Stage) {
			s.Begin(1, 2, 3)
			s.Isolate(1)
			s.Append(1, 5)
			s.Run(50)
			l := s.Another(1)
			s.w.removeVoter(s.node(l), 1)
			s.Committed(2, 3)
			s.Heal()
			s.Until("node 1 has the record", func() bool { return s.votersOf(1) == 2 })
			s.Say("node 1 has the Voters record in its log, and has not read it")
			s.Isolate(1)
			s.Favour(1)
			s.Run(6_000)
		},
	},
	{
		Name: "answer-of-a-removed-voter", Title: "a late answer of a removed voter ends the leader",
		Explains: "The answer of node 3 to BeginQuorumEpoch is on its way while node 3 is removed. It arrives, the leader looks for a voter 3 to note the\n" +
			"acknowledgement, and the process ends (LeaderState.addAcknowledgementFrom throws).",
		Options: func() Options { return dynamic(three()) },
		Play: func(s *Stage) {
			s.Hold(holding(3, 1, kraft.BeginQuorumEpochAPI, true))
			s.Elect(1)
			s.w.removeVoter(s.node(1), 3)
			s.Until("node 3 is no voter", func() bool { return s.votersOf(1) == 2 })
			s.Release()
			s.Run(10)
		},
	},
	{
		Name: "candidate-again", Title: "a loser that followed the winner is a candidate again after a restart",
		Explains: "Node 3 voted for itself in epoch 1, lost and followed node 1. Its quorum state keeps its own vote, and a restart looks at that before\n" +
			"the leader: it is Candidate of epoch 1 again (QuorumState.initialize). Its log has records of epoch 1 by now, so its Vote has a last\n" +
			"epoch that is not below its own, which node 2, who does not know the leader, calls invalid. Node 3 ends.",
		Options: three,
		Play: func(s *Stage) {
			s.node(3).timers.reset(kraft.Timer{Kind: kraft.ElectionTimer}, s.node(1).timers.fixed[kraft.ElectionTimer])
			s.node(3).sleep()
			s.Hold(func(m *message) bool {
				return m.api == kraft.VoteAPI && (m.from.id+m.to.id == 4 || m.from.id == 3 && !m.response && !m.preVote) ||
					m.from.id == 1 && m.to.id == 2 && m.api == kraft.BeginQuorumEpochAPI
			})
			s.Until("node 1 leads", func() bool { return s.node(1).leads() })
			s.w.hold, s.w.held = nil, nil
			s.Cut(1, 2)
			s.Cut(2, 1)
			s.Until("node 3 has records of epoch 1", func() bool { return s.node(3).stored.Leader == 1 && s.node(3).log.Flushed() > 0 })
			s.Isolate(1)
			s.Crash(3, keepsAll)
			s.Start(3)
			s.Until("node 3 has ended", func() bool { return !s.node(3).up() })
		},
	},
	{
		Name: "told-that-it-leads", Title: "a leader that lost its disk is told that it leads",
		Explains: "Node 1 comes back with an empty disk before the others have noticed. It asks a bootstrap server who leads, and the answer is node 1. A\n" +
			"node that is told so and does not lead ends (KafkaRaftClient.maybeTransition), again and again until another one is elected.",
		Options: func() Options { return dynamic(three()) },
		Play: func(s *Stage) {
			s.Begin(1, 2, 3)
			s.Wipe(1)
			s.w.choice = 1
			s.Start(1)
			s.Until("node 1 has ended", func() bool { return !s.node(1).up() })
			l := s.Another(1)
			s.Start(1)
			s.Until("node 1 has the log", func() bool { return s.node(1).log.End == s.node(l).log.End })
		},
	},
	{
		Name: "voter-key-lost-twice", Title: "reformatted disks are counted as voters that never answer",
		Explains: "Node 3 comes back with a new directory id, node 2 dies. Two live nodes, one live key of three: the leader steps down, and as\n" +
			"Prospective it asks for PreVotes that are refused because of their key (INVALID_VOTER_KEY), with no pause in between.",
		Options: func() Options { return dynamic(three()) },
		Play: func(s *Stage) {
			s.Begin(1, 2, 3)
			s.Wipe(3)
			s.Start(3)
			s.Write(1, 1)
			s.Committed(3)
			s.Crash(2, keepsAll)
			s.Role(1, kraft.ResignedRole)
			s.Role(1, kraft.ProspectiveRole)
			s.Run(10)
			s.Start(2)
			s.Elect(1)
		},
	},
}
