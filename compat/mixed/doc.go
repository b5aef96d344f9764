// Package mixed holds the tests of quorums in which nodes of this project (`understudy join`) and Apache Kafka's controllers are voters
// together: the built binary, real Kafka, and the proxy in front of all of them as a witness that judges everyone.
package mixed
