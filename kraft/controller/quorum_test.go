package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

const (
	testCluster  = "Zb2Q7XmVQ3yq0Yt0cJ3n0A"
	testListener = "CONTROLLER"
	patience     = 30 * time.Second // for what happens within a second on a quiet machine
)

// fast fails over within half a second; a Fetch is parked for up to 500 ms, so the fetch timeout is a bit longer.
var fast = kraft.QuorumTimeouts{ElectionMs: 150, FetchMs: 900, ElectionBackoffMaxMs: 150, RequestMs: 1000, RetryBackoffMs: 20}

// quorum is a number of nodes on files and loopback sockets in this process.
type quorum struct {
	t     testing.TB
	dir   string
	set   kraft.VoterSet
	edit  func(id kraft.NodeID, c *Config) // may be nil
	nodes map[kraft.NodeID]*testNode
}

type testNode struct {
	*Controller
	address kraft.Address
	dir     string
	key     kraft.ReplicaKey
	stop    context.CancelFunc
	ended   chan error
}

// newQuorum formats nodes 1 to n, of which the first voters are the voters. Nothing runs yet.
func newQuorum(t testing.TB, n, voters int, edit func(kraft.NodeID, *Config)) *quorum {
	t.Helper()
	q := &quorum{t: t, dir: t.TempDir(), edit: edit, nodes: map[kraft.NodeID]*testNode{}}
	var list []kraft.Voter
	for i := range n {
		id := kraft.NodeID(i + 1)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		must(t, ln.Close())
		node := &testNode{dir: filepath.Join(q.dir, id.String()), key: kraft.ReplicaKey{ID: id, DirectoryID: storage.NewDirectoryID()}}
		node.address = kraft.Address{Host: "127.0.0.1", Port: uint16(ln.Addr().(*net.TCPAddr).Port)}
		q.nodes[id] = node
		if i < voters {
			list = append(list, kraft.Voter{Key: node.key, Endpoints: node.endpoints(), Versions: kraft.VersionRange{Max: 1}})
		}
	}
	q.set = kraft.NewVoterSet(list...)
	for id := range q.nodes {
		q.format(id)
	}
	t.Cleanup(q.closeAll)
	return q
}

func (n *testNode) endpoints() kraft.Endpoints {
	return kraft.NewEndpoints(kraft.Endpoint{Name: testListener, Address: n.address})
}

func (q *quorum) format(id kraft.NodeID) {
	q.t.Helper()
	n := q.nodes[id]
	s := storage.FormatSpec{
		ClusterID: testCluster, NodeID: id, DirectoryID: n.key.DirectoryID, MetadataDir: n.dir, Controller: true, KRaftVersion: 1,
		Voters: q.set, OneCheckpoint: true, Now: time.Now(),
	}
	must(q.t, storage.Format(storage.OS(), &s))
}

func (q *quorum) config(id kraft.NodeID) Config {
	q.t.Helper()
	n := q.nodes[id]
	dir, err := storage.OpenDirectory(storage.OS(), n.dir, storage.Identity{ClusterID: testCluster, NodeID: id})
	must(q.t, err)
	ln, err := net.Listen("tcp", n.address.String())
	must(q.t, err)
	profile, err := compat.ByRelease("4.4.0")
	must(q.t, err)
	cfg := Config{
		Directory: dir, Profile: profile, Timeouts: fast, Endpoints: n.endpoints(),
		Listeners: []Listener{{Name: testListener, Listener: ln}}, Log: testLog(q.t, id),
	}
	for _, other := range q.nodes {
		cfg.BootstrapServers = append(cfg.BootstrapServers, other.address)
	}
	if q.edit != nil {
		q.edit(id, &cfg)
	}
	return cfg
}

// testLog keeps what nodes say for a test that fails.
func testLog(t testing.TB, id kraft.NodeID) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).With().Int32("node", int32(id)).Logger().Level(zerolog.InfoLevel)
}

func (q *quorum) start(ids ...kraft.NodeID) {
	q.t.Helper()
	for _, id := range ids {
		n := q.nodes[id]
		c, err := New(q.config(id))
		must(q.t, err)
		var ctx context.Context
		ctx, n.stop = context.WithCancel(context.Background())
		n.Controller, n.ended = c, make(chan error, 1)
		go func() { n.ended <- c.Run(ctx) }()
	}
}

// kill ends a node without a word; what it has not made durable may be lost or not.
func (q *quorum) kill(id kraft.NodeID) {
	q.t.Helper()
	q.nodes[id].Close()
	q.join(id)
}

// join waits for the end of a node.
func (q *quorum) join(id kraft.NodeID) {
	q.t.Helper()
	n := q.nodes[id]
	select {
	case err := <-n.ended:
		if err != nil {
			q.t.Errorf("node %v ended: %v", id, err)
		}
	case <-time.After(patience):
		q.t.Fatalf("node %v does not end", id)
	}
	n.stop()
	n.Controller = nil
}

func (q *quorum) closeAll() {
	var all sync.WaitGroup
	for id, n := range q.nodes {
		if n.Controller != nil {
			all.Go(func() { q.kill(id) })
		}
	}
	all.Wait()
}

// leader waits for a leader of an epoch above, and for it to know a high watermark.
func (q *quorum) leader(above kraft.Epoch) (kraft.NodeID, kraft.Epoch) {
	q.t.Helper()
	type found struct {
		id    kraft.NodeID
		epoch kraft.Epoch
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	first := make(chan found, len(q.nodes))
	var all sync.WaitGroup
	for id, n := range q.nodes {
		if c := n.Controller; c != nil {
			all.Go(func() {
				s, err := c.Wait(ctx, func(s *Status) bool { return s.Role == kraft.LeaderRole && s.Epoch > above && s.Known > 0 })
				if err == nil {
					first <- found{id, s.Epoch}
					cancel()
				}
			})
		}
	}
	all.Wait()
	select {
	case f := <-first:
		return f.id, f.epoch
	default:
		q.t.Fatalf("no leader of an epoch above %d", above)
		return 0, 0
	}
}

func (q *quorum) wait(id kraft.NodeID, what string, wanted func(*Status) bool) Status {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := q.nodes[id].Wait(ctx, wanted)
	if err != nil {
		q.t.Fatalf("waiting until %s: %v", what, err)
	}
	return s
}

// write appends records through whoever leads, and returns those that were committed.
func (q *quorum) write(n int) (committed map[kraft.Offset]string) {
	q.t.Helper()
	committed = map[kraft.Offset]string{}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := 0; i < n; {
		id, _ := q.leader(0)
		value := fmt.Sprintf("record %d by way of %v at %d", i, id, time.Now().UnixNano())
		offset, err := q.nodes[id].Append(ctx, []byte(value))
		switch {
		case err == nil:
			committed[offset] = value
			i++
		case errors.Is(err, ErrNotLeader) || errors.Is(err, ErrUnknownOutcome):
		default:
			q.t.Fatal(err)
		}
	}
	return committed
}

// equalLogs waits until all running nodes have the log up to an offset, and compares the bytes.
func (q *quorum) equalLogs(upTo kraft.Offset) {
	q.t.Helper()
	var reference []byte
	for id, n := range q.nodes {
		if n.Controller == nil {
			continue
		}
		q.wait(id, fmt.Sprintf("it knows that %d is committed", upTo), func(s *Status) bool { return s.HighWatermark >= upTo })
		log := q.read(id, upTo)
		if reference == nil {
			reference = log
		}
		if !bytes.Equal(reference, log) {
			q.t.Fatalf("the logs differ before offset %d: %d and %d bytes", upTo, len(reference), len(log))
		}
	}
}

// read is the log of a node from its first file on.
func (q *quorum) read(id kraft.NodeID, upTo kraft.Offset) []byte {
	q.t.Helper()
	log, err := os.ReadFile(filepath.Join(q.nodes[id].dir, storage.PartitionDir, "00000000000000000000.log"))
	must(q.t, err)
	return cutAt(q.t, log, upTo)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wipe gives a node an empty disk under the same identity.
func (q *quorum) wipe(id kraft.NodeID) {
	q.t.Helper()
	must(q.t, os.RemoveAll(q.nodes[id].dir))
	q.format(id)
}
