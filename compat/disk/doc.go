// Package disk holds the tests of Kafka's files against Kafka: directories that each release made are read, dumped and written again,
// and Kafka starts on directories that kraft/storage made.
package disk
