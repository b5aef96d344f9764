// Package wire reads and writes what Kafka controllers send each other: frames, headers, one file for
// each api key (52_vote.go), record batches, control records and metadata records.
//
// Bytes come in as chunks of a TCP stream. A [Splitter] cuts them into frames, [ParseRequestHeader] and
// [ParseResponseHeader] read the headers, and a [Pairer] joins each response with its request:
//
//	s.Push(chunk)
//	for frame, ok, err := s.Next(); ok && err == nil; frame, ok, err = s.Next() {
//		x, err := pairer.Response(frame.Bytes, at)
//		…
//		text = decoder.AppendResponseLine(text[:0], x.Header.Key, x.Header.Version, x.Response)
//		pairer.Release(x)
//	}
//
// There are three ways into a body, for three needs:
//
//   - [FetchRequest], [FetchResponse] and [FetchSnapshotResponse] are read in place without allocation. A quorum says
//     little else.
//   - A [Decoder] decodes any message with kmsg, within bounds of memory, for those who decide by it. It also
//     prints each message on one line.
//   - A walk along the layouts in message_table_gen.go and metadata_table_gen.go, made from Kafka's own definitions,
//     prints JSON with Kafka's field names ([AppendRequestJSON]) and finds bytes that Kafka would not have written
//     ([Canonical]).
//
// What comes from the wire is not trusted: no input panics, and memory is bounded by what has arrived. Names,
// words and defaults are Kafka's. Credentials, and fields that may hold them, are never printed unless asked for.
package wire
