package replay

import (
	"bytes"
	"slices"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// form is a frame as one end of its connection knows it.
type form struct {
	there    bool // false: this end knows of no such frame
	bytes    []byte
	withheld bool // parts are not in the recording
}

// forms is a frame at both ends. They are the same, unless a fault rule changed the frame, stopped it or made a copy, which
// nobody sent. A node is answerable for what it sent, and acts on what it got.
type forms struct {
	sent, got form
	altered   bool
}

func formsOf(o *recordings.Observation) forms {
	got := form{there: true, bytes: slices.Clone(o.Frame.Bytes), withheld: len(o.Withheld) > 0}
	f := forms{sent: got, got: got}
	if o.Fault == nil {
		return f
	}
	if o.Fault.Sent != nil {
		f.altered = true
		f.sent = form{there: len(o.Fault.Sent) > 0, bytes: slices.Clone(o.Fault.Sent), withheld: len(o.Fault.Withheld) > 0}
	}
	if !o.Fault.Delivered {
		f.got = form{}
	}
	return f
}

// size is what it takes of memory.
func (f *forms) size() int {
	if !f.altered {
		return len(f.got.bytes)
	}
	return len(f.sent.bytes) + len(f.got.bytes)
}

// seeRequest makes a form of the request the one that counts: what the node got of others, what it sent of its own.
func (x *exchange) seeRequest(f *form) {
	x.frame, x.withheld = f.bytes, x.withheld || f.withheld
	if h, body, err := wire.ParseRequestHeader(f.bytes); err == nil {
		x.header, x.request, x.readable = h, body, true
	}
}

// seeResponse makes a form of the answer the one that counts, after that of the request. False: it is no answer to that.
func (x *exchange) seeResponse(f *form) bool {
	if !f.there || !x.readable || len(f.bytes) < 4 || !bytes.Equal(f.bytes[:4], x.frame[4:8]) {
		return false
	}
	_, body, err := wire.ParseResponseHeader(f.bytes, x.header.Key, x.header.Version)
	if err != nil {
		return false
	}
	x.response, x.answered, x.withheld = body, true, x.withheld || f.withheld
	return true
}
