package recordings

import (
	"encoding/binary"

	"github.com/understudy-kafka/understudy/wire"
)

// requests remembers which requests of a connection have no response yet, so that a response can be read:
// its layout depends on the request's key and version.
type requests struct {
	open []openRequest // in order of arrival
}

// openRequest is what a response needs to know of its request.
type openRequest struct {
	correlation  int32
	key, version int16
}

// maxOpenRequests bounds the memory of a connection. Controllers have at most one open.
const maxOpenRequests = 1024

func (r *requests) add(h *wire.RequestHeader) {
	if len(r.open) == maxOpenRequests {
		r.open = append(r.open[:0], r.open[1:]...)
	}
	r.open = append(r.open, openRequest{h.CorrelationID, h.Key, h.Version})
}

// take finds the request of a response frame and forgets it.
func (r *requests) take(frame []byte) (openRequest, bool) {
	if len(frame) < 4 {
		return openRequest{}, false
	}
	correlation := int32(binary.BigEndian.Uint32(frame))
	for i, q := range r.open {
		if q.correlation == correlation {
			r.open = append(r.open[:i], r.open[i+1:]...)
			return q, true
		}
	}
	return openRequest{}, false
}

// has reports whether a request with this correlation id is open.
func (r *requests) has(correlation int32) bool {
	for i := range r.open {
		if r.open[i].correlation == correlation {
			return true
		}
	}
	return false
}
