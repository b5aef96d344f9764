package controller

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// server serves one listener.
type server struct {
	*Controller
	listener *Listener
	free     chan struct{} // has a token for each connection
	crowd    crowd
}

// accept takes connections until the listener is closed, and waits for the end of all of them. For one too many another one makes room; it is
// closed at once if all of them are being served.
func (s *server) accept(ctx context.Context) {
	var conns sync.WaitGroup
	defer conns.Wait()
	serve := func(conn net.Conn) {
		s.crowd.waits(conn)
		conns.Go(func() {
			defer func() { <-s.free }()
			s.serve(ctx, conn)
		})
	}
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			s.cfg.Log.Warn().Err(err).Msg("accept")
			select { // out of file descriptors, for example
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
				continue
			}
		}
		select {
		case s.free <- struct{}{}:
			serve(conn)
		default:
			if s.crowd.makeRoom() && s.place(ctx) {
				serve(conn)
				continue
			}
			s.cfg.Log.Warn().Stringer("peer", conn.RemoteAddr()).Int("connections", cap(s.free)).Msg("too many connections: closed")
			_ = conn.Close()
		}
	}
}

// place waits until a connection that was closed gives its place back. It may just have begun to be served.
func (s *server) place(ctx context.Context) bool {
	late := time.NewTimer(time.Second)
	defer late.Stop()
	select {
	case s.free <- struct{}{}:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// session is what a connection is served with: one request after the other.
type session struct {
	*server
	conn     net.Conn
	raw      net.Conn // below what a Handshake has put around it
	decoder  wire.Decoder
	software string // of the client, from ApiVersions
	frame    []byte
	request  request
}

func (s *server) serve(ctx context.Context, conn net.Conn) {
	raw := conn
	defer func() { _ = raw.Close() }()
	unhook := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer unhook()
	k := &session{server: s, conn: conn, raw: raw}
	defer s.crowd.stirs(raw)
	k.request.done = make(chan bool, 1)
	if s.listener.Handshake != nil {
		limit, cancel := context.WithTimeout(ctx, s.cfg.Limits.Frame)
		secured, err := s.listener.Handshake(limit, conn, k.apiVersionsFrame)
		cancel()
		if err != nil {
			s.cfg.Log.Warn().Err(err).Stringer("peer", raw.RemoteAddr()).Msg("handshake failed")
			return
		}
		k.conn = secured
		defer func() { _ = secured.Close() }()
	}
	err := k.serve(ctx)
	if ctx.Err() == nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		s.cfg.Log.Warn().Err(err).Stringer("peer", raw.RemoteAddr()).Msg("connection closed")
	}
}

// keptResponse is the most memory that a connection keeps for its next response: a follower asks for a MiB, and anyone may ask for more once and
// then say nothing.
const keptResponse = 2 << 20

// serve returns why it ends, io.EOF when the client has gone.
func (k *session) serve(ctx context.Context) error {
	for {
		if err := k.read(); err != nil {
			return err
		}
		response, err := k.answer(ctx)
		if err != nil {
			return err
		}
		if err := k.conn.SetWriteDeadline(time.Now().Add(k.cfg.Limits.Frame)); err != nil {
			return err
		}
		if _, err := k.conn.Write(response); err != nil {
			return err
		}
		if cap(k.request.response) > keptResponse {
			k.request.response = nil
		}
	}
}

// read reads one frame without its size. A client may be silent for long between two of them, but not within one.
func (k *session) read() (err error) {
	k.crowd.waits(k.raw)
	defer k.crowd.stirs(k.raw)
	k.frame, err = readFrame(k.conn, k.frame, k.cfg.Limits.RequestBytes, k.cfg.Limits.Idle, k.cfg.Limits.Frame)
	return err
}

// readFrame reads into the storage of dst. Memory is taken as bytes arrive, not as the size claims.
func readFrame(conn net.Conn, dst []byte, limit int, idle, frame time.Duration) ([]byte, error) {
	var head [4]byte
	if err := conn.SetReadDeadline(time.Now().Add(idle)); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(conn, head[:1]); err != nil {
		return nil, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(frame)); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(conn, head[1:]); err != nil {
		return nil, fmt.Errorf("frame cut off: %w", noEOF(err))
	}
	size := int(int32(binary.BigEndian.Uint32(head[:])))
	if size < 0 || size > limit {
		return nil, fmt.Errorf("frame of %d bytes: at most %d are taken", size, limit)
	}
	const step = 64 << 10
	dst = dst[:0]
	if cap(dst) > 16*step && size < step {
		dst = nil // the memory of a rare big frame
	}
	if size <= cap(dst) {
		dst = dst[:size]
		if _, err := io.ReadFull(conn, dst); err != nil {
			return nil, fmt.Errorf("frame of %d bytes cut off: %w", size, noEOF(err))
		}
		return dst, nil
	}
	for len(dst) < size {
		at := len(dst)
		n := min(size-at, max(step, at))
		dst = append(dst, make([]byte, n)...)
		if _, err := io.ReadFull(conn, dst[at:]); err != nil {
			return nil, fmt.Errorf("frame of %d bytes cut off: %w", size, noEOF(err))
		}
	}
	return dst, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// answer is the response frame, with its size, to the request in hand.
func (k *session) answer(ctx context.Context) ([]byte, error) {
	h, body, err := wire.ParseRequestHeader(k.frame)
	if err != nil {
		return nil, err
	}
	if h.Key == wire.KeyAPIVersions {
		return k.apiVersions(&h, body)
	}
	if r, ok := k.cfg.Profile.Range(kraft.APIKey(h.Key)); ok {
		if h.Version < r.Min || h.Version > r.Max {
			return nil, fmt.Errorf("%s v%d: served are %d to %d", wire.Name(h.Key), h.Version, r.Min, r.Max)
		}
		return k.askMachine(ctx, &h, body)
	}
	return k.askHandler(ctx, &h, body)
}

// askMachine sends the request to the loop and waits for its reply.
func (k *session) askMachine(ctx context.Context, h *wire.RequestHeader, body []byte) ([]byte, error) {
	r := &k.request
	r.id = kraft.RequestID(k.nextRequest.Add(1))
	r.header, r.body, r.peer, r.software = *h, body, k.conn.RemoteAddr(), k.software
	event, err := k.decoder.KRaftRequest(h.Key, h.Version, body, kraft.Request{ID: r.id, Listener: k.listener.Name, From: kraft.NoNode})
	if err != nil {
		return nil, err
	}
	select {
	case k.inbox <- &message{event: event, request: r}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case ok := <-r.done:
		if !ok {
			return nil, fmt.Errorf("%s v%d is not answered", wire.Name(h.Key), h.Version)
		}
		return r.response, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// askHandler has the request answered by the layer above.
func (k *session) askHandler(ctx context.Context, h *wire.RequestHeader, body []byte) ([]byte, error) {
	for _, r := range k.otherAPIs() {
		if r.API != kraft.APIKey(h.Key) || h.Version < r.Min || h.Version > r.Max {
			continue
		}
		answer, err := k.cfg.Handler.Handle(ctx, &Request{
			Key: h.Key, Version: h.Version, ClientID: string(h.ClientID), Listener: k.listener.Name, Conn: k.conn, Body: body,
		})
		if err != nil {
			return nil, fmt.Errorf("%s v%d: %w", wire.Name(h.Key), h.Version, err)
		}
		return endResponse(append(beginResponse(nil, h), answer...)), nil
	}
	return nil, fmt.Errorf("%s v%d is not served here", wire.Name(h.Key), h.Version)
}
