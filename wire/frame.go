package wire

import (
	"encoding/binary"
	"fmt"
)

// MaxFrameSize is the largest frame a Kafka server takes (socket.request.max.bytes, 100 MiB). A greater or
// negative size means that the stream is not Kafka's protocol, or that its framing was lost.
const MaxFrameSize = 100 << 20

// Direction tells which way a frame goes on its connection.
type Direction uint8

// A request goes from the client to the server (the node that listens), a response back.
const (
	Request Direction = iota
	Response
)

func (d Direction) String() string {
	if d == Request {
		return "request"
	}
	return "response"
}

// Frame is one Kafka message as it crossed the wire, without its four bytes of size.
type Frame struct {
	Bytes []byte // the payload; only its first bytes if Cut
	Size  int    // size of the payload on the wire, bytes
	Cut   bool   // larger than the limit of what is kept
}

// StreamError says that a byte stream cannot be cut into frames any further.
type StreamError struct {
	Offset int64 // position in the stream of the frame's size field, bytes
	Size   int32 // the size it states
}

func (e *StreamError) Error() string {
	return fmt.Sprintf("stream offset %d: frame size %d is not between 0 and %d", e.Offset, e.Size, MaxFrameSize)
}

// cutFrameKept is how much of a frame above the limit is kept: enough for its header.
const cutFrameKept = 4 << 10

// Splitter cuts one direction of a connection into frames, in whatever chunks the bytes arrive. It holds at most
// Limit bytes (or the head of a cut frame, if that is more), and no more than twice what has arrived. The zero value is
// ready for use.
//
//	s.Push(chunk)
//	for {
//		frame, ok, err := s.Next()
//		if err != nil || !ok {
//			break
//		}
//		…
//	}
type Splitter struct {
	// Limit is the largest payload that is kept whole, bytes; 0 stands for MaxFrameSize. Of a larger one
	// only the head is handed out (Frame.Cut), the rest is passed over.
	Limit int

	chunk  []byte // what Push brought and Next has not looked at
	held   []byte // an incomplete frame: size field and the payload so far
	size   int    // payload size of the frame being collected; valid once held has its size field
	skip   int    // bytes of a cut frame that still have to be passed over
	offset int64  // stream position behind the last complete frame
	err    error
}

// Push hands over the next bytes of the stream, once Next has returned false for those before. The slice must stay
// unchanged until Next has returned false again, since complete frames inside it are not copied.
func (s *Splitter) Push(chunk []byte) { s.chunk = chunk }

// Next returns the next complete frame. Its bytes are valid until the following call of Next or Push.
// It returns false when more bytes are needed, and a *StreamError, for ever, when the framing is lost.
func (s *Splitter) Next() (Frame, bool, error) {
	if s.err != nil {
		return Frame{}, false, s.err
	}
	if len(s.held) == 0 && s.skip == 0 && len(s.chunk) >= 4 { // the fast path: a whole frame in the chunk
		size := int32(binary.BigEndian.Uint32(s.chunk))
		if size < 0 || size > MaxFrameSize {
			return s.fail(size)
		}
		if n := int(size); n <= s.limit() && len(s.chunk) >= 4+n {
			frame := Frame{Bytes: s.chunk[4 : 4+n : 4+n], Size: n}
			s.chunk = s.chunk[4+n:]
			s.offset += int64(4 + n)
			return frame, true, nil
		}
	}
	return s.collect()
}

// Pending is the number of bytes of an incomplete frame that have arrived so far, once Next has returned false.
func (s *Splitter) Pending() int {
	if s.skip > 0 {
		return 4 + s.size - s.skip
	}
	return len(s.held) + len(s.chunk)
}

func (s *Splitter) limit() int {
	if s.Limit > 0 {
		return s.Limit
	}
	return MaxFrameSize
}

// collect goes on with a frame that spans chunks.
func (s *Splitter) collect() (Frame, bool, error) {
	if s.skip > 0 {
		n := min(s.skip, len(s.chunk))
		s.skip -= n
		s.chunk = s.chunk[n:]
		if s.skip > 0 {
			return Frame{}, false, nil
		}
		return s.finish(true)
	}
	if len(s.held) < 4 {
		s.take(4)
		if len(s.held) < 4 {
			return Frame{}, false, nil
		}
		size := int32(binary.BigEndian.Uint32(s.held))
		if size < 0 || size > MaxFrameSize {
			return s.fail(size)
		}
		s.size = int(size)
	}
	cut := s.size > s.limit()
	kept := s.size
	if cut {
		kept = min(cutFrameKept, s.size)
	}
	s.take(4 + kept)
	if len(s.held) < 4+kept {
		return Frame{}, false, nil
	}
	if cut {
		s.skip = s.size - kept
		if s.skip > 0 {
			return s.collect()
		}
	}
	return s.finish(cut)
}

// take moves bytes from the chunk to the held frame until it has want bytes or the chunk is empty.
func (s *Splitter) take(want int) {
	n := min(want-len(s.held), len(s.chunk))
	if n > 0 {
		s.held = append(s.held, s.chunk[:n]...)
		s.chunk = s.chunk[n:]
	}
}

func (s *Splitter) finish(cut bool) (Frame, bool, error) {
	frame := Frame{Bytes: s.held[4:], Size: s.size, Cut: cut}
	s.offset += int64(4 + s.size)
	if cap(s.held) > 1<<20 { // do not keep the memory of a rare big frame
		s.held = nil
	} else {
		s.held = s.held[:0]
	}
	return frame, true, nil
}

func (s *Splitter) fail(size int32) (Frame, bool, error) {
	s.err = &StreamError{Offset: s.offset, Size: size}
	s.held, s.chunk = nil, nil
	return Frame{}, false, s.err
}
