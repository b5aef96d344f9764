package conform

import (
	"bufio"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// maxKey is above every api key.
const maxKey = 100

// misshapen are the requests of a key and version that have other than one topic with one partition; of a key without topics the empty one.
func misshapen(key, version int16) (list []kmsg.Request) {
	add := func(topics, partitions int) {
		m := kmsg.RequestForKey(key)
		m.SetVersion(version)
		if v := reflect.ValueOf(m).Elem().FieldByName("Topics"); v.IsValid() && v.Kind() == reflect.Slice {
			resize(v, topics)
			for i := range topics {
				if v.Index(i).Kind() != reflect.Struct {
					continue
				}
				if p := v.Index(i).FieldByName("Partitions"); p.IsValid() && p.Kind() == reflect.Slice {
					resize(p, partitions)
				}
			}
		}
		list = append(list, m)
	}
	add(0, 0)
	add(1, 0)
	add(2, 1)
	add(1, 2)
	return list
}

// TestPeers_ListenToNoMisshapenRequest sends a peer every request there is without topics or partitions, or with too many, in each version.
// What enters the inbox may be read without another look, and what does not is remembered.
func TestPeers_ListenToNoMisshapenRequest(t *testing.T) {
	p, err := newPeers(map[kraft.NodeID]string{2: "127.0.0.1:0"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	address := p.listeners[0].Addr().String()
	p.setLeader(2, 0)
	sent := 0
	for key := range int16(maxKey) {
		m := kmsg.RequestForKey(key)
		if m == nil {
			continue
		}
		for version := range m.MaxVersion() + 2 {
			for _, m := range misshapen(key, version) {
				p.set(func(p *peers) { p.odd = nil })
				c, err := dial(t.Context(), &Options{}, address)
				if err != nil {
					t.Fatal(err)
				}
				frame, _ := c.frame(m, header{})
				if _, err := c.conn.Write(frame); err != nil {
					t.Fatal(err)
				}
				if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, c.in)
				c.close()
				sent++
				var odd error
				p.set(func(p *peers) { odd = p.odd })
				if wrong := onePartition(m) != nil; wrong != (odd != nil) {
					t.Errorf("%s v%d %+v: %v", apiName(key), version, m, odd)
				}
			}
		}
	}
	heard := 0
	for len(p.inbox) > 0 {
		r := <-p.inbox
		heard++
		switch r.message.Key() {
		case wire.KeyFetch, wire.KeyVote, wire.KeyBeginQuorumEpoch, wire.KeyEndQuorumEpoch, wire.KeyFetchSnapshot, wire.KeyDescribeQuorum:
			t.Errorf("it listens to %s", r)
		}
	}
	if sent < 1000 || heard < 100 {
		t.Errorf("%d requests, %d of which are of kinds that it does not read", sent, heard)
	}
}

// TestOwn_AStrangerAtAVoterIsNoHindrance has somebody send a voter of the suite, all the time, requests in which there is nothing to read.
func TestOwn_AStrangerAtAVoterIsNoHindrance(t *testing.T) {
	t.Parallel() // it waits most of its time
	_, o := ourOwnOf(t, 1, nil, "^(unattached/fetches-to|candidate/stands-with|leader/(announces-itself|keeps-account)|follower/(appends|truncates|believes|tells)|dynamic/(asks-for|describes))")
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { pester(t, o.Voters[2], done) })
	playsWell(t, o)
	close(done)
	all.Wait()
}

// pester sends what is misshapen to an address until it is done.
func pester(t *testing.T, address string, done chan struct{}) {
	for {
		for _, key := range []int16{wire.KeyFetch, wire.KeyVote, wire.KeyBeginQuorumEpoch, wire.KeyEndQuorumEpoch, wire.KeyFetchSnapshot, wire.KeyDescribeQuorum} {
			for _, m := range misshapen(key, 1) {
				select {
				case <-done:
					return
				case <-time.After(2 * time.Millisecond):
				}
				c, err := dial(t.Context(), &Options{}, address)
				if err != nil {
					continue
				}
				frame, _ := c.frame(m, header{})
				_, _ = c.conn.Write(frame)
				c.close()
			}
		}
	}
}

// emptied is a relay at an address, in front of a voter of the suite, that takes the topics out of Fetches once it is told to.
func emptied(t *testing.T, address, voter string, now *atomic.Bool) {
	t.Helper()
	listenAt(t, address, func(client net.Conn) {
		server, err := net.Dial("tcp", voter)
		if err != nil {
			return
		}
		defer func() { _ = server.Close() }()
		in, out := bufio.NewReader(client), bufio.NewReader(server)
		for {
			frame, err := readFrame(in)
			if err != nil {
				return
			}
			if h, body, err := wire.ParseRequestHeader(frame); err == nil && h.Key == wire.KeyFetch && now.Load() {
				m := &kmsg.FetchRequest{Version: h.Version}
				if err := m.ReadFrom(body); err != nil {
					t.Error(err)
				}
				m.Topics = nil
				frame = m.AppendTo(frame[:len(frame)-len(body)])
			}
			if writeFrame(server, frame) != nil {
				return
			}
			answer, err := readFrame(out)
			if err != nil || writeFrame(client, answer) != nil {
				return
			}
		}
	})
}

// TestOwn_ATargetThatFetchesNothingFails has a target send Fetches without a topic: the scenario fails, and says why.
func TestOwn_ATargetThatFetchesNothingFails(t *testing.T) {
	t.Parallel() // it waits most of its time
	var now atomic.Bool
	_, o := ourOwn(t, "^(unattached/votes-once|follower/fetches-from-the-leader)$")
	o.Listen = map[kraft.NodeID]string{}
	for id, address := range o.Voters {
		o.Listen[id] = dialable(freeAddress(t))
		emptied(t, address, o.Listen[id], &now)
	}
	o.Progress = func(int, int, *Result) { now.Store(true) }
	report, err := RunOwn(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r := &report.Results[1]; r.Outcome != Failed || !strings.Contains(r.Why, "did not fetch from node 2") || !strings.Contains(r.Why, errShape.Error()+", not 0 topics") {
		t.Errorf("%s: %s %s", r.Case.ID, r.Outcome, r.Why)
	}
}
