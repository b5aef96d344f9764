package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

// Quorum is a set of real nodes. Its methods may be called from several goroutines, but not two for one node.
type Quorum struct {
	ClusterID string

	cfg     Config
	members []*member

	mu      sync.Mutex
	changed chan struct{} // closed at each change of what the logs say or of a process
	closed  bool
}

// New prepares a quorum: it finds or fetches the releases, takes ports, writes properties and formats. Nothing
// runs yet. The caller must Close it.
func New(ctx context.Context, cfg Config) (*Quorum, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	nodes, err := plan(cfg)
	if err != nil {
		return nil, fmt.Errorf("kafka quorum: %w", err)
	}
	q := &Quorum{cfg: cfg, ClusterID: newClusterID(), changed: make(chan struct{})}
	dists := map[Release]Dist{}
	for _, n := range nodes {
		if dists[n.Release] == nil {
			if dists[n.Release], err = cfg.Source(ctx, n.Release); err != nil {
				return nil, err
			}
		}
		m := &member{Node: n, dist: dists[n.Release]}
		m.log.node = n.ID
		q.members = append(q.members, m)
	}
	if err := q.format(ctx); err != nil {
		return nil, err
	}
	return q, nil
}

// Nodes are the nodes of the quorum: controllers, then brokers.
func (q *Quorum) Nodes() []Node {
	var all []Node
	for _, m := range q.members {
		all = append(all, m.Node)
	}
	return all
}

// Node is one node of the quorum; it panics for an id that is not part of it.
func (q *Quorum) Node(id kraft.NodeID) Node { return q.member(id).Node }

// Controllers are the ids of the controllers.
func (q *Quorum) Controllers() []kraft.NodeID {
	return q.ids(func(n Node) bool { return n.Controller })
}

// Brokers are the ids of the brokers.
func (q *Quorum) Brokers() []kraft.NodeID {
	return q.ids(func(n Node) bool { return n.Broker && !n.Controller })
}

func (q *Quorum) ids(want func(Node) bool) []kraft.NodeID {
	var all []kraft.NodeID
	for _, m := range q.members {
		if want(m.Node) {
			all = append(all, m.ID)
		}
	}
	return all
}

// Upstreams are the controllers as a proxy is told of them: ID=LISTENER=ADVERTISED, where the proxy listens at
// the last and dials the one before.
func (q *Quorum) Upstreams() []string {
	var all []string
	for _, m := range q.members {
		if m.Controller {
			all = append(all, fmt.Sprintf("%s=%s=%s", m.ID, m.Listener, m.Advertised))
		}
	}
	return all
}

func (q *Quorum) member(id kraft.NodeID) *member {
	for _, m := range q.members {
		if m.ID == id {
			return m
		}
	}
	panic(fmt.Sprintf("kafka quorum: no node %s", id))
}

// Start starts nodes (none given: the controllers), all at once, and returns when their raft threads run. That
// says nothing about a leader: see WaitLeader and WaitReady.
func (q *Quorum) Start(ctx context.Context, ids ...kraft.NodeID) error {
	if len(ids) == 0 {
		ids = q.Controllers()
	}
	report(q.cfg.Progress, "starting %s", describe(ids))
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { errs[i] = q.launch(ctx, q.member(id)) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// StartAll starts the controllers, waits for a leader, starts the brokers and waits until all are ready.
func (q *Quorum) StartAll(ctx context.Context) (Elected, error) {
	if err := q.Start(ctx); err != nil {
		return Elected{}, err
	}
	if leader, err := q.WaitLeader(ctx); err != nil {
		return leader, err
	}
	if brokers := q.Brokers(); len(brokers) > 0 {
		if err := q.Start(ctx, brokers...); err != nil {
			return Elected{}, err
		}
	}
	if err := q.WaitReady(ctx); err != nil {
		return Elected{}, err
	}
	return q.WaitLeader(ctx) // starting nodes take processor time: the first may have lost its office
}

// MoveTo tells the quorum that a node which does not run will listen at another address, as its property file says by now. Proxied nodes cannot
// move.
func (q *Quorum) MoveTo(id kraft.NodeID, address string) {
	m := q.member(id)
	m.Listener, m.Advertised = address, address
}

// Stop ends a node in order (SIGTERM): a leader resigns first.
func (q *Quorum) Stop(ctx context.Context, id kraft.NodeID) error {
	return q.end(ctx, q.member(id), syscall.SIGTERM)
}

// Kill ends a node at once (SIGKILL): it says nothing to anyone.
func (q *Quorum) Kill(id kraft.NodeID) error {
	return q.end(context.Background(), q.member(id), syscall.SIGKILL)
}

// Restart starts a node that was stopped or killed, on the data that it left; a running one is stopped first.
func (q *Quorum) Restart(ctx context.Context, id kraft.NodeID) error {
	if q.Running(id) {
		if err := q.Stop(ctx, id); err != nil {
			return err
		}
	}
	return q.Start(ctx, id)
}

// Pause stops a node's process where it is (SIGSTOP). Its connections stay up.
func (q *Quorum) Pause(id kraft.NodeID) error { return q.freeze(id, syscall.SIGSTOP, true) }

// Resume lets a paused node go on.
func (q *Quorum) Resume(id kraft.NodeID) error { return q.freeze(id, syscall.SIGCONT, false) }

func (q *Quorum) freeze(id kraft.NodeID, sig syscall.Signal, paused bool) error {
	m := q.member(id)
	q.mu.Lock()
	defer q.mu.Unlock()
	if !m.running() {
		return fmt.Errorf("node %s is not running", id)
	}
	m.paused = paused
	return m.proc.Signal(sig)
}

// Running reports whether a node's process exists (a paused one does).
func (q *Quorum) Running(id kraft.NodeID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.member(id).running()
}

// Pid is the process id of a running node, or 0.
func (q *Quorum) Pid(id kraft.NodeID) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m := q.member(id); m.running() {
		return m.proc.Pid()
	}
	return 0
}

// closeTimeout bounds the orderly part of CloseInOrder.
const closeTimeout = 30 * time.Second

// Close kills what runs and waits for the end of all of it. Logs and data stay in Config.Dir.
func (q *Quorum) Close() error { return q.close(syscall.SIGKILL) }

// CloseInOrder is Close by SIGTERM, brokers first, for when the last part of the logs matters.
func (q *Quorum) CloseInOrder() error { return q.close(syscall.SIGTERM) }

func (q *Quorum) close(sig syscall.Signal) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	for _, m := range slices.Backward(q.members) {
		if q.Running(m.ID) {
			errs = append(errs, q.end(ctx, m, sig))
		}
	}
	for _, m := range q.members {
		if m.drained != nil {
			<-m.drained
		}
	}
	return errors.Join(errs...)
}

// Summary says where each node stands, in a few lines, for error messages and progress.
func (q *Quorum) Summary() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var b strings.Builder
	for _, m := range q.members {
		state := "not started"
		switch {
		case m.proc == nil:
		case m.proc.Ended() && m.asked:
			state = "ended as asked"
		case m.proc.Ended():
			state = "ENDED BY ITSELF (" + m.proc.Exit() + ")"
		case m.paused:
			state = "paused"
		default:
			state = fmt.Sprintf("running, %s in epoch %d, caught up: %t", m.log.role, m.log.epoch, m.log.caughtUp)
		}
		fmt.Fprintf(&b, "  node %s (%s, log %s): %s\n", m.ID, m.Release, m.LogFile, state)
	}
	return b.String()
}

func describe(ids []kraft.NodeID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	if len(texts) == 1 {
		return "node " + texts[0]
	}
	return "nodes " + strings.Join(texts, ", ")
}
