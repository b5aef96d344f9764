// Package recordings keeps what crossed between controllers, and reads it again. Everything that produces or
// consumes traffic speaks [Observation]: the tap of the proxy, the reader of recordings, the import of captures, the checker.
//
//	w, err := recordings.Create("run", recordings.Options{})  // run-000001.pcapng.zst, run.idx
//	err = w.Write(&observation)
//	err = w.Close()
//
//	in, err := recordings.OpenAny(os.Stdin, "run", "other.pcap.gz", "-")
//	for in.Next(&observation) == nil {
//		…
//	}
//
// # The file
//
// A recording is made of segments NAME-000001.pcapng.zst and so on. Each is a pcapng file that Wireshark opens, in
// zstd frames that stand for themselves:
//
//   - The first frame holds the section header: which program recorded what and how ([Info], as JSON in a
//     custom option) and the interfaces known so far, one for each endpoint.
//   - A chunk is a frame of at most 64 KiB or 100 ms. It holds one packet block for each Kafka frame, with IP and TCP headers
//     that are made up; a comment for people and a custom option for machines (meta.go) hang on the block.
//     The machine fields describe a connection where it first occurs in a chunk, so that a reader may begin at any chunk.
//   - The last frame holds a section header that says that the segment ends, and whether another one follows.
//
// So a file that is cut anywhere reads to its last whole chunk, and a damaged chunk costs only what it holds: the reader
// goes on behind it and reports [Damage], and gaps of the connections that were open tell whoever judges. NAME.idx
// says where chunks begin. It can be deleted.
//
// # What it takes to write one
//
// Write appends to a chunk in memory; a full chunk is compressed and written with one call. When that fails, the chunk is lost and
// counted by connection, and what is written first when it works again are gaps, with a header that declares anew
// what a reader may have missed. Nothing is ever half there: a failed write is cut off, or overwritten by the next.
//
// # What is withheld
//
// Unless Options.IncludeRecords says otherwise, credentials, configuration and the metadata log's records are not kept
// (redact.go). Sizes, headers, control records, checksums and digests are, so that judging needs no more.
//
// # Captures
//
// [Capture] reads what tcpdump, dumpcap and Wireshark write. Packets in order take a short way; those that were lost,
// repeated or overtaken are put together as the receiver's TCP did. A connection joined midway is read from the
// first request that begins in the capture.
package recordings
