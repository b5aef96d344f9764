package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// ErrShutdownTimeout says that the node ended although the quorum had no other leader yet.
var ErrShutdownTimeout = errors.New("the time for a graceful shutdown ran out")

// shutdownMs is how long a graceful shutdown may take (Kafka: KafkaRaftClientDriver).
const shutdownMs = 5000

// Controller is a node of a quorum. New makes it, Run runs it; the other methods may be called from any goroutine.
type Controller struct {
	cfg Config
	id  kraft.NodeID

	inbox chan *message    // from the network
	calls chan func(*loop) // from this process
	abort chan struct{}    // Close was called
	done  chan struct{}    // the loop has ended
	once  sync.Once        // of abort
	ran   atomic.Bool

	nextRequest     atomic.Uint64
	nextCorrelation atomic.Int32
	status          statusBoard
}

// New checks the configuration. Nothing is opened or started.
func New(cfg Config) (*Controller, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Controller{
		cfg: cfg, id: cfg.Directory.NodeID,
		inbox: make(chan *message, 256), calls: make(chan func(*loop), 256),
		abort: make(chan struct{}), done: make(chan struct{}),
		status: statusBoard{changed: make(chan struct{})},
	}, nil
}

// Run opens the log and is the node until ctx ends, or it fails, or Close is called. When ctx ends the node shuts down in order: as leader
// it resigns, and it stays until the quorum has another one. Run may be called once.
func (c *Controller) Run(ctx context.Context) (err error) {
	if c.ran.Swap(true) {
		return errors.New("controller: Run was called twice")
	}
	defer func() { err = errors.Join(err, c.cfg.Directory.Close()) }()
	defer c.closeListeners()
	l, err := c.open()
	if err != nil {
		close(c.done)
		return err
	}
	network, stop := context.WithCancel(context.WithoutCancel(ctx))
	var tasks sync.WaitGroup
	for i := range c.cfg.Listeners {
		s := &server{Controller: c, listener: &c.cfg.Listeners[i], free: make(chan struct{}, c.cfg.Limits.Connections)}
		tasks.Go(func() { s.accept(network) })
	}
	l.spawn = func(p *peer) { tasks.Go(func() { p.run(network) }) }
	unhook := context.AfterFunc(ctx, func() {
		_ = c.ask(context.WithoutCancel(ctx), func(l *loop) { l.on(&kraft.Shutdown{TimeoutMs: shutdownMs}) })
	})
	l.run()
	close(c.done)
	unhook()
	stop()
	c.closeListeners()
	tasks.Wait()
	if closed := l.log.Close(); closed != nil {
		l.err = errors.Join(l.err, fmt.Errorf("close the log: %w", closed))
	}
	if errors.Is(l.err, errAborted) {
		return nil
	}
	return l.err
}

// open makes the machine of what is on disk.
func (c *Controller) open() (*loop, error) {
	log, err := c.cfg.Directory.OpenLog(c.cfg.Storage)
	if err != nil {
		return nil, err
	}
	k, err := c.cfg.machine(log)
	if err == nil {
		var m *kraft.QuorumStateMachine
		if m, err = kraft.New(k); err == nil {
			for _, text := range log.Recovered {
				c.cfg.Log.Warn().Msg(text)
			}
			born := time.Now()
			sleep := time.NewTimer(time.Hour)
			return &loop{
				Controller: c, m: m, before: m.Clone(), log: log, timers: newTimers(), born: born, sleep: sleep,
				requests: map[kraft.RequestID]*request{}, parked: map[kraft.RequestID]kraft.Instant{}, expires: never,
				peers: map[kraft.NodeID]*peer{}, java: map[kraft.NodeID]bool{}, resigned: -1, role: "null", cleaned: kraft.Instant(born.UnixMilli()),
			}, nil
		}
	}
	return nil, errors.Join(err, log.Close())
}

func (c *Controller) closeListeners() {
	for i := range c.cfg.Listeners {
		_ = c.cfg.Listeners[i].Close() // it may be closed already
	}
}

// Close ends the node at once, without a word to its peers. Run returns soon after.
func (c *Controller) Close() { c.once.Do(func() { close(c.abort) }) }

// ask has the loop call f between two events.
func (c *Controller) ask(ctx context.Context, f func(*loop)) error {
	select {
	case c.calls <- f:
		return nil
	case <-c.done:
		return ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Resign asks the leader of the epoch to step down.
func (c *Controller) Resign(ctx context.Context, epoch kraft.Epoch) error {
	return c.ask(ctx, func(l *loop) { l.on(&kraft.Resign{Epoch: epoch}) })
}

// Read appends whole batches of the log from an offset on to dst, at most up to the high watermark: at least one batch, and no more than max
// bytes otherwise. Nothing at all is there to read if the offset is the high watermark.
func (c *Controller) Read(ctx context.Context, dst []byte, from kraft.Offset, max int32) ([]byte, error) {
	type result struct {
		records []byte
		err     error
	}
	read := make(chan result, 1)
	at := len(dst)
	err := c.ask(ctx, func(l *loop) {
		if from < l.log.Start {
			read <- result{err: fmt.Errorf("read from %d: the log begins at %d", from, l.log.Start)}
			return
		}
		records, err := l.log.Read(dst, from, l.log.HighWatermark, max)
		read <- result{records, err}
	})
	if err != nil {
		return nil, err
	}
	select {
	case r := <-read:
		if r.err != nil {
			return nil, r.err
		}
		return r.records[:at+wholeBatches(r.records[at:])], nil
	case <-c.done:
		return nil, ErrStopped
	}
}

// wholeBatches is the size of what is left without a last batch that is cut off.
func wholeBatches(records []byte) (n int) {
	for {
		b, _, err := wire.NextBatch(records[n:])
		if err != nil {
			return n
		}
		n += len(b.Bytes)
	}
}
