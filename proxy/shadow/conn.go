package shadow

import (
	"bytes"
	"crypto/sha256"
	"net/netip"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// connKey tells connections apart.
type connKey struct {
	stream int
	id     uint64
}

// conn is what is known of one connection. The monitors that compare frames of one connection keep their memory here, so
// that it ends with it.
type conn struct {
	key    connKey
	ep     *endpoint
	from   netip.AddrPort
	client *node // who opened it, by its client id; nil if it is no raft client
	pairer wire.Pairer
	open   []openRequest

	midway  bool // what went before is not known
	holes   bool // frames are missing: an answer may belong to a request that was not seen
	torn    bool // a frame broke off, and nothing came after it so far
	tornBy  string
	raw     bool // it carries something else than Kafka frames, or what cannot be read
	decoded bool // at least one exchange of it made sense

	firstRequest, lastRequest   uint64 // orders of frames; 0: none
	firstResponse, lastResponse uint64

	versions *offer // what the server offers, once it has said so

	joined [2]*node // the nodes that count this connection as a sign of life, by wire.Direction

	raft *raftMemory // nil unless a raft client's request came
}

// raftMemory is what monitors remember of the requests of one connection.
type raftMemory struct {
	fifo     fifoMemory
	held     heldMemory
	fetches  fetchMemory
	identity identityMemory
	attested [2]attested // by the direction of what either end sends
}

// openRequest is a request that has no answer yet.
type openRequest struct {
	exchange *wire.Exchange
	order    uint64
	at       int64 // when it came by: nothing the server decided about it is older
	ref      ref
}

// takeOpen removes an exchange from the open requests and returns it with its position.
func (k *conn) takeOpen(x *wire.Exchange) (openRequest, int, bool) {
	for i := range k.open {
		if k.open[i].exchange == x {
			r := k.open[i]
			k.open = append(k.open[:i], k.open[i+1:]...)
			return r, i, true
		}
	}
	return openRequest{}, 0, false
}

// alive says from which to which observation the process of node n at an end of this connection surely lived.
func (k *conn) alive(n *node) (first, last uint64) {
	if k.client == n {
		return k.firstRequest, k.lastRequest
	}
	return k.firstResponse, k.lastResponse
}

var raftClient = []byte("raft-client-")

// raftClientID reads the node id out of a raft client's client id (Kafka: KafkaRaftManager, "raft-client-" + nodeId).
func raftClientID(clientID []byte) (kraft.NodeID, bool) {
	digits, ok := bytes.CutPrefix(clientID, raftClient)
	if !ok || len(digits) == 0 || len(digits) > 10 {
		return kraft.NoNode, false
	}
	id := int64(0)
	for _, d := range digits {
		if d < '0' || d > '9' {
			return kraft.NoNode, false
		}
		id = id*10 + int64(d-'0')
	}
	if id > 1<<31-1 {
		return kraft.NoNode, false
	}
	return kraft.NodeID(id), true
}

// withheldParts are the stretches of a frame that the recording does not keep.
type withheldParts []recordings.Withheld

// covering returns the withheld stretch that overlaps [start, end) of the frame.
func (w withheldParts) covering(start, end int) (*recordings.Withheld, bool) {
	for i := range w {
		if w[i].Start < end && start < w[i].End {
			return &w[i], true
		}
	}
	return nil, false
}

// digest tells contents of frame[start:end] apart, of which stretches may be withheld: a digest stands for each of them.
func (w withheldParts) digest(frame []byte, start, end int) (sum [32]byte, hidden bool) {
	h := sha256.New()
	for i := range w {
		if w[i].Start < start || w[i].End > end {
			continue
		}
		h.Write(frame[start:w[i].Start])
		h.Write(w[i].SHA256[:])
		start, hidden = w[i].End, true
	}
	h.Write(frame[start:end])
	return [32]byte(h.Sum(nil)), hidden
}
