package controller

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// Nodes that never campaign vote for the one that does, and for no one else: however often it goes, it is the next leader, too. They ask
// nobody for a vote, not even whether they would get it.
func TestLeadership_NeverCampaign(t *testing.T) {
	var asked atomic.Int64
	var missed [4]atomic.Int64
	q := newQuorum(t, 3, 3, func(id kraft.NodeID, c *Config) {
		if id != 2 {
			c.Leadership = NeverCampaign
			c.Log = c.Log.Hook(zerolog.HookFunc(func(_ *zerolog.Event, _ zerolog.Level, text string) {
				if strings.HasPrefix(text, "Completed transition to Prospective") {
					missed[id].Add(1)
				}
			}))
			c.Dialer = DialFunc(func(ctx context.Context, a kraft.Address) (net.Conn, error) {
				conn, err := dialTCP(ctx, a)
				return voteCounter{conn, &asked}, err
			})
		}
	})
	q.start(1, 2, 3)
	epoch := kraft.Epoch(0)
	for range 3 {
		var leader kraft.NodeID
		if leader, epoch = q.leader(epoch); leader != 2 {
			t.Fatalf("node %v leads", leader)
		}
		for _, id := range []kraft.NodeID{1, 3} {
			q.wait(id, "it follows", func(s *Status) bool { return s.Role == kraft.FollowerRole && s.Epoch == epoch })
		}
		missed[1].Store(0)
		missed[3].Store(0)
		q.kill(2)
		for _, id := range []kraft.NodeID{1, 3} {
			q.wait(id, "it misses the leader", func(*Status) bool { return missed[id].Load() > 0 })
		}
		q.start(2)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests for votes were sent", n)
	}
}

// A voter that is removed while a BeginQuorumEpoch is on its way to it answers that it follows. Kafka's leader ends on that; ours does not.
func TestLeader_OutlivesTheAnswerOfAVoterThatWasRemoved(t *testing.T) {
	q := newQuorum(t, 3, 3, nil)
	q.start(1, 2, 3)
	answered := func(from func(leader kraft.NodeID) kraft.NodeID) kraft.Event {
		for {
			id, epoch := q.leader(0)
			result := make(chan kraft.Event, 1)
			must(t, q.nodes[id].ask(t.Context(), func(l *loop) {
				if l.m.QuorumState().Epoch != epoch { // it leads no more
					result <- nil
					return
				}
				about := kraft.Response{From: from(id)}
				result <- l.response(&message{event: &kraft.ReceiveBeginQuorumEpochResponse{
					Response: about, PartitionAnswer: kraft.PartitionAnswer{LeaderID: id, LeaderEpoch: epoch},
				}, instead: lost(about, kraft.BeginQuorumEpochAPI)})
			}))
			if ev := <-result; ev != nil {
				return ev
			}
		}
	}
	if ev, ok := answered(func(leader kraft.NodeID) kraft.NodeID { return leader%3 + 1 }).(*kraft.ReceiveBeginQuorumEpochResponse); !ok {
		t.Errorf("the answer of a voter became %v", ev)
	}
	if ev, ok := answered(func(kraft.NodeID) kraft.NodeID { return 9 }).(*kraft.RequestFailed); !ok || ev.From != 9 {
		t.Errorf("the answer of a node that is no voter is handled: %v", ev)
	}
}

// voteCounter counts the requests for votes that are written.
type voteCounter struct {
	net.Conn
	asked *atomic.Int64
}

func (c voteCounter) Write(p []byte) (int, error) {
	if len(p) >= 6 && binary.BigEndian.Uint16(p[4:]) == uint16(wire.KeyVote) {
		c.asked.Add(1)
	}
	return c.Conn.Write(p)
}

// countingFS counts how often segments of the log are made durable.
type countingFS struct {
	storage.FS
	syncs *atomic.Int64
}

type countingFile struct {
	storage.File
	syncs *atomic.Int64
}

func (c countingFS) OpenFile(name string, flag int, perm os.FileMode) (storage.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err == nil && strings.HasSuffix(name, ".log") {
		f = countingFile{f, c.syncs}
	}
	return f, err
}

func (f countingFile) Sync() error {
	f.syncs.Add(1)
	return f.File.Sync()
}

// Records that come while the disk is busy share a batch and a sync. Each is committed.
func TestAppend_GroupsWhatWaits(t *testing.T) {
	var syncs [4]atomic.Int64
	q := newQuorum(t, 3, 3, func(id kraft.NodeID, c *Config) {
		must(t, c.Directory.Close())
		dir, err := storage.OpenDirectory(countingFS{storage.OS(), &syncs[id]}, c.Directory.Path(), storage.Identity{NodeID: id})
		must(t, err)
		c.Directory = dir
	})
	q.start(1, 2, 3)
	leader, _ := q.leader(0)
	n := q.nodes[leader]
	before := syncs[leader].Load()
	const writers, each = 64, 10
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	committed := map[kraft.Offset]string{}
	for w := range writers {
		all.Go(func() {
			for i := range each {
				value := fmt.Sprintf("%d of writer %d", i, w)
				offset, err := n.Append(ctx, []byte(value))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				committed[offset] = value
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(committed) != writers*each {
		t.Errorf("%d records have an offset of their own, want %d", len(committed), writers*each)
	}
	for id := range q.nodes {
		q.kept(id, committed)
	}
	got := syncs[leader].Load() - before
	t.Logf("%d records took %d syncs of the leader", len(committed), got)
	if got > writers*each/2 {
		t.Errorf("%d records took %d syncs of the leader", len(committed), got)
	}
}
