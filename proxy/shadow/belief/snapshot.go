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
