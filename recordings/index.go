package recordings

import (
	"encoding/binary"
	"hash/crc32"
	"os"
)

// The index of a recording is a shortcut: it names the zstd frames of its segments with the first packet block
// and instant of each. It can be deleted, and is not believed where it does not fit the segments.
//
// Layout: indexMagic, then entries of indexEntrySize bytes, little-endian, each with a CRC-32C of its own.

const (
	indexMagic     = "USIDX\x00\x00\x01"
	indexEntrySize = 32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func indexName(base string) string { return base + ".idx" }

// indexEntry is one zstd frame.
type indexEntry struct {
	Segment int    // from 1
	Offset  int64  // of the zstd frame in the segment
	Block   uint64 // number of its first packet block
	At      int64  // instant of its first observation
}

func (e indexEntry) append(b []byte) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Segment))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Offset))
	b = binary.LittleEndian.AppendUint64(b, e.Block)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.At))
	binary.LittleEndian.PutUint32(b[at:], crc32.Checksum(b[at+4:], castagnoli))
	return b
}

func parseIndexEntry(b []byte) (e indexEntry, ok bool) {
	if len(b) < indexEntrySize || crc32.Checksum(b[4:indexEntrySize], castagnoli) != binary.LittleEndian.Uint32(b) {
		return e, false
	}
	return indexEntry{
		Segment: int(binary.LittleEndian.Uint32(b[4:])),
		Offset:  int64(binary.LittleEndian.Uint64(b[8:])),
		Block:   binary.LittleEndian.Uint64(b[16:]),
		At:      int64(binary.LittleEndian.Uint64(b[24:])),
	}, true
}

// indexWriter appends to an index. A nil one does nothing. When it cannot write it stops: nothing depends on it.
type indexWriter struct {
	file *os.File
	buf  []byte
}

func newIndexWriter(name string) *indexWriter {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return nil
	}
	if _, err := f.WriteString(indexMagic); err != nil {
		_ = f.Close()
		return nil
	}
	return &indexWriter{file: f}
}

func (w *indexWriter) add(e indexEntry) {
	if w == nil || w.file == nil {
		return
	}
	w.buf = e.append(w.buf[:0])
	if _, err := w.file.Write(w.buf); err != nil {
		_ = w.file.Close()
		w.file = nil
	}
}

func (w *indexWriter) close() error {
	if w == nil || w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}
