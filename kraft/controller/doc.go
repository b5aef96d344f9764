// Package controller runs the machine of package kraft as a member of a real quorum: on a real clock, real files and real sockets, beside
// Apache Kafka's controllers.
//
// One goroutine owns the machine, its timers and its log (loop.go). All else talks to it by messages:
//
//	peer -> socket -> serve.go -> loop.inbox -> kraft.Turn -> execute.go -> reply.go -> serve.go -> socket -> peer
//	                                                       -> send.go  -> peer.go -> conn.go -> socket -> peer
//
// A request is read, decoded and turned into an event by the goroutine of its connection, which then waits for the reply: so a connection
// has one request in hand, and replies leave in order, as in Kafka. A peer has one goroutine and one connection, with one request in
// flight. What it brings back, or that it brings nothing back, is again a message.
//
// The actions of an event are executed in their order by the owner. A reply or a request that stands behind a barrier (PersistQuorumState,
// AssignEpoch, FlushLog) leaves only when that is durable, since the owner waits for the disk. Appends that arrive while it does so
// become one batch with one sync.
//
// The package speaks the raft layer only. Requests of other kinds go to a [Handler]; TLS and SASL wrap the connections behind [Dialer] and
// [Listener].
package controller
