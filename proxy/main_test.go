package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(stubMode); mode != "" {
		os.Exit(stubChecker(mode))
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait of a test for something that must come.
const patience = time.Minute

// seeded prints the seed of a random test and takes it back from SEED.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// memory is a sink that keeps everything.
type memory struct {
	mu   sync.Mutex
	seen []recordings.Observation
	shut bool
}

func (m *memory) Observe(o *recordings.Observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := *o
	kept.Frame.Bytes = slices.Clone(o.Frame.Bytes)
	if o.Fault != nil {
		f := *o.Fault
		f.Sent = slices.Clone(o.Fault.Sent)
		kept.Fault = &f
	}
	if o.Gap != nil {
		g := *o.Gap
		kept.Gap = &g
	}
	m.seen = append(m.seen, kept)
}

func (m *memory) Idle(int64)       {}
func (m *memory) Close() error     { m.shut = true; return nil }
func (m *memory) Stats() SinkStats { return SinkStats{Name: "memory"} }

// kinds returns the observations of one kind, in order.
func (m *memory) kinds(kind recordings.Kind) (list []recordings.Observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.seen {
		if o.Kind == kind {
			list = append(list, o)
		}
	}
	return list
}

// stream joins the frames of one direction, with their sizes, as they crossed.
func (m *memory) stream(dir wire.Direction) []byte {
	var b []byte
	for _, o := range m.kinds(recordings.KindFrame) {
		if o.Dir == dir && (o.Fault == nil || o.Fault.Delivered) {
			b = append(binary.BigEndian.AppendUint32(b, uint32(o.Frame.Size)), o.Frame.Bytes...)
		}
	}
	return b
}

// running is a proxy under test.
type running struct {
	*Proxy
	t    *testing.T
	stop context.CancelFunc
	done chan error
	sink *memory
	logs *logs
	once sync.Once
}

// logs is what the proxy logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startProxy runs a proxy in front of node 1 at an address.
func startProxy(t *testing.T, upstream string, change func(*Config)) *running {
	t.Helper()
	r := &running{t: t, sink: new(memory), logs: new(logs), done: make(chan error, 1)}
	cfg := Config{
		Upstreams: []Upstream{{Node: 1, Address: upstream, Listen: "127.0.0.1:0"}},
		Sinks:     []Sink{r.sink}, Log: zerolog.New(r.logs), DrainTimeout: 200 * time.Millisecond,
	}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Proxy = p
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	go func() { r.done <- p.Run(ctx) }()
	t.Cleanup(r.end)
	return r
}

// end stops the proxy and waits until everything has been recorded.
func (r *running) end() {
	r.once.Do(func() {
		r.stop()
		select {
		case err := <-r.done:
			if err != nil {
				r.t.Errorf("proxy ended with %v", err)
			}
		case <-time.After(patience):
			r.t.Error("the proxy does not end")
		}
	})
}

// dial connects to the proxy's listener for a node.
func (r *running) dial(node kraft.NodeID) *net.TCPConn {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.Addr(node))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn.(*net.TCPConn)
}

// server is an upstream whose connections the test takes one by one.
type server struct {
	t  *testing.T
	ln net.Listener
}

func newServer(t *testing.T) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return &server{t, ln}
}

func (s *server) addr() string { return s.ln.Addr().String() }

// accept takes the next connection.
func (s *server) accept() *net.TCPConn {
	s.t.Helper()
	_ = s.ln.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	conn, err := s.ln.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn.(*net.TCPConn)
}

// serve answers every connection with handle until the test ends.
func (s *server) serve(handle func(net.Conn)) {
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			conn, err := s.ln.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(patience))
				handle(conn)
			})
		}
	})
	s.t.Cleanup(func() {
		_ = s.ln.Close()
		wait.Wait()
	})
}

// request is a frame, with its size, of a request with a v1 header.
func request(key, version int16, correlation int32, client, body string) []byte {
	b := make([]byte, 4, 64)
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	b = binary.BigEndian.AppendUint16(b, uint16(len(client)))
	b = append(append(b, client...), body...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// response is a frame, with its size, of a response with a v0 header.
func response(correlation int32, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	return append(b, body...)
}

// readFrame reads one frame without its size.
func readFrame(t *testing.T, conn io.Reader) []byte {
	t.Helper()
	b, err := nextFrame(conn)
	if err != nil {
		t.Fatalf("reading a frame: %v", err)
	}
	return b
}

func nextFrame(conn io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(conn, b)
	return b, err
}

func send(t *testing.T, conn io.Writer, b []byte) {
	t.Helper()
	if _, err := conn.Write(b); err != nil {
		t.Fatalf("writing %d bytes: %v", len(b), err)
	}
}

// eventually waits for a condition that another goroutine brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// rng2 is a generator of its own for a goroutine.
func rng2(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 2)) }
