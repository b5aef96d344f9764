package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// logPoll is how often a running node's log is read.
const logPoll = 10 * time.Millisecond

// member is a node as the launcher runs it. Its quorum's mutex guards what changes.
type member struct {
	Node
	dist Dist

	proc    Process       // nil until the first start
	drained chan struct{} // closed when the log of an ended process has been read to its end
	paused  bool
	asked   bool // this launcher ended the process: its end is no surprise
	log     logReader
	read    int64 // bytes of the log that have been read
}

func (m *member) running() bool { return m.proc != nil && !m.proc.Ended() }

// launch starts the node's process and returns when its raft thread is about to run.
func (q *Quorum) launch(ctx context.Context, m *member) error {
	q.mu.Lock()
	busy, drained := m.running(), m.drained
	q.mu.Unlock()
	if busy {
		return fmt.Errorf("node %s is running already", m.ID)
	}
	if drained != nil {
		<-drained // of a node that ended by itself
	}
	slot, err := startSlot(ctx)
	if err != nil {
		return fmt.Errorf("start node %s: %w", m.ID, err)
	}
	defer slot.Unlock()
	out, err := openLog(m.LogFile)
	if err != nil {
		return fmt.Errorf("start node %s: %w", m.ID, err)
	}
	jvm := JVM{HeapMB: q.cfg.HeapMB, RootLevel: string(Info), RaftLevel: q.cfg.RaftLog}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return errors.Join(errors.New("kafka quorum: it has been closed"), out.Close())
	}
	m.log.newRun()
	p, err := startNode(ctx, m.dist, jvm, m.Node, out)
	if err != nil {
		q.mu.Unlock()
		return fmt.Errorf("start node %s: %w", m.ID, err)
	}
	m.proc, m.paused, m.asked, m.drained = p, false, false, make(chan struct{})
	go q.follow(m, p, m.drained)
	q.mu.Unlock()

	return q.wait(ctx, fmt.Sprintf("node %s to start", m.ID), func() (bool, error) {
		if m.proc == p && p.Ended() {
			return false, fmt.Errorf("node %s ended while starting (%s); the last lines of its log:\n%s", m.ID, p.Exit(), lastLines(m.LogFile, 12))
		}
		return m.log.begun, nil
	})
}

// follow reads the log of one run of a node as it grows.
func (q *Quorum) follow(m *member, p Process, drained chan struct{}) {
	defer close(drained)
	tick := time.NewTicker(logPoll)
	defer tick.Stop()
	f, err := os.Open(m.LogFile)
	if err != nil {
		return // the process's end will tell; launch has just created this file
	}
	defer func() { _ = f.Close() }()
	var held []byte // an unfinished line
	buf := make([]byte, 1<<16)
	for {
		over := p.Ended() // before reading: what comes after the last read is nothing
		for {
			n, _ := f.ReadAt(buf, m.read)
			if n == 0 {
				break
			}
			q.mu.Lock()
			m.read += int64(n)
			held = m.log.feedChunk(held, buf[:n])
			q.announce()
			q.mu.Unlock()
		}
		if over {
			q.mu.Lock()
			q.announce()
			q.mu.Unlock()
			return
		}
		select {
		case <-p.Done():
		case <-tick.C:
		}
	}
}

// end signals the node and waits until it has ended and its log has been read.
func (q *Quorum) end(ctx context.Context, m *member, sig syscall.Signal) error {
	q.mu.Lock()
	p, drained := m.proc, m.drained
	if p == nil || p.Ended() {
		q.mu.Unlock()
		return fmt.Errorf("node %s is not running", m.ID)
	}
	m.asked = true
	paused := m.paused
	m.paused = false
	q.mu.Unlock()
	var err error
	if sig == syscall.SIGKILL {
		err = p.Kill() // the kernel kills a stopped process as well
	} else {
		if paused {
			err = p.Signal(syscall.SIGCONT)
		}
		err = errors.Join(err, p.Stop(ctx))
	}
	<-drained
	q.mu.Lock()
	m.log.newRun()
	q.announce()
	q.mu.Unlock()
	return err
}

// announce wakes everything that waits for a change of the quorum. The mutex is held.
func (q *Quorum) announce() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// wait waits until cond, which is called with the mutex held, is true or fails.
func (q *Quorum) wait(ctx context.Context, what string, cond func() (bool, error)) error {
	for {
		q.mu.Lock()
		ok, err := cond()
		changed := q.changed
		q.mu.Unlock()
		if ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; the quorum:\n%s", what, ctx.Err(), q.Summary())
		}
	}
}
