// Package proxy stands in front of Kafka controllers: one listener for each upstream node, every byte passed on
// unchanged, and the same bytes handed to a recorder and a checker that can never hold it up.
//
// # The way of a byte
//
// One goroutine, the loop, owns every relayed socket. It waits with epoll, reads a chunk, writes it on at once, and
// only then puts it into the tap with the two instants. The tap is a ring of bytes with one writer and one reader and
// no lock: where the reader is behind and the ring is full, the bytes of that connection and direction are counted and
// left out up to the next frame boundary. That is a gap, never a wait.
//
// A second goroutine, the recorder, empties the ring every few milliseconds, cuts frames and gives them, as
// recordings.Observation, to its sinks: the recording, and the pipe to the checker, which is a child process.
//
// # What it promises
//
//   - Bytes are forwarded in order, unchanged, none invented, skipped or repeated. On any error the connection is closed,
//     because some Java peers exit when an answer does not fit.
//   - A slow peer holds its sender back as TCP would: at most one chunk waits in each direction.
//   - A half-close is passed on as a half-close and a reset as a reset.
//   - An upstream that is down: the client's connection is accepted and closed.
//
// Only a connection that a fault rule can concern is gated: its frames are held until they are complete and the rules
// have been asked. Everything that a rule did is recorded, with the bytes as sent and as delivered.
package proxy
