// Package recordings keeps what crossed between controllers: a recording is a pcapng file in independent
// zstd frames that Wireshark opens, with one packet block for each Kafka frame. The package also imports pcap and
// pcapng captures. Whatever the origin, the result is a stream of [Observation].
package recordings
