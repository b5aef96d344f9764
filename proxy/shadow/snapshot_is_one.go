package shadow

import "fmt"

// snapshotIsOne is M17. Snapshots of one id may differ between nodes (each writes its own), not on one node. Chunks
// are compared where they cover the same bytes.
type snapshotIsOne struct{}

var snapshotIsOneRule = Rule{
	ID: "M17", Name: "snapshot-is-one",
	Says:   "a node's snapshot of one id never changes, and a snapshot that a leader offers ends at or below its high watermark",
	Source: "KIP-630; Kafka KafkaRaftClient.handleFetchSnapshotRequest, RaftLog.createNewSnapshot",
	Why:    "a replica that copies it in parts gets a mixture, or holds for committed what is not",
}

func (snapshotIsOne) rule() *Rule { return &snapshotIsOneRule }
func (snapshotIsOne) hears() []Kind {
	return []Kind{KindFetchResponse, KindSnapshotResponse}
}

// chunkMemory holds the chunks of snapshots that a node served; the newest are kept.
type chunkMemory struct{ list []servedChunk }

type servedChunk struct {
	id       snapshotID
	position int64
	length   int
	size     int64
	digest   [32]byte
	hidden   bool // parts of it are not in the recording; their digests stand for them
	ref      ref
}

// chunksKept bounds the chunks that are remembered of a node.
const chunksKept = 256

func (snapshotIsOne) observe(c *Checker, m *message) {
	if m.failed || m.err != 0 {
		return
	}
	if m.kind == KindFetchResponse {
		offered(c, m)
		return
	}
	if m.ref.weak {
		return
	}
	s := &m.snapshot
	now := servedChunk{
		id: snapshotID{s.SnapshotEnd, s.SnapshotEpoch}, position: s.Position, length: len(s.Bytes), size: s.Size, ref: m.ref,
	}
	start := len(m.frame) - len(m.body) + s.BytesStart
	now.digest, now.hidden = m.withheld.digest(m.frame, start, start+len(s.Bytes))
	n := m.sender
	for i := range n.chunks.list {
		old := &n.chunks.list[i]
		if old.id != now.id {
			continue
		}
		if old.size != now.size {
			changed(c, m, old, fmt.Sprintf("it has %d bytes, before %d", now.size, old.size))
			return
		}
		if old.position == now.position && old.length == now.length {
			if old.hidden == now.hidden && old.digest != now.digest {
				changed(c, m, old, fmt.Sprintf("other bytes at position %d", now.position))
			}
			return
		}
	}
	if len(n.chunks.list) == chunksKept {
		n.chunks.list = append(n.chunks.list[:0], n.chunks.list[1:]...)
	}
	n.chunks.list = append(n.chunks.list, now)
}

func changed(c *Checker, m *message, old *servedChunk, how string) {
	text := fmt.Sprintf("the snapshot %d-%d of node %s changed: %s", old.id.end, old.id.epoch, m.sender.id, how)
	now := c.proof(m)
	f := c.found(&snapshotIsOneRule, m.sender.id, old.id.epoch, "bytes", text,
		c.evidence(&old.ref, fmt.Sprintf("%d bytes at %d of snapshot %d-%d", old.length, old.position, old.id.end, old.id.epoch)), c.evidence(&now, ""))
	m.sender.suspect(c, f, old.ref.order, m.ref.order)
}

// offered looks at a Fetch answer that sends a replica to a snapshot. The bootstrap snapshot, 0-0, is never offered.
func offered(c *Checker, m *message) {
	f := &m.fetched
	if f.SnapshotEpoch < 0 || f.SnapshotEnd < 0 {
		return
	}
	var text string
	switch {
	case f.SnapshotEnd == 0 && f.SnapshotEpoch == 0:
		text = fmt.Sprintf("leader %s offers the bootstrap snapshot", m.sender.id)
	case m.hasHW && m.watermark >= 0 && f.SnapshotEnd > m.watermark:
		text = fmt.Sprintf("leader %s offers a snapshot that ends at %d, with high watermark %d", m.sender.id, f.SnapshotEnd, m.watermark)
	default:
		return
	}
	now := c.proof(m)
	c.report(c.found(&snapshotIsOneRule, m.sender.id, m.epoch, "offer", text, c.evidence(&now, "")))
}
