package standby

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/wire"
)

// Config says which node it is that stands by.
type Config struct {
	ID        kraft.NodeID
	ClusterID string
	Profile   compat.Profile // the release whose requests are listed
	Directory string         // the metadata directory, to read snapshots from

	// Register has the node registered as a controller. Observers that stand for a broker must not be.
	Register     bool
	Endpoints    []Endpoint        // where clients reach the node
	ListenerName string            // of the channel between controllers, in upper case
	Dialer       controller.Dialer // to the active controller
	Settings     map[string]string // of the property file

	// Snapshots are made where Node is a *controller.Controller.
	Snapshots Snapshots

	// Report is told of what failed and is tried again; may be nil.
	Report func(error)
}

// Endpoint is an advertised controller listener.
type Endpoint struct {
	kraft.Endpoint
	SecurityProtocol int16
}

// Node is what is asked of the node below.
type Node interface {
	Status() controller.Status
	Wait(ctx context.Context, wanted func(*controller.Status) bool) (controller.Status, error)
	Read(ctx context.Context, dst []byte, from kraft.Offset, max int32) ([]byte, error)
}

// Standby is a controller.Handler.
type Standby struct {
	cfg         Config
	apis        []compat.APIRange
	incarnation [16]byte // of this process (Kafka: incarnationId)
	shown       atomic.Pointer[image]
	node        atomic.Pointer[Node]
	tasks       sync.WaitGroup
}

// New makes a Standby. It answers from now on, and knows something once Run runs.
func New(cfg Config) *Standby {
	s := &Standby{cfg: cfg, apis: ranges(cfg.Profile.Build)}
	_, _ = rand.Read(s.incarnation[:]) // never fails
	s.shown.Store(newImage())
	return s
}

// APIs is part of controller.Handler.
func (s *Standby) APIs() []compat.APIRange { return s.apis }

// Handle is part of controller.Handler.
func (s *Standby) Handle(_ context.Context, r *controller.Request) ([]byte, error) {
	switch r.Key {
	case wire.KeyDescribeCluster:
		return s.describeCluster(r)
	case keyDescribeConfigs:
		return s.describeConfigs(r)
	case wire.KeySaslHandshake, wire.KeySaslAuthenticate: // the time for them is before the first request of another kind
		return refuse(r.Key, r.Version, r.Body, kraft.IllegalSaslState)
	case keyDescribeDelegationToken, keyDescribeUserSCRAM: // listed by Kafka's controllers, which have no handler for them
		return refuse(r.Key, r.Version, r.Body, kraft.UnknownServerError)
	}
	return refuse(r.Key, r.Version, r.Body, kraft.NotController)
}

// Features completes an answer to ApiVersions. Since no record is interpreted here, each level that is known is supported.
func (s *Standby) Features(r *kmsg.ApiVersionsResponse) {
	for _, f := range supported() {
		if f.Name != compat.KRaftVersionFeature { // is there already
			r.SupportedFeatures = append(r.SupportedFeatures, kmsg.ApiVersionsResponseSupportedFeature{Name: f.Name, MinVersion: f.Min, MaxVersion: f.Max})
		}
	}
	s.shown.Load().describe(r)
}

// level is the range of a feature.
type level struct {
	Name     string
	Min, Max int16
}

// oldestMetadataVersion is 3.3-IV3, the oldest that Kafka 4.x starts with.
const oldestMetadataVersion = 7

func supported() []level {
	all := []level{{metadataVersion, oldestMetadataVersion, compat.LatestMetadataVersion().Level}}
	for _, f := range compat.Features() {
		all = append(all, level{f.Name, 0, f.Max})
	}
	return all
}

// Run follows the node and registers it, until ctx or the node ends.
func (s *Standby) Run(ctx context.Context, node Node) error {
	s.node.Store(&node)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.tasks.Wait()
	if s.cfg.Register {
		s.tasks.Go(func() { s.register(ctx, node) })
	}
	err := s.follow(ctx, node)
	cancel()
	if errors.Is(err, context.Canceled) || errors.Is(err, controller.ErrStopped) {
		return nil
	}
	return err
}

// readBytes is how much is read at a time, keptBytes how much memory is kept for it.
const (
	readBytes = 1 << 20
	keptBytes = 64 << 10
)

// pause is the least time between two looks at what is committed. Nobody waits for it, and a busy quorum commits every millisecond.
const pause = 5 * time.Millisecond

// follow applies what is committed, as it comes.
func (s *Standby) follow(ctx context.Context, node Node) error {
	m, position := newImage(), kraft.Offset(0)
	snapshots := s.newSnapshotter(node)
	var batches []byte
	for {
		status, err := node.Wait(ctx, func(x *controller.Status) bool { return x.HighWatermark > position || x.LogStart > position })
		if err != nil {
			return err
		}
		if status.LogStart > position {
			if m, err = s.load(ctx, status.Snapshot); err != nil {
				return err
			}
			position = status.Snapshot.Offset
			s.shown.Store(m.shown().clone())
			continue
		}
		if batches, err = node.Read(ctx, batches[:0], position, readBytes); err != nil {
			if now := node.Status(); now.Running && now.LogStart > position && ctx.Err() == nil {
				continue // a snapshot has replaced that part
			}
			return err
		}
		if len(batches) == 0 {
			return fmt.Errorf("committed records from offset %d are not there", position)
		}
		if position, err = m.apply(batches, position); err != nil {
			return err
		}
		s.shown.Store(m.shown().clone())
		n := len(batches)
		if cap(batches) > 2*len(batches) && len(batches) < keptBytes { // the memory of what was loaded first
			batches = nil
		}
		snapshots.passed(ctx, n, kraft.SnapshotID{Offset: position, Epoch: m.epoch}, m.before != nil)
		if n < readBytes/2 {
			rest(ctx)
		}
	}
}

func rest(ctx context.Context) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// load reads a snapshot file. The node may delete it meanwhile, for a newer one, but it stays readable once it is open.
func (s *Standby) load(ctx context.Context, id kraft.SnapshotID) (*image, error) {
	m := newImage()
	path := s.path(id)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	m.offset = id.Offset - 1
	return m, eachSnapshotBatch(ctx, f, func(b *wire.Batch) error {
		if b.Control() {
			return nil
		}
		_, err := m.apply(b.Bytes, 0)
		m.offset = id.Offset - 1
		return err
	})
}
