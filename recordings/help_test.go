package recordings

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testConn is a connection of a client to node 1.
func testConn(id uint64) *Conn {
	return &Conn{
		ID: id, Node: 1, Endpoint: "localhost:9093",
		Client: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(40_000+id)),
		Server: netip.MustParseAddrPort("127.0.0.1:9093"),
	}
}

// requestFrame is a request with header v1, or v2 where the version is flexible.
func requestFrame(key, version int16, correlation int32, body []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	b = binary.BigEndian.AppendUint16(b, 13)
	b = append(b, "raft-client-2"...)
	if wire.Flexible(key, version) {
		b = append(b, 0)
	}
	return append(b, body...)
}

func responseFrame(key, version int16, correlation int32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(correlation))
	if key != wire.KeyAPIVersions && wire.Flexible(key, version) {
		b = append(b, 0)
	}
	return append(b, body...)
}

// story makes observations of one connection.
type story struct {
	conn *Conn
	at   int64
	seq  [2]uint64
	list []Observation
}

func newStory(id uint64) *story {
	s := &story{conn: testConn(id), at: 1_700_000_000_000_000_000}
	s.add(Observation{Kind: KindOpen})
	return s
}

func (s *story) add(o Observation) *Observation {
	s.at += 1_000_000
	o.Conn, o.At = s.conn, wire.Stamp{Seen: s.at, Forwarded: s.at + 1000}
	if o.Kind == KindFrame {
		o.Seq = s.seq[o.Dir]
		s.seq[o.Dir]++
	}
	s.list = append(s.list, o)
	return &s.list[len(s.list)-1]
}

func (s *story) frame(dir wire.Direction, b []byte) *Observation {
	return s.add(Observation{Kind: KindFrame, Dir: dir, Frame: wire.Frame{Bytes: b, Size: len(b)}})
}

// votes adds n elections.
func (s *story) votes(n int) *story {
	for range n {
		id := int32(s.seq[0])
		s.frame(wire.Request, requestFrame(wire.KeyVote, 2, id, voteBody))
		s.frame(wire.Response, responseFrame(wire.KeyVote, 2, id, []byte{0, 0, 0, 0}))
	}
	return s
}

var voteBody = []byte("\x00\x00\x00\x00\x01\x01\x00")

func writeAll(t testing.TB, base string, opts Options, list []Observation) *Writer {
	t.Helper()
	w, err := Create(base, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if err := w.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

func tempBase(t testing.TB) string { return filepath.Join(t.TempDir(), "run") }

func mustRead(t testing.TB, paths ...string) ([]Observation, *Reader) {
	t.Helper()
	r, err := Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list, err := readAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return list, r
}

// inflated returns what a segment holds.
func inflated(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := newZstdFrames(f)
	var all []byte
	for {
		b, err := z.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
}

const noNode = kraft.NoNode
