package mixed

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// syncs counts what a node makes durable, files and directories.
type syncs struct {
	storage.FS
	count *atomic.Int64
}

func (s syncs) OpenFile(name string, flag int, mode fs.FileMode) (storage.File, error) {
	f, err := s.FS.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return syncedFile{f, s.count}, nil
}

func (s syncs) SyncDir(name string) error {
	s.count.Add(1)
	return s.FS.SyncDir(name)
}

type syncedFile struct {
	storage.File
	count *atomic.Int64
}

func (f syncedFile) Sync() error {
	f.count.Add(1)
	return f.File.Sync()
}

// startOurs runs three voters of ours on files: the leader in this process, so that it can be given records, the others as processes that
// never stand for election.
func startOurs(ctx context.Context, b *testing.B) (node *controller.Controller, synced *atomic.Int64) {
	b.Helper()
	follow := []string{"--on-leadership", "never-campaign"}
	who := &cast{ours: map[kraft.NodeID][]string{2: follow, 3: follow}}
	q := kafkatest.New(b, kafka.Config{Release: kafka.MustRelease("4.4.0"), Voters: kafka.Dynamic, Source: who.source(b)})
	must(b, q.Start(ctx, 2, 3))
	node, synced, stop := runHere(ctx, b, q, 1)
	b.Cleanup(stop)
	must(b, q.WaitReady(ctx, 2, 3))
	return node, synced
}

// runHere runs a node of the quorum in this process and waits until it leads.
func runHere(ctx context.Context, b *testing.B, q *kafka.Quorum, id kraft.NodeID) (c *controller.Controller, synced *atomic.Int64, stop func()) {
	b.Helper()
	n := q.Node(id)
	synced = new(atomic.Int64)
	dir, err := storage.OpenDirectory(syncs{storage.OS(), synced}, n.DataDir, storage.Identity{ClusterID: q.ClusterID, NodeID: id})
	must(b, err)
	ln, err := net.Listen("tcp", n.Listener)
	must(b, err)
	profile, err := compat.ByRelease("4.4.0")
	must(b, err)
	address := func(text string) kraft.Address {
		a, err := net.ResolveTCPAddr("tcp", text)
		must(b, err)
		return kraft.Address{Host: a.IP.String(), Port: uint16(a.Port)}
	}
	cfg := controller.Config{
		Directory: dir, Profile: profile, Leadership: controller.Stay, Listeners: []controller.Listener{{Name: "CONTROLLER", Listener: ln}},
		Endpoints: kraft.NewEndpoints(kraft.Endpoint{Name: "CONTROLLER", Address: address(n.Advertised)}), Timeouts: kraft.DefaultTimeouts(),
	}
	cfg.Timeouts.AppendLingerMs = 0
	for _, server := range strings.Split(n.Properties["controller.quorum.bootstrap.servers"], ",") {
		cfg.BootstrapServers = append(cfg.BootstrapServers, address(server))
	}
	c, err = controller.New(cfg)
	must(b, err)
	ended := make(chan error, 1)
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() { ended <- c.Run(running) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, controller.ErrShutdownTimeout) {
			b.Error(err)
		}
	}
	if _, err := c.Wait(ctx, func(s *controller.Status) bool { return s.Role == kraft.LeaderRole && s.Known > 0 }); err != nil {
		stop()
		b.Fatal(err)
	}
	return c, synced, stop
}

// fill gives the only voter of a quorum a log of at least so many bytes.
func fill(ctx context.Context, b *testing.B, q *kafka.Quorum, size int) {
	b.Helper()
	c, _, stop := runHere(ctx, b, q, 1)
	defer stop()
	began := time.Now()
	var all sync.WaitGroup
	const writers, record = 8, 20 << 10
	for range writers {
		all.Go(func() {
			value := make([]byte, record)
			value[0] = 1
			for range size/record/writers + 1 {
				if _, err := c.Append(ctx, value); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.Logf("a log of %d MB was written in %v", size>>20, time.Since(began))
}
