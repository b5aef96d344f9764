package sim

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

const latest = "4.4.0"

func three() Options { return staged(3, latest) }

func five() Options { return staged(5, latest) }

func dynamic(o Options) Options {
	o.Dynamic = true
	return o
}

func with(o Options, b Broken) Options {
	o.Broken = b
	return o
}

var electionScenarios = []Scenario{
	{
		Name: "first-election", Title: "three voters elect their first leader",
		Explains: "Node 1 draws the shortest timeout. It asks for PreVotes in epoch 0, which changes nobody's epoch, then takes epoch 1 and asks for\n" +
			"votes. Each grant is on the disk before it is told. The leader commits the first record of its epoch, LeaderChange (KIP-595, KIP-996).",
		Options: three,
		Play:    func(s *Stage) { s.Elect(1); s.Write(1, 2); s.Committed(1, 2, 3) },
	},
	{
		Name: "split-brain-prevented", Title: "a leader in the minority commits nothing",
		Explains: "Nodes 1 and 2 are cut off from 3, 4 and 5. Node 1 goes on leading epoch 1 for a while, but what it is given there never reaches a\n" +
			"majority. The three others elect one of them. When the links are mended the minority's records are cut off: nobody was told that they\n" +
			"were committed.",
		Options: five,
		Play: func(s *Stage) {
			s.Begin()
			s.Isolate(1, 2)
			s.Append(1, 3)
			s.Write(s.Another(1, 2), 1)
			s.Heal()
			s.Committed(1, 2, 3, 4, 5)
		},
	},
	{
		Name: "out-of-order-delivery", Title: "answers that come after their epoch count for nothing",
		Explains: "The votes for node 1 in epoch 1 are held back until node 2 has been elected in a later epoch. When they arrive, node 1 follows node\n" +
			"2 already: the request they answer is forgotten, and so they are not looked at.",
		Options: three,
		Play: func(s *Stage) {
			s.Hold(func(m *message) bool { return m.response && m.to.id == 1 && m.api == kraft.VoteAPI && !m.preVote })
			s.Role(1, kraft.CandidateRole)
			s.Elect(2)
			s.Release()
			s.Run(100)
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "duplication", Title: "every request arrives twice, and nothing happens twice",
		Explains: "A vote is granted again to the same candidate, a Fetch is answered again from the same offset, and the second answer finds nobody\n" +
			"who waits for it.",
		Options: func() Options {
			o := three()
			o.Kinds, o.DuplicatePerMille = o.Kinds.With(Duplicate), 1000
			return o
		},
		Play: func(s *Stage) { s.Elect(1); s.Write(1, 2); s.Committed(1, 2, 3) },
	},
	{
		Name: "double-leader-prevented", Title: "a restart does not free a vote that was given",
		Explains: "Node 3 votes for node 1 in epoch 1, follows it and restarts. Node 2 stands in the same epoch: its Vote was sent before it heard of\n" +
			"node 1. Node 3 knows from its disk who leads epoch 1 and refuses. Kafka keeps the leader, and since 4.0 also the vote, in the\n" +
			"quorum-state file (QuorumState.initialize).",
		Options: three, Play: playDoubleLeader,
	},
	{
		Name: "double-leader-by-the-seeds-rule", Title: "a restart that knows the epoch only elects two leaders",
		Explains: "The same schedule with another rule: a follower writes its epoch but neither leader nor vote, as models do that take them for\n" +
			"something of memory. Node 3 grants its vote of epoch 1 a second time, and node 2 leads the epoch that node 1 leads.",
		Options:  func() Options { return with(three(), ForgetsElection) },
		Violates: breaks(safety.OneVote), Play: playDoubleLeader,
	},
	{
		Name: "pre-vote-keeps-the-leader", Title: "a node that was away does not disturb",
		Explains: "Node 3 is cut off for long. Without PreVote it would come back with a high epoch and depose the leader. With it (KIP-996) it stays\n" +
			"in epoch 1, is refused by those who hear from their leader, and follows again.",
		Options: three,
		Play: func(s *Stage) {
			s.Elect(1)
			s.Isolate(3)
			s.Run(12_000)
			s.Heal()
			s.Role(3, kraft.FollowerRole)
			s.Write(1, 1)
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "check-quorum", Title: "a leader that nobody fetches from steps down",
		Explains: "All answers of the followers to the leader are lost, and their requests too. After one and a half fetch timeouts node 1 resigns,\n" +
			"although its own messages still arrive (KAFKA-15489).",
		Options: three,
		Play: func(s *Stage) {
			s.Elect(1)
			s.Cut(2, 1)
			s.Cut(3, 1)
			s.Role(1, kraft.ResignedRole)
			s.Elect(2)
			s.Heal()
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "asymmetric-partition", Title: "a follower that hears but is not heard",
		Explains: "Node 3 gets everything and nothing that it sends arrives. Its Fetches time out, it turns Prospective, and neither it nor the others\n" +
			"leave the epoch.",
		Options: three,
		Play: func(s *Stage) {
			s.Elect(1)
			s.Cut(3, 1)
			s.Cut(3, 2)
			s.Run(8_000)
			s.Heal()
			s.Write(1, 1)
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "split-vote", Title: "two candidates of one epoch, and neither wins",
		Explains: "Nodes 1 and 2 of four stand at the same time and each gets one other vote. Both wait for their own election timers (since 4.1,\n" +
			"KAFKA-18345), which differ, and the next epoch has a leader.",
		Options: func() Options { return staged(4, latest) },
		Play: func(s *Stage) {
			s.Favour(1)
			s.node(2).timers.reset(kraft.Timer{Kind: kraft.ElectionTimer}, s.node(1).timers.fixed[kraft.ElectionTimer])
			s.node(2).sleep()
			s.Cut(1, 4)
			s.Cut(2, 3)
			s.Run(4)
			s.Until("both have stood", func() bool { return s.node(1).stored.Epoch > 0 && s.node(2).stored.Epoch > 0 })
			s.Run(500)
			s.Heal()
			s.Elect(1)
			s.Committed(1, 2, 3, 4)
		},
	},
	{
		Name: "backoff-in-step", Title: "candidates of 4.0.0 retry in step",
		Explains: "Every real Vote is refused for a while, as a split vote would be. A candidate of 4.0.0 backs off for a time that soon reaches its\n" +
			"bound of one second, the same for all (KAFKA-18345). Since 4.1 it waits for its election timer, which is drawn.",
		Options: func() Options { return staged(3, "4.0.0") },
		Play: func(s *Stage) {
			s.Hold(func(m *message) bool {
				return m.response && m.api == kraft.VoteAPI && m.voted.VoteGranted && !m.preVote
			})
			s.Run(12_000)
			s.w.hold, s.w.held = nil, nil
			s.Elect(1)
		},
	},
	{
		Name: "graceful-shutdown", Title: "a leader that leaves names its successors",
		Explains: "Node 1 is asked to shut down. It resigns and sends EndQuorumEpoch with the voters in the order of their progress; the first of them\n" +
			"does not wait for its timeout.",
		Options: three,
		Play: func(s *Stage) {
			s.Elect(1)
			s.Write(1, 2)
			s.w.stepDown(s.node(1), 0)
			s.Until("node 1 is down", func() bool { return !s.node(1).up() })
			s.Until("another node leads", func() bool { return s.node(2).leads() || s.node(3).leads() })
		},
	},
	{
		Name: "former-leader-restarts", Title: "a leader that restarts leads its epoch no more",
		Explains: "The file says that node 1 leads epoch 1. It starts Resigned, tells the others, grants nobody a vote of that epoch and goes on to the\n" +
			"next (KAFKA-10527, KAFKA-10661). Leading on, it could write other records at the same offset and epoch.",
		Options: three,
		Play: func(s *Stage) {
			s.Begin()
			s.Crash(1, keepsAll)
			s.Start(1)
			s.Elect(2)
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "paused-leader", Title: "a leader that slept believes for a moment that it leads",
		Explains: "Node 1 stands still for ten seconds while node 2 is elected. When it wakes, its first turn finds its check-quorum timer run out and\n" +
			"it resigns, before it reads the Fetches that have waited: a role acts before it listens (KafkaRaftClient.poll).",
		Options: three,
		Play: func(s *Stage) {
			s.Elect(1)
			s.Favour(2)
			s.Pause(1, 10_000)
			s.Elect(2)
			s.Write(2, 1)
			s.Run(11_000)
			s.Committed(1, 2, 3)
		},
	},
}

// playDoubleLeader: nodes 1 and 2 stand in epoch 1. Node 3 votes for node 1; the Vote of node 2 reaches it only after it has restarted.
func playDoubleLeader(s *Stage) {
	s.node(2).timers.reset(kraft.Timer{Kind: kraft.ElectionTimer}, s.node(1).timers.fixed[kraft.ElectionTimer])
	s.node(2).sleep()
	s.Say("nodes 1 and 2 stand at the same time; the Votes of node 2 are slow")
	s.Hold(func(m *message) bool {
		return m.from.id == 2 && m.api == kraft.VoteAPI && !m.response && !m.preVote || m.from.id == 1 && m.to.id == 2
	})
	s.Until("node 3 follows node 1", func() bool { return s.node(3).stored.Leader == 1 })
	s.Crash(3, keepsAll)
	s.Start(3)
	s.Say("node 3 has restarted, and the Votes of node 2 arrive")
	s.Release()
	s.Run(20)
}
