package conform

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

const ourCluster = "Zb2Q7XmVQ3yq0Yt0cJ3n0A"

// ourNode is a node of ours in this process.
type ourNode struct {
	t       testing.TB
	dir     string
	key     kraft.ReplicaKey
	address kraft.Address
	voters  kraft.VoterSet
	version int16 // kraft.version that it was formatted with
	timers  kraft.QuorumTimeouts
	guard   *secure.Config // of its listener and of those of its peers; nil: PLAINTEXT

	mu    sync.Mutex
	c     *controller.Controller
	ended chan error
}

// freeAddress is one of the loopback interface where nothing listens, of none of the ports that the kernel gives to outgoing connections.
func freeAddress(t testing.TB) kraft.Address {
	t.Helper()
	ports, err := kafka.TakePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	return kraft.Address{Host: "127.0.0.1", Port: uint16(ports[0])}
}

func dialable(a kraft.Address) string { return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port))) }

// ourVoters are addresses and keys of voters 1 to n; those up to nodes are formatted as nodes of ours.
func ourVoters(t testing.TB, n, nodes int, version int16, timers kraft.QuorumTimeouts) (list []*ourNode) {
	t.Helper()
	var voters []kraft.Voter
	for i := range n {
		node := &ourNode{t: t, dir: filepath.Join(t.TempDir(), strconv.Itoa(i)), address: freeAddress(t), version: version, timers: timers}
		node.key = kraft.ReplicaKey{ID: kraft.NodeID(i + 1), DirectoryID: storage.NewDirectoryID()}
		key := node.key
		if version == 0 {
			key.DirectoryID = kraft.DirectoryID{}
		}
		voters = append(voters, kraft.Voter{Key: key, Endpoints: node.endpoints(), Versions: kraft.VersionRange{Max: version}})
		list = append(list, node)
	}
	for i, node := range list {
		node.voters = kraft.NewVoterSet(voters...)
		if i >= nodes {
			continue
		}
		s := storage.FormatSpec{
			ClusterID: ourCluster, NodeID: node.key.ID, DirectoryID: node.key.DirectoryID, MetadataDir: node.dir, Controller: true,
			KRaftVersion: version, OneCheckpoint: true, Now: time.Now(),
		}
		if version > 0 {
			s.Voters = node.voters
		}
		if err := storage.Format(storage.OS(), &s); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = node.kill() })
	}
	return list
}

func (n *ourNode) endpoints() kraft.Endpoints {
	return kraft.NewEndpoints(kraft.Endpoint{Name: "CONTROLLER", Address: n.address})
}

// start runs the node on what it has.
func (n *ourNode) start() error {
	dir, err := storage.OpenDirectory(storage.OS(), n.dir, storage.Identity{ClusterID: ourCluster, NodeID: n.key.ID})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", dialable(n.address))
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	profile, err := compat.ByRelease("4.4.0")
	if err != nil {
		return err
	}
	cfg := controller.Config{
		Directory: dir, Profile: profile, Timeouts: n.timers, Endpoints: n.endpoints(), Leadership: controller.Stay,
		Listeners: []controller.Listener{{Name: "CONTROLLER", Listener: ln}}, Log: zerolog.New(zerolog.NewTestWriter(n.t)).Level(zerolog.ErrorLevel),
	}
	if n.guard != nil {
		cfg.Listeners[0].Handshake = func(ctx context.Context, conn net.Conn, _ func([]byte) ([]byte, error)) (net.Conn, error) {
			return n.guard.Handshake(ctx, conn, secure.OwnVersions)
		}
		cfg.Dialer = controller.DialFunc(func(ctx context.Context, a kraft.Address) (net.Conn, error) { return n.guard.Dial(ctx, dialable(a)) })
	}
	if n.version == 0 {
		cfg.StaticVoters = n.voters
	} else {
		for i := range n.voters.Len() {
			a, _ := n.voters.At(i).Endpoints.Address("CONTROLLER")
			cfg.BootstrapServers = append(cfg.BootstrapServers, a)
		}
	}
	c, err := controller.New(cfg)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.c, n.ended = c, make(chan error, 1)
	ended := n.ended
	n.mu.Unlock()
	go func() { ended <- c.Run(context.Background()) }()
	return nil
}

// kill ends the node, if it has not ended by itself; its error is that of the end.
func (n *ourNode) kill() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.c == nil {
		return nil
	}
	n.c.Close()
	err := <-n.ended
	n.c = nil
	return err
}

func (n *ourNode) restart(context.Context) error {
	_ = n.kill()
	return n.start()
}
