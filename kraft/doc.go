// Package kraft holds Kafka's KRaft consensus as a pure state machine. It makes the decisions of
// org.apache.kafka.raft.KafkaRaftClient and of nothing around it: no goroutine, clock, randomness, I/O or logging. Time, random
// draws, the network and the log belong to a driver. The same machine runs a live node, shadows a real one, and is simulated and
// explored.
//
// # The driver's part
//
// A driver makes a QuorumStateMachine with New from its configuration and from what it finds on disk. Then it calls OnEvent, first
// with Start and from then on with whatever happens, one call at a time, and executes the actions that it gets back.
//
//	m, err := kraft.New(config)
//	execute(m.OnEvent(&kraft.Start{}, log.View(), clock(), &actions))
//	for running {
//		kraft.Turn(m, host, now())
//	}
//
// Turn is one turn of Kafka's loop: the action of the role that is held, then at most one message. Between two messages there is
// always a role action, so a timer that has run out wins over a message that waits. In between a driver may call OnEvent with what
// does not come from the network: AppendRequested, Resign, Shutdown, ParkedExpired, … The example elects a leader among three
// machines with this loop.
//
// # Executing actions
//
// The list is in order and is executed in order. PersistQuorumState, AssignEpoch and FlushLog are barriers: nothing after them may
// happen before they are durable. A driver may crash between any two actions; the machine is made for it. A crash loses what
// was not flushed, and a new machine is made from the rest.
//
// An action cannot fail. If the disk does, the driver ends: Kafka does the same. After Fatal, and after ShutdownDone, a machine
// handles nothing any more and emits nothing.
//
// Actions live in the Actions buffer that the driver passes in, until it is passed in again. Events belong to the driver too: the
// machine keeps nothing of them but numbers, strings and immutable values. On the steady paths nothing is allocated.
//
// # The log
//
// The machine sees the log as a LogView: its bounds, its epochs and its snapshots. It works on a copy and changes that by the methods
// of LogView as it emits actions, since one event may append, commit and answer. Logs embed a LogView and call the same methods,
// so that both arrive at the same place; View tells where that is. Batches arrive as metadata (Batch), decoded control
// records included. Bytes are read when a ReplyFetch is executed.
//
// # Time
//
// The machine never compares two instants. All timers run in the driver. ResetTimer starts one; every event brings the set of those
// that have run out (Clock.Due). A timer that is reset in an event is no longer due in it, one that a role does not look at is
// ignored, and one that is inherited from the role before is just not reset. Where Kafka draws a random duration, ResetTimer has a
// Window and the driver draws. CancelTimer and Wait are for hosts that sleep.
//
// So a simulator draws from its seed, an explorer enables the bits it likes, and a shadow, which does not know whether a timer
// of the node it watches has run out, follows both ways.
//
// # Requests
//
// A request brings a RequestID and its reply carries it. Nothing waits in a goroutine: a parked Fetch is data. Requests that the
// machine sends name a connection record (Destination.Record), which the response names again, and the machine itself keeps track of
// what is in flight, what has timed out and who is left alone after a failure. A request that got no answer is a RequestFailed.
//
// # Releases
//
// Kafka releases differ in named Rules. Package compat has them per release.
//
// # Reading
//
// Begin with event.go and action.go, then role.go for the state. turn.go and machine.go say how an event finds its handler.
// transition.go has the role changes; unattached.go, prospective.go, candidate.go, leader.go, follower.go and resigned.go say what
// a role does by itself; vote.go, begin.go, end.go, fetch.go, fetch_response.go, snapshotfetch.go, addvoter.go, removevoter.go and
// updatevoter.go have one message each, from top to bottom. The mathematics are in tally.go, highwatermark.go, successors.go,
// checkquorum.go, epochcache.go and logview.go.
package kraft
