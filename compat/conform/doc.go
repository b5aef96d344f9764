// Package conform is an active conformance suite for KRaft: it speaks to a controller's listener and says, case by
// case, which rule of Kafka's the node keeps and which it breaks.
//
// A Case is data: what to ask, as edits to a harmless request of the api, and what the answer must be, as assertions
// about its fields. Both use Kafka's names and refer to what is known of the target by $names:
//
//	{ID: "fenced-epoch", Ask: "p.replicaEpoch=$epoch-1", Want: "errorCode=NONE p.errorCode=FENCED_LEADER_EPOCH p.voteGranted=false"}
//
// A case runs once for each version of the api that the target's release serves, as "vote/v2/fenced-epoch".
//
// Run asks only what a conforming node refuses or answers without a change of state, so it may be pointed at a live
// quorum. RunOwn plays the other voters of a quorum made for the purpose, and drives the target through roles.
//
// A Scenario of RunOwn is the same in code, for rules that show in a conversation of several nodes. Each starts in a new
// epoch in which nobody leads and the target has not voted; the suite's voters refuse what the scenario does not grant.
//
// Every assertion can fail: the tests alter each asserted field of a real node's answer and expect the case to notice.
package conform
