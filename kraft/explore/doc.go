// Package explore looks at everything that can happen to a small quorum. It runs the engine itself, not a model of it: every state that
// a Model can reach is visited, in order of its distance from the start, and held against the invariants of kraft/safety. The first one
// that is broken ends the search, with the shortest way there told as a conversation.
//
// # Time
//
// There is none. A timer that the role looks at may run out at any moment, whatever its deadline. That is more than can happen in
// reality, so what holds here holds for every timeout and every clock. Budgets say how often.
//
// # The network
//
// What has been sent and has not arrived is a bag. Any packet may arrive next: messages overtake each other, also on one connection,
// and a packet that stays in the bag for good is one that was lost on its way. Losses besides that (Budget.Losses) are those that the
// sender may notice: the packet is gone, or its connection breaks. Copies arrive twice.
//
// # Crashes
//
// A crash leaves what was flushed and the quorum-state file, and the node starts again at once; that it stays away for long is the same
// as messages that take long. With Model.Interrupt it may come before each barrier of the actions of an event, when what stands before
// the barrier has been done and sent. A crash elsewhere between two actions is one before the next barrier in which some of the sends
// were lost. Some errors end Kafka's process; where a model runs into them (Model.Ends) the node is down from then on.
//
// # Steps
//
// One step is one input of one node, and then the role actions in which no timer has run out, for as long as they do something. A node
// that takes longer to act is one whose messages take longer, and a crash before it acts is one that loses what it has sent.
//
// # How it is fast
//
// The engine is a function: what a node does depends on its own state and on the input. So each local state (machine, disk, and what
// must not be forgotten: epoch and vote) and each packet is kept once and has a number, and each step of a node is worked out once. A
// state of the quorum is a handful of numbers. Its sum is that of independent 64-bit sums of its parts, so that the order of packets
// does not count. A search keeps one sum per state, its parent and which of the successors it is; the states themselves are kept for the
// frontier only. The way to a violation is played again from the start.
//
// With n states the chance that two different ones have the same sum, and one of them is overlooked, is about n*n/2^65: 1 in 10,000 for 60
// million states.
//
// # What is merged, and why that is right
//
// Correlation ids grow for ever, and decide only whether an answer is still waited for. A machine waits for at most one answer per
// connection record, so one bit per packet says the same (live). An answer that nobody waits for is dropped.
//
// Renamed nodes: states that differ in the names of voters only have the same successors up to the names, so one of them is enough. A
// state's sum is the least one under all renamings. It takes that nothing is decided by the order of ids. In the machine two things are
// (kraft.Names): the walk over connections, which shows only if some requests of a node have timed out and others have not, so here they
// time out together; and the order of successors with the same progress, which shows only in the length of a timer. The choice of a
// bootstrap server is made by counting on from the node itself, and every choice is taken. TestSymmetry checks all that from outside:
// the images of the states that are kept are exactly the states that there are without merging.
//
// Spent packets: a request of an older epoch that nobody waits for is fenced, a PreVote of the own epoch gives an answer and nothing
// else. Epochs do not fall, so such a packet does nothing for ever and is taken off the network, except where a wiped disk makes an epoch
// fall. TestSpentPackets checks that every node gets to the same local states with and without.
//
// # Bounds
//
// Budgets, epochs and nodes bound a model. A search that does not come to its end within its limit is an error, never a success.
package explore
