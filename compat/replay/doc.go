// Package replay feeds a recording to a live node again and says where its answers differ from the recorded ones.
//
// One node of the recording is the one that is replayed. What others asked of it is asked again, in the recorded order; what
// it asked of its peers is answered as they answered then. The clock plays no part: a step is taken when the one before it
// is done, so cause comes before effect on both sides.
//
//   - ask: a recorded request is sent; the answer is awaited at the place where the recording has it, so a parked Fetch
//     stays open while other things happen.
//   - hear: the node must ask a peer what it asked in the recording. It is awaited: elections begin when the node's own
//     timer says so.
//   - reply: the peer's recorded answer is given, and not before.
//
// Where fault rules had their way in the recording, the node gets what reached it then, faults and all, and is compared with
// what it sent, whatever became of that.
//
// A node asks the same again when nothing changes (a follower's Fetch). What it has asked before is answered as before;
// recorded repetitions are not waited for. What it asks and never asked in the recording stands as a difference if the
// replay comes to wait for something else, and is not answered.
//
// An answer depends on a node's state, so this is exact where the target starts from the state in which the recording
// begins: the same cluster id, node id, directory id, voters, and the same log. Every change of that state must come from the
// recording: a leader of Kafka writes records of its own at moments of its own, and a recording in which the node
// leads for long differs in offsets from run to run.
//
// Fields that say when or where rather than what are not compared (masks). What another release does otherwise is
// explained by the named rules of package compat (rules.go).
package replay
