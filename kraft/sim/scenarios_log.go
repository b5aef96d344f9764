package sim

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

var logScenarios = []Scenario{
	{
		Name: "divergence", Title: "a tail that was not committed is cut off",
		Explains: "Node 1 writes records that nobody fetches, and crashes. Another node leads epoch 2. When node 1 fetches, the leader sees that epoch 1 of\n" +
			"its log ends elsewhere and answers with a diverging epoch; node 1 cuts its log off there (KIP-595).",
		Options: three,
		Play: func(s *Stage) {
			s.Begin()
			s.Isolate(1)
			s.Append(1, 3)
			s.Run(50)
			s.Crash(1, keepsAll)
			l := s.Another(1)
			s.Heal()
			s.Start(1)
			s.Write(l, 1)
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "figure-8", Title: "a majority that holds a record of an old epoch does not commit it",
		Explains: "Node 1 leads again with records of its former epoch that nobody else has. They reach a majority before any record of the new epoch\n" +
			"does, and the high watermark stays: the first to rise is that of a record of the own epoch (figure 8 of the Raft paper;\n" +
			"LeaderState.maybeUpdateHighWatermark).",
		Options: three,
		Play: func(s *Stage) {
			s.Begin()
			s.Isolate(1)
			s.Append(1, 2)
			s.Run(50)
			s.Crash(1, keepsAll)
			s.Heal()
			s.Start(1)
			s.Run(1)
			s.Elect(1)
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "lost-tail-of-a-leader", Title: "a leader that loses what it had not flushed",
		Explains: "Followers may hold what the leader has not made durable itself: it answers parked Fetches before it flushes. Node 1 dies between the\n" +
			"two, and its disk keeps nothing of the batch. That batch was never committed, since no Fetch had come back. It survives all the\n" +
			"same, on the follower that is elected.",
		Options: three,
		Play: func(s *Stage) {
			s.Begin()
			s.Run(600)
			n := s.node(1)
			n.crashMode = losesTail
			s.w.beforeFlush = func(at *node) bool { return at == n && at.log.End > at.log.Flushed() }
			s.Append(1, 2)
			s.Until("node 1 is down", func() bool { return !n.up() })
			s.w.beforeFlush = nil
			s.Another(1)
			s.Start(1)
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "flush-before-acknowledging", Title: "a follower that does not flush",
		Explains: "Broken on purpose: the disk of a follower takes a flush for done when it is not. Its next Fetch acknowledges records that a crash\n" +
			"would take away, and a majority would be none.",
		Options:  func() Options { return with(three(), SkipsFlush) },
		Violates: breaks(safety.PersistBeforeSend),
		Play:     func(s *Stage) { s.Elect(1); s.Write(1, 2) },
	},
	{
		Name: "vote-before-persisting", Title: "a vote that is told before it is durable",
		Explains: "Broken on purpose: a granted vote is not written to the quorum-state file. The answer leaves all the same; after a crash the node\n" +
			"would vote again.",
		Options:  func() Options { return with(three(), SkipsVotePersist) },
		Violates: breaks(safety.PersistBeforeSend),
		Play:     func(s *Stage) { s.Elect(1) },
	},
	{
		Name: "snapshot-catch-up", Title: "a follower behind the log start fetches a snapshot",
		Explains: "Node 3 is away while the others take a snapshot and drop the log before it. Its Fetch is answered with a snapshot id; it fetches\n" +
			"the snapshot in pieces, begins its log anew at its end and goes on fetching records (KIP-630).",
		Options: three,
		Play: func(s *Stage) {
			s.Elect(1)
			s.Isolate(3)
			s.Write(1, 5)
			s.Committed(1, 2)
			s.w.snapshot(s.node(1), true)
			s.w.snapshot(s.node(2), true)
			s.Write(1, 2)
			s.Heal()
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "snapshot-interrupted", Title: "a crash while a snapshot is being fetched",
		Explains: "As in snapshot-catch-up, but node 3 dies with half of the snapshot. The half is void: it begins again at position 0.",
		Options:  three,
		Play: func(s *Stage) {
			s.Elect(1)
			s.Isolate(3)
			s.Write(1, 5)
			s.Committed(1, 2)
			s.w.snapshot(s.node(1), true)
			s.Heal()
			s.Until("half of it is there", func() bool {
				f, ok := s.node(3).machine.Role().(*kraft.Follower)
				return ok && f.Fetching && f.FetchedBytes > 0
			})
			s.Crash(3, losesTail)
			s.Start(3)
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "disk-full", Title: "a process that cannot write ends",
		Explains: "Node 2 finds no space for the next batch and ends, as Kafka does on any error of its log. Nothing of the batch counts. It comes back\n" +
			"and fetches again.",
		Options: three,
		Play: func(s *Stage) {
			s.Begin()
			s.node(2).diskFull = true
			s.Append(1, 1)
			s.Until("node 2 is down", func() bool { return !s.node(2).up() })
			s.node(2).diskFull = false
			s.Start(2)
			s.Write(1, 1)
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "slow-disk", Title: "a leader whose disk takes seconds",
		Explains: "Each flush and each write of the quorum state of node 1 takes three seconds. What it says leaves only after that, so its followers\n" +
			"give up on it again and again; a node with a quicker disk is elected.",
		Options: three,
		Play: func(s *Stage) {
			s.Elect(1)
			s.w.slow = 1
			for s.node(1).leads() && s.w.violation == nil {
				s.Append(1, 1)
				s.Run(3_000)
			}
			s.Another(1)
			s.w.slow = 0
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "clogged-link", Title: "messages that come seconds late, all at once",
		Explains: "Everything between nodes 1 and 3 is held for ten seconds and then arrives in a row. The Fetches of an epoch that is over are fenced,\n" +
			"the answers find nobody who waits for them.",
		Options: three,
		Play: func(s *Stage) {
			s.Begin()
			s.Hold(func(m *message) bool { return m.from.id == 1 && m.to.id == 3 || m.from.id == 3 && m.to.id == 1 })
			s.Run(5_000)
			s.Write(1, 1)
			s.Run(5_000)
			s.Release()
			s.Committed(1, 2, 3)
		},
	},
	{
		Name: "mixed-releases", Title: "4.0.0 beside 4.4.0",
		Explains: "Node 2 is 4.0.0: its Fetches are v17 and carry no high watermark, so a leader of 4.4.0 parks them although it has news of one\n" +
			"(KIP-1166). Node 2 learns of a commit with the next records or when its Fetch expires; node 3, of 4.4.0, at once.",
		Options: func() Options {
			o := three()
			o.Profiles[1] = staged(1, "4.0.0").Profiles[0]
			return o
		},
		Play: func(s *Stage) {
			s.Elect(1)
			s.Append(1, 1)
			s.Committed(1)
			s.Committed(3)
			s.Say("node 3 knows what is committed; node 2 counts %d, and waits", s.node(2).log.HighWatermark)
			s.Committed(2)
		},
	},
	{
		Name: "observer-keeps-its-leader", Title: "an observer that lost sight of its leader",
		Explains: "Node 4 is a broker of 4.4.0 and cannot reach the leader for nine seconds. It asks the bootstrap servers, is told who leads, and goes\n" +
			"back when it can (KAFKA-19354).",
		Options: func() Options {
			o := three()
			o.Observers = 1
			return o
		},
		Play: func(s *Stage) { playObserver(s) },
	},
	{
		Name: "observer-stuck", Title: "an observer of 4.1 that never goes back to its leader",
		Explains: "The same on 4.1.2 (KAFKA-19354): once the fetch timer has run out, an observer asks only bootstrap servers. Each answers\n" +
			"NOT_LEADER_OR_FOLLOWER and names the leader that it knows already, which changes nothing. It is in step again only by luck, when it\n" +
			"happens to ask the leader.",
		Options: func() Options {
			o := staged(3, "4.1.2")
			o.Observers = 1
			return o
		},
		Play: func(s *Stage) { playObserver(s) },
	},
}

func playObserver(s *Stage) {
	s.Begin(4)
	s.Cut(4, 1)
	s.Run(9_000)
	s.Heal()
	s.w.choice = 1 // node 2 is asked first, which does not lead
	s.Write(1, 1)
	s.Run(3_000)
	s.Say("the leader has committed %d, node 4 knows of %d", s.node(1).log.HighWatermark, s.node(4).log.HighWatermark)
}
