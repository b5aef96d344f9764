package recordings

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/understudy-kafka/understudy/wire"
)

// What a redacted recording withholds, and how:
//
//   - The fields of SaslAuthenticate, IncrementalAlterConfigs, AlterUserScramCredentials and Envelope that hold
//     credentials or configuration. Zeros are in their place. There is no digest: a password could be guessed with one.
//   - The bodies of all other keys but those listed in harmless, in the same way, as a whole.
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
	parts    []wire.Part
}

// request withholds what it must of a request, in place. The body of the request begins at start.
func (r *redactor) request(list []Withheld, frame []byte, key, version int16, start int) []Withheld {
	switch {
	case key == wire.KeyFetch, key == wire.KeyFetchSnapshot, key >= 0 && int(key) < len(harmless) && harmless[key]:
		return list
	case key == wire.KeyEnvelope:
		return r.envelope(list, frame, version, start)
	}
	return r.fields(list, frame, key, version, wire.Request, start)
}

// response does the same with the response to a request of this key and version.
func (r *redactor) response(list []Withheld, frame []byte, key, version int16) []Withheld {
	_, body, err := wire.ParseResponseHeader(frame, key, version)
	if err != nil {
		return withholdSecret(list, frame, min(4, len(frame)), len(frame))
	}
	start := len(frame) - len(body)
	switch {
	case key == wire.KeyFetch:
		if r.fetch.Parse(version, body) != nil {
			return withholdSecret(list, frame, start, len(frame))
		}
		return withholdRecords(list, frame, start+r.fetch.RecordsStart, len(r.fetch.Records))
	case key == wire.KeyFetchSnapshot:
		if r.snapshot.Parse(version, body) != nil {
			return withholdSecret(list, frame, start, len(frame))
		}
		at, n := start+r.snapshot.BytesStart, len(r.snapshot.Bytes)
		if r.snapshot.Position == 0 {
			return withholdRecords(list, frame, at, n)
		}
		return withholdDigest(list, frame, at, at+n, false)
	case key >= 0 && int(key) < len(harmless) && harmless[key]:
		return list
	}
	return r.fields(list, frame, key, version, wire.Response, start)
}

// fields withholds the secret fields of a body; all of it where its layout is not known.
func (r *redactor) fields(list []Withheld, frame []byte, key, version int16, dir wire.Direction, start int) []Withheld {
	var ok bool
	if r.parts, ok = wire.SecretParts(r.parts[:0], key, version, dir, frame[start:]); !ok {
		return withholdSecret(list, frame, start, len(frame))
	}
	for _, p := range r.parts {
		list = withholdSecret(list, frame, start+p.Start, start+p.End)
	}
	return list
}

// envelope withholds what it must of the request that a broker forwards. The header of that stays, and the parts
// of its body that may stay in a request of its own.
func (r *redactor) envelope(list []Withheld, frame []byte, version int16, start int) []Withheld {
	parts, ok := wire.SecretParts(r.parts[:0], wire.KeyEnvelope, version, wire.Request, frame[start:])
	r.parts = parts
	// The first part is the request inside, unless that is empty; others are what Kafka does not define.
	length, n := binary.Uvarint(frame[start:])
	if !ok || len(parts) == 0 || parts[0] != (wire.Part{Start: n, End: n + int(length) - 1}) {
		return withholdSecret(list, frame, start, len(frame))
	}
	inside := frame[: start+parts[0].End : start+parts[0].End]
	var behind []Withheld
	for _, p := range parts[1:] {
		behind = withholdSecret(behind, frame, start+p.Start, start+p.End)
	}
	h, body, err := wire.ParseRequestHeader(inside[start+parts[0].Start:])
	switch {
	case err != nil:
		list = withholdSecret(list, frame, start+parts[0].Start, len(inside))
	case h.Key == wire.KeyEnvelope: // Kafka refuses it
		list = withholdSecret(list, frame, len(inside)-len(body), len(inside))
	default:
		list = r.request(list, inside, h.Key, h.Version, len(inside)-len(body))
	}
	return append(list, behind...)
}

// withholdSecret blanks a part of a frame.
func withholdSecret(list []Withheld, frame []byte, start, end int) []Withheld {
	if start == end {
		return list
	}
	clear(frame[start:end])
	return append(list, Withheld{Start: start, End: end})
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
