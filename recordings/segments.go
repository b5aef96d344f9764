package recordings

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// segment is one file of a recording being read.
type segment struct {
	name    string
	in      io.Reader
	done    func() error
	zst     *zstdFrames // nil: not compressed
	plain   []byte      // space for what is read
	at      int64       // where the current chunk begins, bytes
	stopped int64       // where a zstd frame begins that is not whole
	read    int64       // of a file that is not compressed
	err     error
}

// newFrameSegment reads a file of independent zstd frames, as recorders write it, through a buffer.
func newFrameSegment(f io.ReadCloser, buffer *bufio.Reader, name string) *segment {
	return &segment{name: name, in: buffer, done: f.Close, zst: newZstdFrames(&buffered{Reader: buffer, file: f})}
}

// newPlainSegment reads pcapng that is not compressed, or was decompressed as a whole.
func newPlainSegment(in io.Reader, done func() error, name string) *segment {
	return &segment{name: name, in: in, done: done, plain: make([]byte, readAhead)}
}

// buffered is a file read through a buffer.
type buffered struct {
	*bufio.Reader
	file io.Reader
}

// Seek moves in the file, if it can.
func (b *buffered) Seek(offset int64, whence int) (int64, error) {
	s, ok := b.file.(io.Seeker)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	at, err := s.Seek(offset, whence)
	if err == nil {
		b.Reset(b.file)
	}
	return at, err
}

// next returns the next stretch of decompressed bytes, valid until the following call.
func (s *segment) next() ([]byte, error) {
	if s.zst != nil {
		s.at = s.zst.offset
		return s.zst.next()
	}
	s.at = s.read
	n, err := s.in.Read(s.plain)
	if n > 0 {
		s.read += int64(n)
		return s.plain[:n], nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return nil, err
}

// failed is the error of the disk or network below, if that is what stopped reading.
func (s *segment) failed() error {
	if s.zst != nil {
		return s.zst.failed
	}
	return s.err
}

// offset is where reading stands: behind the last whole zstd frame.
func (s *segment) offset() int64 {
	if s.zst != nil {
		return s.zst.offset
	}
	return s.read
}

// recover returns the next whole zstd frame behind one that cannot be read, or nil.
func (s *segment) recover() []byte {
	for s.zst != nil && s.zst.skip() {
		s.at = s.zst.offset
		if b, err := s.zst.next(); err == nil {
			return b
		}
	}
	return nil
}

// resync reports whether reading can go on behind a chunk that held no blocks.
func (s *segment) resync() bool { return s.zst != nil }

// retry makes ready to read what the file has gained.
func (s *segment) retry() error {
	if s.zst != nil {
		return s.zst.retry()
	}
	return nil
}

func (s *segment) close() error {
	return s.done()
}

// segments hands out the files of a recording in order.
type segments interface {
	// next opens the next file, or returns io.EOF.
	next() (*segment, error)
	// ready reports whether there is a next file now.
	ready() bool
}

// segmentList is a fixed list of files.
type segmentList struct {
	names []string
	open  func(name string) (io.ReadCloser, error)
}

func (l *segmentList) ready() bool { return len(l.names) > 0 }

func (l *segmentList) next() (*segment, error) {
	if len(l.names) == 0 {
		return nil, io.EOF
	}
	name := l.names[0]
	l.names = l.names[1:]
	f, err := l.open(name)
	if err != nil {
		return nil, err
	}
	seg, capture, err := openContent(f, name)
	if capture != nil {
		err = fmt.Errorf("%s: %w", name, ErrNotRecording)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return seg, nil
}

// segmentCount goes through the segments of a recording by number, as they appear.
type segmentCount struct {
	base   string
	number int // of the next segment
}

func (c *segmentCount) ready() bool {
	_, err := os.Stat(segmentName(c.base, c.number))
	return err == nil
}

func (c *segmentCount) next() (*segment, error) {
	name := segmentName(c.base, c.number)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	c.number++
	return newFrameSegment(f, bufio.NewReaderSize(f, readAhead), name), nil
}

// segmentOf takes the name of a segment apart.
func segmentOf(name string) (base string, number int, ok bool) {
	rest, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(rest) < 8 || rest[len(rest)-7] != '-' {
		return "", 0, false
	}
	number, err := strconv.Atoi(rest[len(rest)-6:])
	return rest[:len(rest)-7], number, err == nil && number > 0
}

// segmentsOf lists the segments of the recording with this base name.
func segmentsOf(base string) []string {
	dir := filepath.Dir(base)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries { // in order of names, so of numbers
		name := filepath.Join(dir, e.Name())
		if b, _, ok := segmentOf(name); ok && b == filepath.Clean(base) {
			names = append(names, name)
		}
	}
	return names
}

// Open reads a recording: named by its base name, which stands for all its segments, or by its segments in order.
func Open(paths ...string) (*Reader, error) {
	in, err := OpenAny(nil, paths...)
	if err != nil {
		return nil, err
	}
	if r, ok := in.Source.(*Reader); ok {
		return r, nil
	}
	err = fmt.Errorf("%s: %w", strings.Join(paths, ", "), ErrNotRecording)
	return nil, errors.Join(err, in.Close())
}

// expand returns the files that a path stands for.
func expand(path string) ([]string, error) {
	_, err := os.Stat(path)
	if err == nil {
		return []string{path}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if names := segmentsOf(path); len(names) > 0 {
		return names, nil
	}
	return nil, fmt.Errorf("%s: no such file, nor a recording %s: %w", path, segmentName(path, 1), fs.ErrNotExist)
}
