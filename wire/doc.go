// Package wire reads and writes what Kafka controllers send each other: frames, headers, one file for
// each api key (52_vote.go), record batches and control records.
//
// Bytes come in as chunks of a TCP stream. A [Splitter] cuts them into frames, [ParseRequestHeader] and
// [ParseResponseHeader] read the headers, and a [Pairer] joins each response with its request.
// Bodies are decoded by kmsg.
package wire
