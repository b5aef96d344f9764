// Package oracle steps the real org.apache.kafka.raft.KafkaRaftClient of a Kafka release, turn by turn.
//
// A Java harness (java/, compiled against the release's jars when a test asks for it) holds any number of clients in
// one process. Time, random draws, storage, network and scheduling belong to this side: a [Command] says what
// happens to one node, the [Answer] tells what it did, in order, and on request all it knows.
//
//	o, err := oracle.Start(ctx, oracle.Build{Version: "4.4.0"})
//	a, err := o.Do(oracle.Command{Cmd: "init", Node: "n1", …})
//	a, err = o.Do(oracle.Command{Cmd: "request", Node: "n1", Now: 1200, API: 52, Version: 2, Body: vote, Poll: 1, State: true})
//
// A turn is one call of KafkaRaftClient.poll. Random schedules use single turns ("one message, one turn"), scripts may
// settle. The protocol is one JSON object a line each way; what [Oracle.Record] keeps can be fed to the harness without
// Go: java -cp … org.apache.kafka.raft.OracleMain < session.jsonl.
//
// Package twin puts a machine of package kraft beside each client, package walk draws random histories, package beside plays
// them:
//
//	make oracle BUILD=4.4.0 STEPS=50000 SEED=7
//	make oracle KAFKA_LIBS=/path/to/kafka/libs RULES=4.4.0
//	make soak-oracle LEDGER=DIR
//
// A walk that finds a difference shows both sides, makes its schedule smaller and saves it. The second line steps a local build of
// Kafka and tells which decisions it makes otherwise than the named release.
//
// Long runs send commands ahead: a random draw follows from seed, time and bounds, so the machine's outcome tells what
// Kafka must answer, and the answer is compared when it comes.
//
// The same commands give byte-identical answers in every run: consecutive sends are ordered by destination, and
// the ids in a LeaderChange record are sorted, since Kafka takes them from sets that are salted per process.
package oracle
