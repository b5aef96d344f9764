package conform

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// exchange is one request to a real node and what came back: testdata/*.json.gz hold those of whole runs.
type exchange struct {
	Request []byte `json:"request"`          // frame without size
	Answer  []byte `json:"answer,omitempty"` // empty: the node closed the connection
	Millis  int64  `json:"millis,omitempty"`
	Leader  bool   `json:"leader,omitempty"` // asked of the leader that the node named
}

// tape is a run as it is kept.
type tape struct {
	Node      kraft.NodeID `json:"node"`
	Exchanges []exchange   `json:"exchanges"`
}

// recorder is a relay in front of a real node that keeps what passes.
type recorder struct {
	mu   sync.Mutex
	list []exchange
}

func (r *recorder) add(x exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, x)
}

// serve listens in front of the node until the test ends.
func (r *recorder) serve(t *testing.T, node string, leader bool) string {
	t.Helper()
	return listen(t, func(client net.Conn) {
		server, err := net.Dial("tcp", node)
		if err != nil {
			return
		}
		defer func() { _ = server.Close() }()
		r.relay(client, server, leader)
	})
}

// relay passes requests on one by one. What is not a frame ends the connection, as it does at the node.
func (r *recorder) relay(client, server net.Conn, leader bool) {
	in, out := bufio.NewReader(client), bufio.NewReader(server)
	for {
		request, err := readFrame(in)
		if err != nil {
			return
		}
		begin := time.Now()
		if err := writeFrame(server, request); err != nil {
			return
		}
		answer, err := readFrame(out)
		r.add(exchange{request, answer, time.Since(begin).Milliseconds(), leader})
		if err != nil {
			return
		}
		if err := writeFrame(client, answer); err != nil {
			return
		}
	}
}

// dial leads connections to the node, and to the leader that it names, through the recorder.
func (r *recorder) dial(t *testing.T, node string) Dialer {
	through := map[string]string{}
	return func(ctx context.Context, address string) (net.Conn, error) {
		if through[address] == "" {
			through[address] = r.serve(t, address, address != node)
		}
		return plain(ctx, through[address])
	}
}

// save writes what was recorded.
func (r *recorder) save(t *testing.T, name string, node kraft.NodeID) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	zip, _ := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err := errors.Join(json.NewEncoder(zip).Encode(tape{node, r.list}), zip.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// played is a node that answers as a real one did: the same request gets the same answers, one after the other, and
// then the last again.
type played struct {
	node    kraft.NodeID
	leader  *played // what the node's leader answered
	mu      sync.Mutex
	answers map[string][]exchange
	// alter changes an answer; nil leaves it.
	alter func(request, answer []byte) []byte
}

// loadPlayed reads a recorded node, and the leader that it names.
func loadPlayed(t testing.TB, name string) *played {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept tape
	if err := json.NewDecoder(zip).Decode(&kept); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	p := &played{node: kept.Node, answers: map[string][]exchange{}, leader: &played{answers: map[string][]exchange{}}}
	for _, x := range kept.Exchanges {
		answers := p.answers
		if x.Leader {
			answers = p.leader.answers
		}
		if key, ok := requestKey(x.Request); ok {
			answers[key] = append(answers[key], x)
		}
	}
	return p
}

func requestKey(frame []byte) (string, bool) {
	if len(frame) < 8 {
		return "", false
	}
	return withoutCorrelation(frame), true
}

// dial leads connections to the node and to its leader.
func (p *played) dial(t testing.TB) (address string, dialer Dialer) {
	address, leader := p.serve(t), p.leader.serve(t)
	return address, func(ctx context.Context, to string) (net.Conn, error) {
		if to != address {
			to = leader
		}
		return plain(ctx, to)
	}
}

// serve listens as the node until the test ends.
func (p *played) serve(t testing.TB) string {
	t.Helper()
	return listen(t, func(client net.Conn) {
		in := bufio.NewReader(client)
		for {
			request, err := readFrame(in)
			if err != nil {
				return
			}
			x, known := p.next(request)
			if !known || x.Answer == nil {
				return
			}
			answer := slices.Clone(x.Answer)
			binary.BigEndian.PutUint32(answer, correlationOf(request))
			if p.alter != nil {
				answer = p.alter(request, answer)
			}
			if wait := time.Duration(x.Millis) * time.Millisecond; request[1] == byte(wire.KeyFetch) && wait > 250*time.Millisecond {
				time.Sleep(wait) // the node held the answer back, and cases measure that
			}
			if writeFrame(client, answer) != nil {
				return
			}
		}
	})
}

func (p *played) next(request []byte) (exchange, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, ok := requestKey(request)
	list := p.answers[key]
	if !ok || len(list) == 0 {
		return exchange{}, false
	}
	if len(list) > 1 {
		p.answers[key] = list[1:]
	}
	return list[0], true
}

// listen serves connections of the loopback interface until the test ends.
func listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	return listenAt(t, "127.0.0.1:0", serve)
}

func listenAt(t testing.TB, address string, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			all.Go(func() {
				serve(conn)
				_ = conn.Close()
				mu.Lock()
				delete(open, conn)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

func readFrame(in *bufio.Reader) ([]byte, error) { return wire.ReadFrame(in, nil, maxAnswer) }

func writeFrame(out net.Conn, frame []byte) error {
	_, err := out.Write(wire.AppendFrame(nil, frame))
	return err
}
