package belief

import (
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// download is a snapshot that a node fetches, as far as its chunks were seen.
type download struct {
	id    kraft.SnapshotID
	bytes []byte
}

// maxDownload bounds the bytes of a snapshot that are kept. Nothing is known of the contents of a larger one.
const maxDownload = 8 << 20

// chunk keeps a chunk of a snapshot. The one that completes it carries the contents, as the driver of a machine would read them from
// its disk; if not all bytes were seen, it is opaque.
func (c *Checker) chunk(x *crossing, m *Message) {
	e, ok := x.event.(*kraft.ReceiveFetchSnapshotResponse)
	if !ok || e.Bytes <= 0 {
		return
	}
	last := e.Position+int64(e.Bytes) >= e.Size
	var f wire.FetchSnapshotResponse
	known := !m.Withheld && e.Size <= maxDownload && f.Parse(m.Version, m.Got) == nil && len(c.downloads) < maxNodes
	d := c.downloads[x.to]
	if e.Position == 0 {
		d = &download{id: e.SnapshotID}
	}
	known = known && d != nil && d.id == e.SnapshotID && e.Position <= int64(len(d.bytes))
	if !known {
		delete(c.downloads, x.to)
		x.opaque = last
		return
	}
	d.bytes = append(d.bytes[:e.Position], f.Bytes...)
	if c.downloads[x.to] = d; !last {
		return
	}
	delete(c.downloads, x.to)
	var err error
	if e.Contents, err = wire.SnapshotContents(d.bytes); err != nil {
		x.opaque = true
	}
}

// loads reports whether a request shows that the node was in the middle of a snapshot when judging began: where it would have asked for
// records it asks for the rest of it.
func (h *hypothesis) loads(s *sentSlot, x *crossing) bool {
	if !h.loading || x.key != wire.KeyFetchSnapshot || !h.fetches(s) || s.said.epoch != x.said.epoch {
		return false
	}
	return s.record == x.to || x.to == kraft.NoNode
}

// fetches reports whether a request is what a follower has asked its leader for.
func (h *hypothesis) fetches(s *sentSlot) bool {
	f, ok := h.m.Role().(*kraft.Follower)
	return ok && s.key == wire.KeyFetch && !s.discovers && s.record == f.Leader && s.said.epoch == h.m.QuorumState().Epoch
}

// load makes the node one that was in the middle of a snapshot all the time.
func (h *hypothesis) load(x *crossing) {
	f := h.m.Role().(*kraft.Follower)
	f.Fetching, f.FetchingSnapshot, f.FetchedBytes = true, x.said.snapshot, x.said.position
	h.loading = false
	for i := range h.sent {
		if s := &h.sent[i]; h.fetches(s) {
			s.key, s.said.snapshot, s.said.position = wire.KeyFetchSnapshot, x.said.snapshot, x.said.position
		}
	}
}
