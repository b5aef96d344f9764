package e2e

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/kraft"
)

// witness is a plain relay between the proxy and the controllers that keeps every byte. It knows nothing of Kafka
// and shares no code with the proxy: what it kept is what the recording is held against.
type witness struct {
	mu    sync.Mutex
	conns []*witnessed
	open  sync.WaitGroup
	lns   []net.Listener
}

// witnessed is one connection that the proxy made to a controller.
type witnessed struct {
	node kraft.NodeID

	mu       sync.Mutex
	request  bytes.Buffer // towards the controller
	response bytes.Buffer
	broken   bool // reset, or cut with bytes in flight
}

// newWitness listens once for each controller and returns the upstreams for a proxy in front of it.
func newWitness(t *testing.T, q *kafka.Quorum) (w *witness, upstreams []string) {
	t.Helper()
	w = &witness{}
	ports, err := kafka.TakePorts(len(q.Controllers()))
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range q.Controllers() {
		n := q.Node(id)
		ln, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: ports[i]})
		if err != nil {
			t.Fatal(err)
		}
		w.lns = append(w.lns, ln)
		w.open.Go(func() { w.accept(ln, id, n.Listener) })
		upstreams = append(upstreams, id.String()+"="+ln.Addr().String()+"="+n.Advertised)
	}
	t.Cleanup(w.close)
	return w, upstreams
}

// close ends the witness when its peers are gone.
func (w *witness) close() {
	for _, ln := range w.lns {
		_ = ln.Close()
	}
	w.open.Wait()
}

func (w *witness) accept(ln *net.TCPListener, id kraft.NodeID, upstream string) {
	for {
		client, err := ln.AcceptTCP()
		if err != nil {
			return
		}
		w.open.Go(func() { w.relay(client, id, upstream) })
	}
}

func (w *witness) relay(client *net.TCPConn, id kraft.NodeID, upstream string) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(kafka.DialFrom)}}
	conn, err := dialer.Dial("tcp4", upstream)
	c := &witnessed{node: id, broken: err != nil}
	w.mu.Lock()
	w.conns = append(w.conns, c)
	w.mu.Unlock()
	if err != nil { // the controller is down: the proxy's peer sees its connection closed
		_ = client.Close()
		return
	}
	server := conn.(*net.TCPConn)
	var both sync.WaitGroup
	both.Go(func() { c.copy(server, client, &c.request) })
	both.Go(func() { c.copy(client, server, &c.response) })
	both.Wait()
	_ = client.Close()
	_ = server.Close()
}

// copy relays one direction. An end is passed on as an end and a reset as a reset.
func (c *witnessed) copy(to, from *net.TCPConn, kept *bytes.Buffer) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			c.mu.Lock()
			kept.Write(buf[:n])
			c.mu.Unlock()
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if errors.Is(err, io.EOF) {
			_ = to.CloseWrite()
			return
		}
		if err != nil {
			c.mu.Lock()
			c.broken = true
			c.mu.Unlock()
			_ = to.SetLinger(0)
			_ = to.Close()
			_ = from.SetLinger(0)
			_ = from.Close()
			return
		}
	}
}

// streams are the bytes of each connection, both ways.
func (w *witness) streams() []stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []stream
	for _, c := range w.conns {
		c.mu.Lock()
		all = append(all, stream{c.node, slices.Clone(c.request.Bytes()), slices.Clone(c.response.Bytes()), c.broken})
		c.mu.Unlock()
	}
	return all
}
