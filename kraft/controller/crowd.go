package controller

import (
	"net"
	"sync"
	"time"
)

// crowd are the connections of a listener that wait for their clients to say something. When there are too many connections the one that has
// waited for longest makes room (Kafka: SocketServer.ConnectionQuotas closes the least recently used one, KIP-402): so peers that
// come and say nothing keep none of the others out, and those that fetch, twice a second at least, are not the ones that go.
type crowd struct {
	mu    sync.Mutex
	since map[net.Conn]time.Time
}

// waits is told that a connection waits from now on.
func (c *crowd) waits(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since == nil {
		c.since = map[net.Conn]time.Time{}
	}
	c.since[conn] = time.Now()
}

// stirs is told that it waits no longer: it is served, or has ended.
func (c *crowd) stirs(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.since, conn)
}

// makeRoom closes the connection that has waited for longest; false if none waits.
func (c *crowd) makeRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var oldest net.Conn
	for conn, since := range c.since {
		if oldest == nil || since.Before(c.since[oldest]) {
			oldest = conn
		}
	}
	if oldest == nil {
		return false
	}
	delete(c.since, oldest)
	_ = oldest.Close()
	return true
}
