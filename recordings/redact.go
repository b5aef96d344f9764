package recordings

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/understudy-kafka/understudy/wire"
)

// What a redacted recording withholds, and how:
//
//   - The bodies of all keys but those listed in harmless. Zeros are in their place, which every schema reads as
//     empty arrays. There is no digest: a credential could be guessed with one.
//   - In Fetch answers the records of data batches; the 61 bytes of header stay, and control batches stay
//     whole. In their place is a sequence of as many empty records.
//   - The chunks of snapshots, but for the same parts of the first one.
//   - Responses whose request is not known, and the frames of a SASL exchange without headers (SaslHandshake v0).

// harmless lists the keys whose bodies hold neither credentials nor configuration nor records. A key that is not
// known may hold anything.
var harmless = func() (keys [128]bool) {
	for _, key := range []int16{
		2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, // ListOffsets, Metadata, groups
		wire.KeySaslHandshake, wire.KeyAPIVersions,
		20, 21, 22, 23, 24, 25, 26, 27, 28, // DeleteTopics, DeleteRecords, transactions
		29, 30, 31, // ACLs: who may do what
		34, 35, 37, // log directories, CreatePartitions
		42, 43, 45, 46, 47, 48, 49, 50, // DeleteGroups to DescribeUserScramCredentials (mechanism and iterations)
		wire.KeyVote, wire.KeyBeginQuorumEpoch, wire.KeyEndQuorumEpoch, wire.KeyDescribeQuorum,
		56, wire.KeyUpdateFeatures, wire.KeyDescribeCluster, 61,
		wire.KeyBrokerRegistration, wire.KeyBrokerHeartbeat, wire.KeyUnregisterBroker,
		65, 66, 67, 68, 69, wire.KeyControllerRegistration, 71, 73, 74, 75,
		wire.KeyAddRaftVoter, wire.KeyRemoveRaftVoter, wire.KeyUpdateRaftVoter, wire.KeyUnregisterController,
	} {
		keys[key] = true
	}
	return keys
}()

// redactor withholds secrets from frames. It has one owner.
type redactor struct {
	fetch    wire.FetchResponse
	snapshot wire.FetchSnapshotResponse
}

// request withholds what it must of a request, in place.
func (r *redactor) request(list []Withheld, frame []byte, h *wire.RequestHeader, body []byte) []Withheld {
	if h.Key == wire.KeyFetch || h.Key == wire.KeyFetchSnapshot || h.Key >= 0 && int(h.Key) < len(harmless) && harmless[h.Key] {
		return list
	}
	return withholdSecret(list, frame, len(frame)-len(body))
}

// response does the same with the response to a request of this key and version.
func (r *redactor) response(list []Withheld, frame []byte, key, version int16) []Withheld {
	_, body, err := wire.ParseResponseHeader(frame, key, version)
	if err != nil {
		return withholdSecret(list, frame, min(4, len(frame)))
	}
	start := len(frame) - len(body)
	switch {
	case key == wire.KeyFetch:
		if r.fetch.Parse(version, body) != nil {
			return withholdSecret(list, frame, start)
		}
		return withholdRecords(list, frame, start+r.fetch.RecordsStart, len(r.fetch.Records))
	case key == wire.KeyFetchSnapshot:
		if r.snapshot.Parse(version, body) != nil {
			return withholdSecret(list, frame, start)
		}
		at, n := start+r.snapshot.BytesStart, len(r.snapshot.Bytes)
		if r.snapshot.Position == 0 {
			return withholdRecords(list, frame, at, n)
		}
		return withholdDigest(list, frame, at, at+n, false)
	case key == wire.KeySaslAuthenticate:
		return withholdSecret(list, frame, min(start+2, len(frame))) // the error code stays
	case key >= 0 && int(key) < len(harmless) && harmless[key]:
		return list
	}
	return withholdSecret(list, frame, start)
}

// withholdSecret blanks a frame from start on.
func withholdSecret(list []Withheld, frame []byte, start int) []Withheld {
	if start == len(frame) {
		return list
	}
	clear(frame[start:])
	return append(list, Withheld{Start: start, End: len(frame)})
}

// withholdDigest blanks a part of a frame and keeps its digest.
func withholdDigest(list []Withheld, frame []byte, start, end int, crcValid bool) []Withheld {
	if start == end {
		return list
	}
	list = append(list, Withheld{Start: start, End: end, SHA256: sha256.Sum256(frame[start:end]), CRCValid: crcValid})
	clear(frame[start:end])
	return list
}

// withholdRecords replaces the records of data batches among the n bytes at start.
func withholdRecords(list []Withheld, frame []byte, start, n int) []Withheld {
	b := frame[start : start+n]
	for len(b) > 0 {
		at := start + n - len(b)
		batch, rest, err := wire.NextBatch(b)
		switch {
		case err == nil && batch.Control():
		case err == nil:
			end := at + len(batch.Bytes)
			list = withholdDigest(list, frame, at+wire.BatchOverhead, end, batch.CRCValid())
			if batch.Attributes&wire.AttrCompression == 0 {
				fillRecords(frame[at+wire.BatchOverhead:end], int(batch.Count))
			}
		case errors.Is(err, wire.ErrCut) && (len(b) <= wire.BatchOverhead || batch.Control()):
			return list // the header, or a part of it, of a batch that is cut off
		case errors.Is(err, wire.ErrCut):
			return withholdDigest(list, frame, at+wire.BatchOverhead, start+n, false)
		default:
			return withholdDigest(list, frame, at, start+n, false)
		}
		b = rest
	}
	return list
}

// emptyRecord is the size of a record without key, value and headers whose offset delta takes one byte, its length
// field included.
const emptyRecord = 7

// fillRecords overwrites b with count records that take exactly its space: all are empty but the last, whose value is
// zeros. Where count records do not fit, b stays as it is.
func fillRecords(b []byte, count int) {
	if count <= 0 || len(b) < emptyRecord*count {
		return
	}
	rest := b
	for i := range count - 1 {
		n := emptyRecord + varintSize(int64(i)) - 1
		if n > len(rest) {
			clear(b)
			return
		}
		putRecord(rest[:n], i, 1, -1)
		rest = rest[n:]
	}
	// The size of the last one jumps where a length field grows by a byte. A longer timestamp delta fills what is left.
	for timestamp := 1; timestamp <= 3; timestamp++ {
		value := len(rest) - (5 + timestamp + varintSize(int64(count-1))) // or less: the length fields may be longer
		for ; value >= 0 && value > len(rest)-32; value-- {
			if recordSize(count-1, timestamp, value) == len(rest) {
				putRecord(rest, count-1, timestamp, value)
				return
			}
		}
	}
	if recordSize(count-1, 1, -1) == len(rest) {
		putRecord(rest, count-1, 1, -1)
		return
	}
	clear(b)
}

// recordSize is what putRecord writes.
func recordSize(delta, timestamp, value int) int {
	body := 4 + timestamp + varintSize(int64(delta)) - 1 + varintSize(int64(value)) + max(value, 0)
	return body + varintSize(int64(body))
}

// putRecord writes a record with a timestamp delta of so many bytes and a value of value zeros (-1: null).
func putRecord(b []byte, delta, timestamp, value int) {
	body := 4 + timestamp + varintSize(int64(delta)) - 1 + varintSize(int64(value)) + max(value, 0)
	w := binary.AppendVarint(b[:0], int64(body))
	w = append(w, 0)                                                  // attributes
	w = binary.AppendVarint(w, [...]int64{0, 0, 64, 8192}[timestamp]) // the least of that size
	w = binary.AppendVarint(w, int64(delta))                          // offset
	w = append(w, 1)                                                  // no key
	w = binary.AppendVarint(w, int64(value))                          // then zeros
	clear(b[len(w) : len(w)+max(value, 0)])
	b[len(b)-1] = 0 // no headers
}

// varintSize is the size of a zigzag varint.
func varintSize(v int64) int {
	n := 1
	for u := uint64(v)<<1 ^ uint64(v>>63); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}
