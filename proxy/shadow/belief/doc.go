// Package belief judges each voter of a quorum by the states that it may be in (the second tier of package shadow).
//
// A [Checker] takes in the messages of the raft layer in the order in which they crossed the wire, and keeps a judge for each voter.
// A judge looks at the messages of its node alone. It holds a set of hypotheses: each is a machine of package kraft with the rules
// of the node's release, the log that it must have, and what lies on its connections. Whatever goes to the node is put there.
// Whatever comes from it must be explained: some sequence of hidden steps (taking messages, a timer that runs out, an append
// that nobody saw) leads from a hypothesis to a state in which the machine would have written just that. The states that do
// are the next set. If there are none, and there are none from any earlier state in the window either, nothing that a correct
// node may have done explains the message: that is a [Divergence]. A search that had to give something up proves nothing, and the
// node is not judged until it can be anchored again.
//
// Reading path: hypothesis.go (a state), step.go (hidden steps), match.go (what explains a message), judge.go (the search),
// window.go (the search in the past), follow.go (from messages to steps), anchor.go, anchor_leader.go and restart.go (where states come
// from), census.go (who the voters are).
//
// What is not judged: nodes of releases without a profile, quorums of one voter, voters
// that add or remove themselves, which snapshots there are, endpoints in answers, the pace of requests, the content of data records.
// What a node did by itself without any message that asks for it is looked for up to four steps back in the window.
package belief
