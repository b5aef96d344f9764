package recordings

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// format is what a file is, by its first bytes.
type format uint8

const (
	formatUnknown format = iota
	formatPcap
	formatPcapng
	formatGzip
	formatZstd
)

// formatOf looks at the first four bytes of a file.
func formatOf(head []byte) format {
	if len(head) < 4 {
		return formatUnknown
	}
	switch magic := binary.LittleEndian.Uint32(head); magic {
	case magicMicros, magicNanos, magicMicrosSwapped, magicNanosSwapped:
		return formatPcap
	case blockSection:
		return formatPcapng
	case 0xFD2FB528:
		return formatZstd
	default:
		if magic&^0xF == 0x184D2A50 { // a skippable frame
			return formatZstd
		}
		if magic&0xFFFF == 0x8B1F {
			return formatGzip
		}
		return formatUnknown
	}
}

// Input is a source of any kind, made of one or more files.
type Input struct {
	Source
	parts []part
	read  atomic.Int64
	total int64
}

// part is one recording or capture.
type part interface {
	Source
	Damage() []*Damage
	Close() error
}

// Damage lists what could not be read so far.
func (in *Input) Damage() (list []*Damage) {
	for _, p := range in.parts {
		list = append(list, p.Damage()...)
	}
	return list
}

// Progress tells how many bytes of the files were read so far, and how many there are (0 if unknown). It may be
// called by others than the reader.
func (in *Input) Progress() (read, total int64) { return in.read.Load(), in.total }

// Close closes the files.
func (in *Input) Close() error {
	var errs []error
	for _, p := range in.parts {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// OpenAny opens recordings and captures by content: recordings (by base name or by segments), pcap, pcapng, any of them
// compressed with gzip or zstd, and "-" for stdin. Segments of one recording that follow each other are one stream;
// different recordings and captures are merged by time.
func OpenAny(stdin io.Reader, paths ...string) (*Input, error) {
	in := &Input{}
	var groups [][]string
	last := ""
	for _, path := range paths {
		names := []string{path}
		if path != "-" {
			var err error
			if names, err = expand(path); err != nil {
				return nil, err
			}
		}
		for _, name := range names {
			base, _, ok := segmentOf(filepath.Clean(name))
			if ok && base == last {
				groups[len(groups)-1] = append(groups[len(groups)-1], name)
				continue
			}
			groups, last = append(groups, []string{name}), base
		}
	}
	if len(groups) == 0 {
		return nil, errors.New("no file named")
	}
	sources := make([]Source, 0, len(groups))
	for _, names := range groups {
		p, err := in.open(stdin, names)
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		in.parts = append(in.parts, p)
		sources = append(sources, p)
	}
	in.Source = sources[0]
	if len(sources) > 1 {
		in.Source = Merge(sources...)
	}
	return in, nil
}

// open opens the segments of one recording, or one file of any kind.
func (in *Input) open(stdin io.Reader, names []string) (part, error) {
	open := func(name string) (io.ReadCloser, error) {
		if name == "-" {
			return &countedFile{in: stdin, count: &in.read}, nil
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		return &countedFile{in: f, file: f, count: &in.read}, nil
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			in.total += info.Size()
		}
	}
	f, err := open(names[0])
	if err != nil {
		return nil, err
	}
	name := names[0]
	if name == "-" {
		name = "stdin"
	}
	seg, capture, err := openContent(f, name)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if capture != nil {
		return capture, nil
	}
	return newReader(&segmentList{names: names[1:], open: open}, seg), nil
}

// countedFile counts what is read of a file.
type countedFile struct {
	in    io.Reader
	file  *os.File // nil: in is not a file of ours
	count *atomic.Int64
}

func (f *countedFile) Read(b []byte) (int, error) {
	n, err := f.in.Read(b)
	f.count.Add(int64(n))
	return n, err
}

// Seek moves in the file, if it is one.
func (f *countedFile) Seek(offset int64, whence int) (int64, error) {
	if f.file == nil {
		return 0, errors.ErrUnsupported
	}
	return f.file.Seek(offset, whence)
}

// Close closes the file.
func (f *countedFile) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// openedCapture closes its file.
type openedCapture struct {
	*Capture
	close func() error
}

func (c *openedCapture) Close() error { return c.close() }

// maxWindow bounds the memory that decompressing a zstd file takes: zstd --ultra --long=27.
const maxWindow = 128 << 20

// openContent finds out by its content what a file is: a segment of a recording or a capture.
func openContent(f io.ReadCloser, name string) (*segment, *openedCapture, error) {
	raw := bufio.NewReaderSize(f, readAhead)
	head, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("read %s: %w", name, err)
	}
	plain, done := io.Reader(raw), f.Close
	switch formatOf(head) {
	case formatGzip:
		if plain, err = gzip.NewReader(raw); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	case formatZstd:
		if beginsRecording(raw) {
			return newFrameSegment(f, raw, name), nil, nil
		}
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		plain = z
		done = func() error {
			z.Close()
			return f.Close()
		}
	case formatPcap, formatPcapng, formatUnknown:
	}
	buffered := bufio.NewReaderSize(plain, readAhead)
	if isRecording(buffered) {
		return newPlainSegment(buffered, done, name), nil, nil
	}
	c, err := NewCapture(buffered, name)
	if errors.Is(err, ErrNotCapture) {
		err = fmt.Errorf("%s: neither a recording nor a capture (pcap or pcapng, plain, gzip or zstd): %w", name, ErrNotCapture)
	}
	if err != nil {
		return nil, nil, err
	}
	return nil, &openedCapture{c, done}, nil
}

// isRecording reports whether a pcapng file begins with the header of a recording.
func isRecording(in *bufio.Reader) bool {
	head, _ := in.Peek(12)
	if formatOf(head) != formatPcapng || len(head) < 12 {
		return false
	}
	size := int(min(binary.LittleEndian.Uint32(head[4:]), uint32(in.Size())))
	b, err := in.Peek(size)
	return err == nil && sectionInfo(b) != nil
}

// beginsRecording reports whether a zstd file is what a recorder writes: its first frame is a section header of ours.
func beginsRecording(in *bufio.Reader) bool {
	// The frame is small; a peek of all that is buffered does not wait for more than there is.
	_, _ = in.Peek(1)
	head, _ := in.Peek(in.Buffered())
	z := newZstdFrames(bytes.NewReader(head))
	b, err := z.next()
	return err == nil && len(b) >= 32 && sectionInfo(b) != nil
}
