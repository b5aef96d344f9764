// Package compat holds what differs between Kafka releases, as data.
package compat

// Builds lists the raft builds of Apache Kafka 4.x that this program knows: releases within one entry
// have the same consensus code.
func Builds() [][]string {
	return [][]string{
		{"4.0.0"},
		{"4.0.1", "4.0.2"},
		{"4.1.0", "4.1.1", "4.1.2"},
		{"4.2.0", "4.2.1"},
		{"4.3.0", "4.3.1"},
		{"4.4.0"},
	}
}
