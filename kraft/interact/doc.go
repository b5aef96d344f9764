// Package interact holds conversations between replicas: scripts that start nodes, let time pass, and deliver, lose or make up messages,
// written down together with everything that the nodes do. They are tests, and a way to learn KRaft by reading: testdata has one
// file for each rule.
//
//	go test ./kraft/interact -rewrite
//
// writes the outputs anew. The same scripts are held with the real KafkaRaftClient of each build that a file claims
// (compat/oracle, TestKafka_Golden): what is written must be what Kafka does.
//
// # Files
//
// A file opens with a comment: the rule, what to notice, KIP or JIRA, the Kafka classes. "# builds: 4.1.2 4.2.1" names the releases
// that it claims, all six builds if there is no such line; "# rule: auto-join" names the rules of compat.Rules whose two sides it
// shows. Lines that begin with "> " are commands. What follows up to the next command, comment or empty line is the output. Where builds
// differ, a line "-- 4.0.0 4.0.2" says whose the next lines are, and "-- all" that they are everybody's again.
//
// In the output, what stands in braces only the machine can tell (why a process ends, why a call is refused); of Kafka it is only
// known that it happens.
//
// # Commands
//
//	quorum n1 n2 n3 [static] [listeners=2] [option=…]  a new world at 1000 ms; static: kraft.version 0 with controller.quorum.voters
//	start n1 n2 [option=…]             options: see Setup.set; the first election timer draws 100 ms times the node id
//	restart n1 [lose-unflushed]        a new process on the same disk
//	draw n1 election=5,7 bootstrap=1   values for random draws to come; else they are the lowest possible ones
//	advance 500 [n1 … | all]           the clock moves; the named nodes get turns until nothing happens
//	turn n1                            one turn of Kafka's poll loop
//	run 500, pump 100, elect n1        time and network go on by themselves; at most 100 messages; until n1 leads
//	deliver [n1 n2 [API]] [once]       messages between two nodes ("*": any); once: one turn each, else turns until nothing happens
//	drop …, fail n1 n2 [API] disconnect|auth|unsupported, cut n1 [n2], heal
//	hold n1 n2 API                     such messages stay on their way until they are delivered by name
//	request n2 API field=value …       a made-up request; fields that are not given suit the receiver
//	respond n1 n2 [API] [once] [first] field=value …  a made-up answer to the last (first) request of n1 to n2
//	append n1 3 [hold] [epoch=2], schedule n1, resign n1, shutdown n1, upgrade n1 1, snapshot n1 5@1 size=300, clean n1 5@1
//	show n1 [timers all-timers tally stored voters progress connections epochs snapshots parked successors endpoints
//	         wait]
//	net                                what is on its way
//	set more | less | draws            messages with all their words; random draws
//
// "quietly" before a command leaves its output out.
package interact
