package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/replay"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/kraft/controller/properties"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// pipeListener is a listener without a network: who dials it gets the other end of a pipe.
type pipeListener struct {
	ready  chan net.Conn
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{ready: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.ready:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "in this process" }

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.ready <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// replayToEngine plays the script to a node of ours in this process.
func replayToEngine(ctx context.Context, f *replayFlags, script *replay.Script, o replay.Options) (report *replay.Report, err error) {
	node, err := properties.Read(f.config)
	if err != nil {
		return nil, usageError("%w", err)
	}
	if node.ID != script.Node {
		return nil, usageError("%s is of node %s, and node %s is replayed", f.config, node.ID, script.Node)
	}
	dir, err := os.MkdirTemp("", "understudy-replay-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, os.DirFS(node.MetadataDir)); err != nil {
		return nil, fmt.Errorf("copy the directory of node %s: %w", node.ID, err)
	}
	if err := os.Remove(filepath.Join(dir, ".lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener := newPipeListener()
	o.Peers, o.Dial, o.Live = replay.NewConnections(), listener.dial, f.engine
	c, above, err := engineNode(f, node, dir, listener, o.Peers, script.Peers)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- above(ctx, c) }()
	report, err = replay.Run(ctx, script, o)
	c.Close() // at once: nobody is left who could take over
	cancel()
	nodeErr := <-ended
	if errors.Is(nodeErr, controller.ErrFatal) && report != nil {
		report.Lost = endedAsKafkaWould(nodeErr, report.Lost)
		nodeErr = nil
	}
	return report, errors.Join(err, nodeErr, o.Peers.Close())
}

// endedAsKafkaWould says why a replay is lost whose node has ended, before what the replay itself has seen of that, if anything.
func endedAsKafkaWould(why error, lost string) string {
	text := fmt.Sprintf("the node ended as Kafka would: %v", why)
	if lost != "" {
		text += "; " + lost
	}
	return text
}

// engineNode makes the node of its property file, with pipes in place of a network.
func engineNode(f *replayFlags, node *properties.Node, dir string, listener *pipeListener, peers *replay.Connections, at map[kraft.NodeID]string) (*controller.Controller, func(context.Context, *controller.Controller) error, error) {
	profile, err := compat.ByRelease(f.engine)
	if err != nil {
		return nil, nil, err
	}
	log := zerolog.Nop()
	cfg := &controller.Config{
		Profile: profile, Leadership: controller.Stay, Timeouts: node.Quorum.Timeouts, StaticVoters: staticVoters(node), BootstrapServers: node.Quorum.BootstrapServers,
		AutoJoin: node.Quorum.AutoJoin, FetchBytes: node.Quorum.FetchMaxBytes, SnapshotBytes: node.Quorum.FetchSnapshotMaxBytes, ListenerName: node.ControllerNames[0],
		Storage: storage.Options{
			SegmentBytes: int64(node.MetadataLog.SegmentBytes), SegmentMs: node.MetadataLog.SegmentMs,
			RetentionBytes: node.MetadataLog.MaxRetentionBytes, RetentionMs: node.MetadataLog.MaxRetentionMs,
		},
		Listeners: []controller.Listener{{Name: node.ControllerNames[0], Listener: listener}},
		Dialer: controller.DialFunc(func(ctx context.Context, a kraft.Address) (net.Conn, error) {
			for peer, address := range at {
				if address == a.String() {
					near, far := net.Pipe()
					if !peers.Add(ctx, peer, far) {
						return nil, net.ErrClosed
					}
					return near, nil
				}
			}
			return nil, fmt.Errorf("nobody of the recording is at %s", a)
		}),
		Log: log,
	}
	var endpoints []kraft.Endpoint
	for _, l := range node.Advertised {
		endpoints = append(endpoints, kraft.Endpoint{Name: l.Name, Address: l.Address})
	}
	cfg.Endpoints = kraft.NewEndpoints(endpoints...)
	if cfg.Directory, err = storage.OpenDirectory(storage.OS(), dir, storage.Identity{NodeID: node.ID}); err != nil {
		return nil, nil, err
	}
	above := standBy(cfg, node, log)
	c, err := controller.New(*cfg)
	if err != nil {
		return nil, nil, errors.Join(err, cfg.Directory.Close())
	}
	return c, func(ctx context.Context, c *controller.Controller) error { return runAbove(ctx, c, above, log) }, nil
}
