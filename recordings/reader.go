package recordings

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/understudy-kafka/understudy/wire"
)

// Reader reads a recording: a [Source]. A part of the recording that is damaged or missing becomes gaps of all
// connections that were open, and an entry of Damage; only a failing disk or a foreign file is an error of Next.
type Reader struct {
	damages
	files   segments
	seg     *segment // nil: before the first, and at the end
	follow  *follower
	info    Info
	known   bool // info was read
	counted int  // the segment number of the last header

	buf    []byte // the chunk being read
	pos    int
	carry  []byte // the begin of a block that the next chunk completes
	number uint64 // of the last packet block
	passed bool   // over blocks until the next chunk: they were read before

	conns  map[uint64]*Conn
	last   *Conn
	broken bool // something is missing before the next observation
	queue  []Observation

	// reached, if not nil, says where the reader was asked to begin; what comes before is passed over.
	reached func(*Observation) bool

	// Space of the current observation.
	open     bool // a multi-block observation is being collected
	at       int64
	first    uint64
	payload  []byte
	meta     []byte
	withheld []Withheld
	hidden   []Withheld
	fault    Fault
	gap      Gap
}

// maxBlock bounds a block of a recording. The largest written is about 180,000 bytes.
const maxBlock = 1 << 20

// NewReader reads a recording of one segment from a stream: compressed or not. name stands for it in errors. It reads
// no further than it must, so the stream may be a pipe of a recorder at work.
func NewReader(in io.Reader, name string) (*Reader, error) {
	seg, capture, err := openContent(io.NopCloser(in), name)
	if err != nil {
		return nil, err
	}
	if capture != nil {
		return nil, fmt.Errorf("%s: %w", name, ErrNotRecording)
	}
	return newReader(&segmentList{}, seg), nil
}

func newReader(files segments, seg *segment) *Reader {
	return &Reader{files: files, seg: seg, conns: map[uint64]*Conn{}}
}

// Info is the header of the recording; it is known once Next has returned the first observation.
func (r *Reader) Info() Info { return r.info }

// Next implements [Source].
func (r *Reader) Next(o *Observation) error {
	if r.reached != nil {
		return r.begin(o)
	}
	return r.advance(o)
}

// begin passes over what comes before the place where the reader was asked to begin. The connections that it met
// there are new to the caller.
func (r *Reader) begin(o *Observation) error {
	for {
		if err := r.advance(o); err != nil {
			return err
		}
		if r.reached(o) {
			break
		}
	}
	r.reached = nil
	queue := make([]Observation, 0, len(r.conns)+len(r.queue)+1)
	reopen := func(c *Conn) {
		c.Midway = true
		queue = append(queue, Observation{Kind: KindOpen, Conn: c, Number: o.Number, At: o.At})
	}
	for _, id := range r.connIDs() {
		if c := r.conns[id]; o.Kind != KindOpen || c != o.Conn {
			reopen(c)
		}
	}
	if o.Kind == KindClose {
		reopen(o.Conn)
	}
	r.queue = append(append(queue, *o), r.queue...)
	return r.advance(o)
}

func (r *Reader) advance(o *Observation) error {
	for {
		if len(r.queue) > 0 {
			*o = r.queue[0]
			r.queue = r.queue[1:]
			return nil
		}
		b, err := r.block()
		if err != nil {
			return err
		}
		switch binary.LittleEndian.Uint32(b) {
		case blockSection:
			if err := r.section(b); err != nil {
				return err
			}
		case blockPacket:
			ok, err := r.packet(b, o)
			if err != nil {
				r.damage(err)
				r.open = false
			}
			if ok {
				return nil
			}
		}
	}
}

// block returns the next whole block, its length checked.
func (r *Reader) block() ([]byte, error) {
	for {
		if rest := r.buf[r.pos:]; len(rest) >= 12 {
			n := int(binary.LittleEndian.Uint32(rest[4:]))
			if n < 12 || n > maxBlock || n&3 != 0 {
				if err := r.noBlock(n); err != nil {
					return nil, err
				}
				continue
			}
			if n <= len(rest) {
				r.pos += n
				return rest[:n:n], nil
			}
		}
		if err := r.chunk(); err != nil {
			return nil, err
		}
	}
}

// noBlock deals with a chunk that does not hold the blocks it should.
func (r *Reader) noBlock(n int) error {
	if !r.known {
		return r.foreign()
	}
	r.damage(fmt.Errorf("pcapng block of %d bytes", n))
	r.buf, r.pos, r.open = nil, 0, false
	if !r.seg.resync() {
		return r.ended(errPacket)
	}
	return nil
}

func (r *Reader) foreign() error {
	return fmt.Errorf("%s: %w", r.seg.name, ErrNotRecording)
}

// damage notes that something at the current place could not be read.
func (r *Reader) damage(err error) {
	r.add(r.seg.name, r.seg.at, err)
	r.broken = true
}

// chunk brings the next stretch of blocks.
func (r *Reader) chunk() error {
	if r.seg == nil {
		if err := r.nextSegment(); err != nil {
			return err
		}
	}
	if rest := r.buf[r.pos:]; len(rest) > 0 && !r.carried() { // saved first: what comes next may use its space
		r.carry = append(r.carry[:0], rest...)
		r.buf, r.pos = r.carry, 0
	}
	b, err := r.seg.next()
	if err == nil {
		if len(r.buf) > r.pos {
			r.carry = append(r.carry, b...)
			b = r.carry
		}
		r.buf, r.pos = b, 0
		return nil
	}
	if failed := r.seg.failed(); failed != nil {
		return fmt.Errorf("read %s at offset %d: %w", r.seg.name, r.seg.offset(), failed)
	}
	if errors.Is(err, io.EOF) {
		return r.ended(err)
	}
	if errors.Is(err, errIncomplete) {
		if r.follow != nil {
			return r.ended(err)
		}
	} else if r.follow.again(r.seg.offset()) {
		return r.seg.retry()
	}
	return r.recover(err)
}

var (
	errMissing  = errors.New("a part of the recording is missing before this")
	errRepeated = errors.New("a part of the recording that comes again, or too late")
)

// place looks at the number of a chunk's first block. Chunks that were taken out of the file are damage, and so are those that come
// twice or too late: they are passed over.
func (r *Reader) place(number uint64) {
	r.passed = number < r.number
	switch {
	case r.passed:
		r.damage(errRepeated)
	case number > r.number && !r.broken:
		r.damage(errMissing)
	}
	if number != r.number {
		r.open = false
	}
	r.number = max(r.number, number)
}

// carried reports whether what is left of the last chunk lies in carry already, as it does for a block that comes in
// many small reads.
func (r *Reader) carried() bool {
	return r.pos == 0 && len(r.buf) == len(r.carry) && len(r.carry) > 0 && &r.buf[0] == &r.carry[0]
}

// recover goes on behind a zstd frame that cannot be read, if a whole one follows.
func (r *Reader) recover(err error) error {
	if !r.known && r.seg.offset() == 0 {
		return r.foreign()
	}
	at := r.seg.offset()
	b := r.seg.recover()
	if b == nil {
		if !errors.Is(err, errIncomplete) {
			r.seg.at = at
			r.damage(err)
		}
		r.seg.stopped = at
		return r.ended(err)
	}
	if errors.Is(err, errIncomplete) {
		err = errors.New("damaged zstd frame")
	}
	r.seg.at = at
	r.damage(err)
	r.buf, r.pos, r.open = b, 0, false
	return nil
}

// ended deals with the end of a segment: err is io.EOF, errIncomplete, or another behind which nothing follows.
func (r *Reader) ended(err error) error {
	if r.follow != nil && !r.info.End && (errors.Is(err, io.EOF) || errors.Is(err, errIncomplete)) {
		if more, werr := r.follow.wait(r); more || werr != nil {
			return werr
		}
	}
	if !r.known {
		if errors.Is(err, io.EOF) && r.seg.offset() == 0 {
			return fmt.Errorf("%s: the file is empty: %w", r.seg.name, ErrNotRecording)
		}
		return fmt.Errorf("%s: cut off before its first frame ends: %w", r.seg.name, ErrNotRecording)
	}
	switch {
	case errors.Is(err, errIncomplete):
		r.seg.at = r.seg.stopped
		r.damage(ErrCut)
	case len(r.buf) > r.pos || r.open:
		r.seg.at = r.seg.offset() - int64(len(r.buf)-r.pos)
		r.damage(ErrCut)
	case errors.Is(err, io.EOF) && !r.info.End:
		r.seg.at = r.seg.offset()
		r.damage(ErrNoTrailer)
	}
	r.buf, r.pos, r.open = nil, 0, false
	cerr := r.seg.close()
	r.seg = nil
	return cerr
}

// nextSegment opens the segment after the current one.
func (r *Reader) nextSegment() error {
	if r.known && r.info.End && !r.info.More {
		return io.EOF
	}
	for {
		seg, err := r.files.next()
		if err == nil {
			r.seg = seg
			return nil
		}
		if r.follow == nil || !errors.Is(err, io.EOF) {
			return err
		}
		if err := r.follow.pause(); err != nil {
			return err
		}
	}
}

// section reads a header or trailer.
func (r *Reader) section(b []byte) error {
	info, ok := parseInfo(b)
	if !ok {
		if !r.known {
			return r.foreign()
		}
		r.damage(errors.New("section header of another program"))
		return nil
	}
	if r.known && !r.broken && info.FirstBlock > r.number+1 && info.Segment <= r.counted+1 {
		r.damage(errMissing)
	}
	if info.Format > infoFormat {
		return fmt.Errorf("%s: recording format %d is newer than this program knows (%d)", r.seg.name, info.Format, infoFormat)
	}
	if info.End {
		r.info.End, r.info.More = true, info.More
		return nil
	}
	if r.known && info.Segment > r.counted+1 {
		r.damage(ErrMissingSegment)
	}
	r.info, r.known, r.counted = info, true, info.Segment
	if info.FirstBlock > 0 {
		r.number = max(r.number, info.FirstBlock-1)
	}
	return nil
}

// enqueue puts before an observation what its place in a damaged or partial recording calls for: gaps of the known
// connections, and the opening of one that is not known.
func (r *Reader) enqueue(o *Observation, isNew bool) {
	r.queue = r.queue[:0]
	if r.broken {
		r.broken = false
		for _, id := range r.connIDs() {
			for _, dir := range []wire.Direction{wire.Request, wire.Response} {
				r.queue = append(r.queue, Observation{
					Kind: KindGap, Conn: r.conns[id], Number: o.Number, Dir: dir, At: o.At,
					Gap: &Gap{Reason: "damaged recording", Bytes: -1, Frames: -1},
				})
			}
		}
	}
	if isNew {
		r.conns[o.Conn.ID] = o.Conn
		if o.Kind != KindOpen {
			o.Conn.Midway = true
			r.queue = append(r.queue, Observation{Kind: KindOpen, Conn: o.Conn, Number: o.Number, At: o.At})
		}
	}
	r.queue = append(r.queue, *o)
	*o = r.queue[0]
	r.queue = r.queue[1:]
}

// connIDs lists the open connections in order.
func (r *Reader) connIDs() []uint64 {
	ids := make([]uint64, 0, len(r.conns))
	for id := range r.conns {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Close closes the file being read.
func (r *Reader) Close() error {
	if r.seg == nil {
		return nil
	}
	seg := r.seg
	r.seg, r.buf, r.pos, r.files, r.follow = nil, nil, 0, &segmentList{}, nil
	return seg.close()
}
