package recordings

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
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

// readIndex reads the index of a recording. It stops at the first entry that is damaged.
func readIndex(base string) (list []indexEntry) {
	b, err := os.ReadFile(indexName(base))
	if err != nil || !bytes.HasPrefix(b, []byte(indexMagic)) {
		return nil
	}
	for b = b[len(indexMagic):]; ; b = b[indexEntrySize:] {
		e, ok := parseIndexEntry(b)
		if !ok {
			return list
		}
		list = append(list, e)
	}
}

// scanIndex makes the index of a recording from its segments. Damaged parts have no entries.
func scanIndex(base string) (list []indexEntry, err error) {
	for _, name := range segmentsOf(base) {
		_, number, _ := segmentOf(name)
		more, err := scanSegment(name, number)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

func scanSegment(name string, number int) (list []indexEntry, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	z := newZstdFrames(f)
	block := uint64(1)
	for {
		offset := z.offset
		b, err := z.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errIncomplete) {
			return list, nil
		}
		if z.failed != nil {
			return nil, z.failed
		}
		if err != nil {
			if !z.skip() {
				return list, nil
			}
			continue
		}
		if info, ok := parseInfo(b); ok && !info.End && info.FirstBlock > 0 {
			block = info.FirstBlock
		}
		if blocks, at := countPackets(b); blocks > 0 {
			list = append(list, indexEntry{Segment: number, Offset: offset, Block: block, At: at})
			block += blocks
		}
	}
}

// countPackets counts the packet blocks of a chunk, and returns the instant of the first.
func countPackets(b []byte) (n uint64, at int64) {
	for len(b) >= 12 {
		size := int64(binary.LittleEndian.Uint32(b[4:]))
		if size < 12 || size > int64(len(b)) {
			break
		}
		if binary.LittleEndian.Uint32(b) == blockPacket && size >= 32 {
			if n == 0 {
				at = packetInstant(b)
			}
			n++
		}
		b = b[size:]
	}
	return n, at
}

// RebuildIndex writes the index of a recording anew from its segments.
func RebuildIndex(base string) error {
	list, err := scanIndex(base)
	if err != nil {
		return fmt.Errorf("index recording %s: %w", base, err)
	}
	b := []byte(indexMagic)
	for _, e := range list {
		b = e.append(b)
	}
	return os.WriteFile(indexName(base), b, 0o640)
}

// OpenAt reads a recording from the packet block with this number on. What the connections carried before is not
// read: they begin as if joined midway. The index saves looking for the place.
func OpenAt(base string, block uint64) (*Reader, error) {
	return openAt(base, func(e indexEntry) bool { return e.Block <= block },
		func(o *Observation) bool { return o.Number >= block })
}

// OpenSince is like [OpenAt], for the first observation at an instant (nanoseconds since the Unix epoch) or later.
func OpenSince(base string, at int64) (*Reader, error) {
	return openAt(base, func(e indexEntry) bool { return e.At < at },
		func(o *Observation) bool { return o.At.Seen >= at })
}

// openAt begins at the last chunk for which before holds, and passes over observations until reached holds.
func openAt(base string, before func(indexEntry) bool, reached func(*Observation) bool) (*Reader, error) {
	r, err := beginAt(base, readIndex(base), before)
	if errors.Is(err, errBadIndex) {
		var list []indexEntry
		if list, err = scanIndex(base); err == nil {
			r, err = beginAt(base, list, before)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open recording %s: %w", base, err)
	}
	r.reached = reached
	return r, nil
}

// errBadIndex marks an index that does not fit the recording.
var errBadIndex = errors.New("the index does not fit the recording")

func beginAt(base string, list []indexEntry, before func(indexEntry) bool) (*Reader, error) {
	if len(list) == 0 {
		return nil, errBadIndex
	}
	entry := list[0]
	for _, e := range list {
		if before(e) {
			entry = e
		}
	}
	names := segmentsOf(base)
	for len(names) > 0 {
		if _, number, _ := segmentOf(names[0]); number == entry.Segment {
			break
		}
		names = names[1:]
	}
	if len(names) == 0 {
		return nil, errBadIndex
	}
	r, err := Open(names...)
	if err != nil {
		return nil, err
	}
	if err := r.jump(entry); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// jump goes from the begin of a segment to one of its chunks.
func (r *Reader) jump(e indexEntry) error {
	if r.seg.zst == nil {
		return errBadIndex
	}
	head, err := r.seg.next() // the header, in a zstd frame of its own
	if err != nil {
		return err
	}
	info, ok := parseInfo(head)
	if !ok || info.Segment != e.Segment {
		return errBadIndex
	}
	r.info, r.known, r.counted, r.number = info, true, info.Segment, e.Block-1
	if e.Offset < r.seg.zst.offset {
		return errBadIndex
	}
	r.seg.zst.offset = e.Offset
	if err := r.seg.zst.restart(); err != nil {
		return errBadIndex
	}
	b, err := r.seg.next()
	if err != nil {
		return errBadIndex
	}
	if n, at := countPackets(b); n == 0 || at != e.At {
		return errBadIndex
	}
	r.buf, r.pos = b, 0
	return nil
}
