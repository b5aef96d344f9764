//go:build linux

package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// listen opens a port and tells the parent which one.
func listen() (net.Listener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stdout, ln.Addr())
	return ln, nil
}

// backend answers each request frame at once with the template and the request's correlation id.
func backend() error {
	ln, err := listen()
	if err != nil {
		return err
	}
	for {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		go answer(conn)
	}
}

func answer(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := make([]byte, 256<<10)
	var out []byte
	held := 0
	for {
		n, err := conn.Read(in[held:])
		if err != nil {
			return
		}
		held += n
		at := 0
		out = out[:0]
		for held-at >= 4 {
			size := 4 + int(binary.BigEndian.Uint32(in[at:]))
			if held-at < size {
				break
			}
			start := len(out)
			out = append(out, fetchResponse...)
			copy(out[start+responseID:start+responseID+4], in[at+requestID:])
			at += size
		}
		held = copy(in, in[at:held])
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

// bare is the relay everything is compared with: io.Copy both ways.
func bare(upstream string) error {
	ln, err := listen()
	if err != nil {
		return err
	}
	for {
		client, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			server, err := net.Dial("tcp", upstream)
			if err != nil {
				_ = client.Close()
				return
			}
			copyBoth(client.(*net.TCPConn), server.(*net.TCPConn))
		}()
	}
}

func copyBoth(a, b *net.TCPConn) {
	var wait sync.WaitGroup
	wait.Go(func() { _, _ = io.Copy(b, a); _ = b.CloseWrite() })
	wait.Go(func() { _, _ = io.Copy(a, b); _ = a.CloseWrite() })
	wait.Wait()
	_ = a.Close()
	_ = b.Close()
}

// task is one slice of load, as the parent asks for it.
type task struct {
	Target string `json:"target"`
	Conns  int    `json:"conns"`
	Depth  int    `json:"depth"`
	Millis int    `json:"millis"`
}

// outcome is what a slice came to.
type outcome struct {
	Requests int64   `json:"requests"`
	Seconds  float64 `json:"seconds"`
	P50      float64 `json:"p50"` // of a request, microseconds
	P99      float64 `json:"p99"`
	Error    string  `json:"error,omitempty"`

	Calls float64 `json:"-"` // read and write calls of the target, a request
	Busy  float64 `json:"-"` // its processor time, microseconds a request
}

// load runs slices as the parent asks, one JSON line each. Connections stay open between slices.
func load() error {
	in := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	open := map[string][]*client{}
	for in.Scan() {
		var t task
		if err := json.Unmarshal(in.Bytes(), &t); err != nil {
			return err
		}
		result, err := t.run(open)
		if err != nil {
			result.Error = err.Error()
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
	return in.Err()
}

func (t *task) run(open map[string][]*client) (o outcome, err error) {
	for len(open[t.Target]) < t.Conns {
		conn, err := net.Dial("tcp", t.Target)
		if err != nil {
			return o, err
		}
		open[t.Target] = append(open[t.Target], newClient(conn))
	}
	clients := open[t.Target][:t.Conns]
	begin := time.Now()
	until := begin.Add(time.Duration(t.Millis) * time.Millisecond)
	var wait sync.WaitGroup
	for _, c := range clients {
		wait.Go(func() { c.err = c.exchange(t.Depth, until) })
	}
	wait.Wait()
	o.Seconds = time.Since(begin).Seconds()
	var all []int64
	for _, c := range clients {
		if c.err != nil {
			err = c.err
		}
		o.Requests += c.requests
		all = append(all, c.took...)
	}
	if len(all) == 0 {
		return o, err
	}
	slices.Sort(all)
	at := func(q float64) float64 { return float64(all[min(len(all)-1, int(q*float64(len(all))))]) / 1000 }
	o.P50, o.P99 = at(0.5), at(0.99)
	return o, err
}

// client keeps a number of requests open on one connection.
type client struct {
	conn     net.Conn
	request  []byte
	next     int32
	in       []byte
	sent     []time.Time
	took     []int64 // nanoseconds
	requests int64
	err      error
}

func newClient(conn net.Conn) *client {
	return &client{conn: conn, in: make([]byte, 64<<10)}
}

// exchange keeps depth requests under way until the time is over, then reads the last answers.
func (c *client) exchange(depth int, until time.Time) error {
	c.took, c.requests = c.took[:0], 0
	c.sent = c.sent[:0]
	if err := c.send(depth); err != nil {
		return err
	}
	expect := c.next - int32(depth)
	held := 0
	for expect != c.next {
		n, err := c.conn.Read(c.in[held:])
		if err != nil {
			return err
		}
		held += n
		now := time.Now()
		at, answers := 0, 0
		for ; held-at >= len(fetchResponse); at += len(fetchResponse) {
			if id := int32(binary.BigEndian.Uint32(c.in[at+responseID:])); id != expect {
				return fmt.Errorf("answer %d where %d was expected", id, expect)
			}
			c.took = append(c.took, int64(now.Sub(c.sent[answers])))
			expect++
			answers++
		}
		held = copy(c.in, c.in[at:held])
		c.sent = c.sent[:copy(c.sent, c.sent[answers:])]
		c.requests += int64(answers)
		if answers > 0 && now.Before(until) {
			if err := c.send(answers); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *client) send(n int) error {
	c.request = c.request[:0]
	now := time.Now()
	for range n {
		start := len(c.request)
		c.request = append(c.request, fetchRequest...)
		binary.BigEndian.PutUint32(c.request[start+requestID:], uint32(c.next))
		c.next++
		c.sent = append(c.sent, now)
	}
	_, err := c.conn.Write(c.request)
	return err
}
