package secure

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// ListenOptions bound what peers that are not ready yet can cost.
type ListenOptions struct {
	HandshakeTimeout time.Duration // 0: 10 s
	Handshakes       int           // at a time; 0: 256. Further peers wait in the kernel's queue
	APIVersions      APIVersions
	Refused          func(error) // is told of each peer that did not become ready; may be nil
}

// Conn is a connection that is ready, and who is at its other end.
type Conn struct {
	net.Conn
	Peer Principal
}

// Listener yields connections that are ready. A peer that is slow or hostile keeps the others waiting only together with Handshakes more of its kind.
type Listener struct {
	net.Listener
	config  Config
	options ListenOptions
	ready   chan *Conn
	slots   chan struct{}
	ended   chan struct{} // no more is accepted; err says why
	err     error
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// Listen guards a listener. The caller closes what it returns, which closes tcp and ends all handshakes.
func Listen(tcp net.Listener, config Config, options ListenOptions) *Listener {
	if options.HandshakeTimeout == 0 {
		options.HandshakeTimeout = 10 * time.Second
	}
	if options.Handshakes == 0 {
		options.Handshakes = 256
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Listener{
		Listener: tcp, config: config, options: options, cancel: cancel,
		ready: make(chan *Conn), slots: make(chan struct{}, options.Handshakes), ended: make(chan struct{}),
	}
	l.wg.Go(func() { l.serve(ctx) })
	return l
}

// Accept is the next connection that is ready: a *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.ended:
		return nil, l.err
	}
}

// Close ends the listener and every handshake. Connections that Accept has returned are their owners'.
func (l *Listener) Close() error {
	l.cancel()
	err := l.Listener.Close()
	l.wg.Wait()
	return err
}

func (l *Listener) serve(ctx context.Context) {
	defer close(l.ended)
	for {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			l.err = net.ErrClosed
			return
		}
		conn, err := l.Listener.Accept()
		if err != nil {
			<-l.slots
			if temporary(ctx, err) {
				continue
			}
			l.err = err
			return
		}
		l.wg.Go(func() {
			defer func() { <-l.slots }()
			l.handshake(ctx, conn)
		})
	}
}

// temporary waits a moment after an error such as one of too many open files, which ends no listener.
func temporary(ctx context.Context, err error) bool {
	var e interface{ Temporary() bool }
	if ctx.Err() != nil || !errors.As(err, &e) || !e.Temporary() {
		return false
	}
	wait(ctx, 50*time.Millisecond)
	return ctx.Err() == nil
}

func (l *Listener) handshake(ctx context.Context, conn net.Conn) {
	bounded, cancel := context.WithTimeout(ctx, l.options.HandshakeTimeout)
	defer cancel()
	ready, peer, err := l.config.Accept(bounded, conn, l.options.APIVersions)
	if err != nil {
		if l.options.Refused != nil && ctx.Err() == nil {
			l.options.Refused(err)
		}
		return
	}
	select {
	case l.ready <- &Conn{Conn: ready, Peer: peer}:
	case <-ctx.Done():
		_ = ready.Close()
	}
}

// Handshake is Accept in the form that a server wants which runs its own goroutine for each connection. What it returns is a *Conn.
func (c *Config) Handshake(ctx context.Context, conn net.Conn, versions func(request []byte) (response []byte, err error)) (net.Conn, error) {
	ready, peer, err := c.Accept(ctx, conn, versions)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: ready, Peer: peer}, nil
}
