package conform

import (
	"bufio"
	"context"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// narrow is a relay in front of a node, which serves no more connections than it was configured for.
type narrow struct {
	node  string
	room  int           // connections at once; 0: any number
	waits bool          // those above stay unserved, instead of being closed
	idle  time.Duration // a connection on which nothing is said for so long is closed; 0: never
	// stuck has the relay serve nobody new while it waits for the rest of a frame: no limit, but a fault.
	stuck bool

	mu     sync.Mutex
	served int
	halves int
	free   *sync.Cond
}

func (n *narrow) enter() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.room > 0 && n.served >= n.room || n.stuck && n.halves > 0 {
		if !n.waits && !n.stuck {
			return false
		}
		n.free.Wait()
	}
	n.served++
	return true
}

func (n *narrow) leave(half bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if half {
		n.halves--
	} else {
		n.served--
	}
	n.free.Broadcast()
}

func (n *narrow) serve(client net.Conn) {
	if !n.enter() {
		return
	}
	defer n.leave(false)
	server, err := net.Dial("tcp", n.node)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	in, out := bufio.NewReader(client), bufio.NewReader(server)
	for {
		if n.idle > 0 {
			_ = client.SetReadDeadline(time.Now().Add(n.idle))
		}
		if n.stuck {
			if _, err := in.Peek(1); err != nil {
				return
			}
			n.mu.Lock()
			n.halves++
			n.mu.Unlock()
		}
		request, err := readFrame(in)
		if n.stuck {
			n.leave(true)
		}
		if err != nil || writeFrame(server, request) != nil {
			return
		}
		answer, err := readFrame(out)
		if err != nil || writeFrame(client, answer) != nil {
			return
		}
	}
}

// TestHostile_ALimitOfConnectionsIsNoFault attacks nodes that take few connections, as max.connections.per.ip and its like have them. What
// stands still by itself is a fault all the same.
func TestHostile_ALimitOfConnectionsIsNoFault(t *testing.T) {
	t.Parallel() // it waits most of its time
	node := ourPair(t)[0]
	const connections = "^hostile/(bytes/random|connections/(idle|churn|half-a-size|half-a-frame|asks-and-goes))$"
	for _, x := range []struct {
		name, match string
		front       *narrow
		want        Outcome
		says        string
	}{
		{"closes the thirtieth", connections, &narrow{room: 30}, Passed, "takes 30 at once"},
		{"leaves the thirtieth waiting", connections, &narrow{room: 30, waits: true}, Passed, "takes 30 at once"},
		{"has next to no room", "^hostile/connections/idle$", &narrow{room: 5}, Inconclusive, "max.connections.per.ip"},
		{"has room for all", connections, &narrow{}, Passed, ""},
		{"waits for the rest of a frame", "^hostile/connections/half-a-frame$", &narrow{stuck: true}, Failed, errNobodyNew.Error()},
	} {
		t.Run(x.name, func(t *testing.T) {
			front := x.front
			front.node, front.free = dialable(node.address), sync.NewCond(&front.mu)
			address := listen(t, front.serve)
			o := node.options()
			real := o.Address
			o.Address, o.Hostility, o.Match, o.Patience = address, Hostile, regexp.MustCompile(x.match), 2*time.Second
			o.Dial = func(ctx context.Context, to string) (net.Conn, error) {
				if to != real { // the front in place of the node
					return plain(ctx, to)
				}
				return plain(ctx, address)
			}
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			told := x.says == ""
			for i := range report.Results {
				r := &report.Results[i]
				told = told || strings.Contains(r.Why, x.says)
				if r.Outcome != x.want {
					t.Errorf("%s: %s %s, want %s", r.Case.ID, r.Outcome, r.Why, x.want)
				}
			}
			if len(report.Results) == 0 || !told {
				t.Errorf("nothing says %q of %d attacks", x.says, len(report.Results))
			}
			_ = report.WriteText(io.Discard, true)
		})
	}
}

// TestHostile_AnEndByAgeIsNoFault: a connection from before the attack was closed. A target that closes one that has done nothing after the
// same time is configured so.
func TestHostile_AnEndByAgeIsNoFault(t *testing.T) {
	t.Parallel() // it waits most of its time
	node := ourPair(t)[0]
	for _, x := range []struct {
		name string
		idle time.Duration
		age  time.Duration
		says string
	}{
		{"it closes what is silent", 2 * time.Second, 3 * time.Second, "connections.max.idle.ms"},
		{"it closes nothing by itself", 0, 100 * time.Millisecond, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			front := &narrow{node: dialable(node.address), idle: x.idle}
			front.free = sync.NewCond(&front.mu)
			o := node.options()
			o.Address = listen(t, front.serve)
			s := newStriker(t.Context(), &o, &Target{Profile: newestProfile()}, "")
			again, why := o.limited(t.Context(), &Attack{}, s, &witness{since: time.Now().Add(-x.age)}, errDropped)
			if again || (why == "") != (x.says == "") || !strings.Contains(why, x.says) {
				t.Errorf("again %v, %q, want %q", again, why, x.says)
			}
		})
	}
}
