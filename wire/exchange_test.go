package wire

import (
	"encoding/binary"
	"errors"
	"testing"
)

func header(id int32) RequestHeader {
	return RequestHeader{Key: KeyVote, Version: 2, CorrelationID: id, ClientID: []byte("raft-client-1")}
}

// answer is the frame of a response: correlation id, no tags, body.
func answer(id int32, body string) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(id)), 0), body...)
}

func TestPairer_JoinsByCorrelationID(t *testing.T) {
	var p Pairer
	for id := int32(0); id < 3; id++ {
		p.Request(header(id), []byte{'q', byte(id)}, Stamp{Seen: int64(id)}, uint64(id))
	}
	for _, id := range []int32{1, 0, 2} {
		x, err := p.Response(answer(id, "body"), Stamp{Seen: 100 + int64(id)})
		if err != nil {
			t.Fatal(err)
		}
		if x.Header.CorrelationID != id || x.Request[1] != byte(id) || x.RequestSeq != uint64(id) || x.RequestAt.Seen != int64(id) {
			t.Errorf("answer %d got request %+v", id, x)
		}
		if string(x.Response) != "body" || x.ResponseAt.Seen != 100+int64(id) || string(x.Header.ClientID) != "raft-client-1" {
			t.Errorf("answer %d: %+v", id, x)
		}
		p.Release(x)
	}
	if len(p.Open()) != 0 {
		t.Errorf("%d open", len(p.Open()))
	}
}

func TestPairer_CopiesTheRequest(t *testing.T) {
	var p Pairer
	h, body := header(1), []byte("body")
	x := p.Request(h, body, Stamp{}, 0)
	copy(body, "XXXX")
	h.ClientID[0] = 'X'
	if string(x.Request) != "body" || string(x.Header.ClientID) != "raft-client-1" {
		t.Errorf("%q %q", x.Request, x.Header.ClientID)
	}
	h.ClientID = nil
	if x := p.Request(h, body, Stamp{}, 0); x.Header.ClientID != nil {
		t.Errorf("client id %q, want null", x.Header.ClientID)
	}
}

func TestPairer_NamesWhatDoesNotPair(t *testing.T) {
	var p Pairer
	p.Request(header(1), nil, Stamp{}, 0)
	if _, err := p.Response(answer(2, ""), Stamp{}); !errors.Is(err, ErrUnpaired) {
		t.Errorf("unknown id: %v", err)
	}
	if _, err := p.Response([]byte{0, 0, 0}, Stamp{}); !errors.Is(err, ErrShort) {
		t.Errorf("short frame: %v", err)
	}
	if len(p.Open()) != 1 {
		t.Errorf("%d open, want the request to stay", len(p.Open()))
	}
	if _, err := p.Response(answer(1, "")[:4], Stamp{}); !errors.Is(err, ErrShort) {
		t.Errorf("header without its tags: %v", err)
	}
	if len(p.Open()) != 0 {
		t.Error("a request that was answered stays open")
	}
}

func TestPairer_IsBounded(t *testing.T) {
	var p Pairer
	first := p.Request(header(0), []byte("first"), Stamp{}, 0)
	for id := int32(1); id <= maxOpen; id++ {
		p.Request(header(id), []byte("x"), Stamp{}, 0)
	}
	if len(p.Open()) != maxOpen || p.Open()[0].Header.CorrelationID != 1 {
		t.Errorf("%d open, the oldest is %d", len(p.Open()), p.Open()[0].Header.CorrelationID)
	}
	if string(first.Request) != "first" {
		t.Errorf("the exchange that was given up is used again: %q", first.Request)
	}
	if _, err := p.Response(answer(0, ""), Stamp{}); !errors.Is(err, ErrUnpaired) {
		t.Errorf("answer to the one given up: %v", err)
	}
}

func TestPairer_ResetForgets(t *testing.T) {
	var p Pairer
	kept := p.Request(header(1), []byte("kept"), Stamp{}, 0)
	p.Reset()
	p.Request(header(2), []byte("other"), Stamp{}, 0)
	if string(kept.Request) != "kept" || len(p.Open()) != 1 {
		t.Errorf("%q, %d open", kept.Request, len(p.Open()))
	}
}

func TestPairer_SteadyStateDoesNotAllocate(t *testing.T) {
	var p Pairer
	h, body, response := header(5), make([]byte, 100), answer(5, "body")
	if n := testing.AllocsPerRun(100, func() {
		p.Request(h, body, Stamp{}, 0)
		x, err := p.Response(response, Stamp{})
		if err != nil {
			t.Fatal(err)
		}
		p.Release(x)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	x := p.Request(h, make([]byte, 1<<20), Stamp{}, 0)
	p.Release(x)
	if len(p.free) > 1 {
		t.Error("the memory of a big request is kept")
	}
}
