package replay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// Stage holds the listeners that stand in for the recorded controllers.
type Stage struct {
	// StepTimeout bounds how long one frame may take; it ends a playback that something in between has stopped.
	StepTimeout time.Duration

	// Before, if it is set, is called before each step with the instant at which that was recorded, in nanoseconds
	// since the Unix epoch.
	Before func(at int64)

	script    *Script
	listeners map[kraft.NodeID]net.Listener
}

// NewStage opens one loopback listener for each controller of the script. Close it after use.
func NewStage(s *Script) (*Stage, error) {
	stage := &Stage{StepTimeout: 10 * time.Second, script: s, listeners: map[kraft.NodeID]net.Listener{}}
	for _, node := range s.nodes {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			stage.Close()
			return nil, fmt.Errorf("listen for node %d: %w", node, err)
		}
		stage.listeners[node] = ln
	}
	return stage, nil
}

// Addr is where the stand-in for a controller listens.
func (s *Stage) Addr(node kraft.NodeID) string { return s.listeners[node].Addr().String() }

// Close closes the listeners.
func (s *Stage) Close() {
	for _, ln := range s.listeners {
		_ = ln.Close()
	}
}

// Pace says how fast a script is played.
type Pace struct {
	Speed   float64       // 2 plays twice as fast as recorded; 0 does not wait at all
	MaxIdle time.Duration // longest wait between two steps after Speed; 0 for no limit
}

// Play plays the script once: clients dial dial[node], and the stage answers behind it.
// Steps on a connection that was cut on the way are left out. It returns the number of frames that arrived.
func (s *Stage) Play(ctx context.Context, dial map[kraft.NodeID]string, pace Pace) (frames int, err error) {
	links := map[uint64]*link{}
	defer func() {
		for _, l := range links {
			l.close(false)
		}
	}()
	clock := pace.clock()
	for _, st := range s.script.steps {
		if err := clock.wait(ctx, st.at); err != nil {
			return frames, err
		}
		if s.Before != nil {
			s.Before(st.at)
		}
		l := links[st.conn]
		switch st.kind {
		case recordings.KindOpen:
			if links[st.conn], err = s.connect(ctx, st.node, dial[st.node]); err != nil {
				return frames, fmt.Errorf("connection %d to node %d: %w", st.conn, st.node, err)
			}
		case recordings.KindClose:
			if l != nil {
				l.end(st.reset, s.StepTimeout)
				delete(links, st.conn)
			}
		case recordings.KindFrame:
			if l == nil {
				continue
			}
			if err := l.carry(st.dir, st.frame, s.StepTimeout); err != nil {
				l.close(true)
				delete(links, st.conn)
				if errors.Is(err, errStuck) {
					return frames, fmt.Errorf("connection %d to node %d: %w", st.conn, st.node, err)
				}
				continue
			}
			frames++
		}
	}
	return frames, nil
}

// clock follows the recorded instants. A step that took long is made up for by shorter waits.
type clock struct {
	pace Pace
	last int64     // recorded instant of the step before
	due  time.Time // when it was to be played
}

func (p Pace) clock() *clock { return &clock{pace: p, due: time.Now()} }

func (c *clock) wait(ctx context.Context, at int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	idle := at - c.last
	first := c.last == 0
	c.last = max(c.last, at)
	if c.pace.Speed <= 0 || first || idle <= 0 {
		return nil
	}
	d := time.Duration(float64(idle) / c.pace.Speed)
	if c.pace.MaxIdle > 0 {
		d = min(d, c.pace.MaxIdle)
	}
	c.due = c.due.Add(d)
	left := time.Until(c.due)
	if left <= 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// link is one played connection: the recorded client's end and the recorded controller's end, with whatever
// stands between them.
type link struct {
	client, server net.Conn
	buf            []byte
}

// connect dials as the client and accepts as the controller. Steps are played one at a time, so the next connection
// that a node's listener accepts is the one just dialled.
func (s *Stage) connect(ctx context.Context, node kraft.NodeID, addr string) (*link, error) {
	client, err := (&net.Dialer{Timeout: s.StepTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	ln := s.listeners[node].(*net.TCPListener)
	if err := ln.SetDeadline(time.Now().Add(s.StepTimeout)); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	server, err := ln.Accept()
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &link{client: client, server: server}, nil
}

var errStuck = errors.New("a frame did not come through in time")

// carry sends a frame from one end and waits for a whole frame, the same or an altered one, at the other.
func (l *link) carry(dir wire.Direction, frame []byte, timeout time.Duration) error {
	from, to := l.client, l.server
	if dir == wire.Response {
		from, to = to, from
	}
	l.buf = binary.BigEndian.AppendUint32(l.buf[:0], uint32(len(frame)))
	l.buf = append(l.buf, frame...)
	sent := make(chan error, 1)
	go func() { // a frame larger than the socket buffers needs both ends at once
		_, err := from.Write(l.buf)
		sent <- err
	}()
	err := receive(to, timeout)
	if err != nil {
		_ = from.Close()
	}
	return errors.Join(err, <-sent)
}

func receive(conn net.Conn, timeout time.Duration) error {
	if err := conn.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return stuck(err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > wire.MaxFrameSize {
		return fmt.Errorf("received a frame size of %d", n)
	}
	_, err := io.CopyN(io.Discard, conn, int64(n))
	return stuck(err)
}

func stuck(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%w: %w", errStuck, err)
	}
	return err
}

// end closes the connection in the recorded way and waits until both ends know, so that what comes next in the
// recording comes next on the wire too. Which end began is not recorded; here it is the client.
func (l *link) end(reset bool, timeout time.Duration) {
	if tcp, ok := l.client.(*net.TCPConn); ok && !reset && tcp.CloseWrite() == nil {
		awaitEnd(l.server, timeout)
		_ = l.server.Close()
		awaitEnd(l.client, timeout)
	} else {
		l.reset()
		awaitEnd(l.server, timeout)
	}
	l.close(false)
}

// awaitEnd reads until the peer has ended the connection. Whatever the error is, the connection is over.
func awaitEnd(conn net.Conn, timeout time.Duration) {
	if conn.SetReadDeadline(time.Now().Add(timeout)) == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}

func (l *link) reset() {
	if tcp, ok := l.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = l.client.Close()
}

func (l *link) close(reset bool) {
	if reset {
		l.reset()
	}
	_ = l.client.Close()
	_ = l.server.Close()
}
