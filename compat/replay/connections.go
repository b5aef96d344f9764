package replay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/understudy-kafka/understudy/kraft"
)

// Connections hands over the connections that the node makes to its peers.
type Connections struct {
	ready     chan connection
	listeners []net.Listener
	accepting sync.WaitGroup
	closed    chan struct{}
}

type connection struct {
	peer kraft.NodeID
	net.Conn
}

// NewConnections is for connections that are added.
func NewConnections() *Connections {
	return &Connections{ready: make(chan connection), closed: make(chan struct{})}
}

// ListenFor listens for peers at the addresses where the node dials them. Close it after use.
func ListenFor(peers map[kraft.NodeID]string) (*Connections, error) {
	c := NewConnections()
	for peer, address := range peers {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listen for node %s, where the replayed node dials it: %w", peer, err), c.Close())
		}
		c.listeners = append(c.listeners, ln)
		c.accepting.Go(func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				c.Add(context.Background(), peer, conn)
			}
		})
	}
	return c, nil
}

// Add hands a connection over. It is closed, and Add says no, if nobody takes it before the context ends.
func (c *Connections) Add(ctx context.Context, peer kraft.NodeID, conn net.Conn) bool {
	select {
	case c.ready <- connection{peer, conn}:
		return true
	case <-c.closed:
	case <-ctx.Done():
	}
	_ = conn.Close()
	return false
}

// Close ends the listening.
func (c *Connections) Close() (err error) {
	close(c.closed)
	for _, ln := range c.listeners {
		err = errors.Join(err, ln.Close())
	}
	c.accepting.Wait()
	return err
}

func (c *Connections) next(ctx context.Context) (kraft.NodeID, net.Conn, bool) {
	select {
	case conn := <-c.ready:
		return conn.peer, conn.Conn, true
	case <-ctx.Done():
		return kraft.NoNode, nil, false
	}
}
