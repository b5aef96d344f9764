// Package e2e holds the tests of the whole program on real Kafka quorums: the built binary stands in front of real
// controllers, records, and judges, and what it says is compared with what Kafka's own logs say.
package e2e
