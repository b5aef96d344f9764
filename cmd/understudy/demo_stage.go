package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/internal/build"
	"github.com/understudy-kafka/understudy/internal/demo"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy"
	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// watched is a proxy at work, with its recording and its live checker.
type watched struct {
	proxy *proxy.Proxy
	base  string // name of the recording
	stop  context.CancelFunc
	done  chan error

	mu     sync.Mutex
	report *shadow.Report // with the checker's last event
}

// watch starts a proxy that records under a name and whose frames a checker, a child process, judges as they come.
func (s *show) watch(cfg proxy.Config, name string, checkFlags []string, tell func(*shadow.Event)) (*watched, error) {
	cfg.Log = zerolog.Nop() // a refused connection is part of the story, not news for the operator
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := proxy.New(cfg)
	if err != nil {
		return nil, err
	}
	w := &watched{proxy: p, base: filepath.Join(s.dir, name), done: make(chan error, 1)}
	opts := recordings.Options{IncludeRecords: true, Tool: "understudy " + build.Version, Background: true}
	for _, u := range p.Upstreams() {
		opts.Upstreams = append(opts.Upstreams, recordings.Upstream{Node: u.Node, Endpoint: u.Listen, Target: u.Address})
	}
	writer, err := recordings.Create(w.base, opts)
	if err != nil {
		p.Close()
		return nil, err
	}
	checker, err := proxy.NewChecker(proxy.CheckerOptions{
		Command: append([]string{program, "check", "-", "-o", "jsonl"}, checkFlags...),
		Stream:  opts,
		Log:     cfg.Log,
		Events: func(e shadow.Event) {
			if e.Report != nil {
				w.mu.Lock()
				w.report = e.Report
				w.mu.Unlock()
			}
			tell(&e)
		},
	})
	if err != nil {
		p.Close()
		return nil, errors.Join(err, writer.Close())
	}
	p.Attach(proxy.NewRecording(w.base, writer, cfg.Log))
	p.Attach(checker)
	ctx, stop := context.WithCancel(context.Background()) // the proxy outlives an interruption until the nodes are gone
	w.stop = stop
	go func() { w.done <- p.Run(ctx) }()
	return w, nil
}

// end stops the proxy, waits for all that came of it and says what the checker found.
func (w *watched) end() (*shadow.Report, error) {
	w.stop()
	if err := <-w.done; err != nil {
		return nil, err
	}
	stats := w.proxy.Stats()
	if missing := stats.GapFrames + stats.Unrecorded; missing > 0 {
		return nil, fmt.Errorf("%d frames or connections are missing from the recording %s", missing, w.base)
	}
	for _, sink := range stats.Sinks {
		if sink.Lost > 0 || sink.Errors > 0 {
			return nil, fmt.Errorf("%s: %d frames lost, %d errors; the last one: %s", sink.Name, sink.Lost, sink.Errors, sink.LastError)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.report == nil {
		return nil, errors.New("the live checker ended without a verdict")
	}
	return w.report, nil
}

// file is the recording's first segment, which is all of it: a demo is small.
func (w *watched) file() string { return w.base + "-000001.pcapng.zst" }

// teller writes a timeline from several goroutines: the checker's events, what is done to the quorum, and the clock
// that lets nothing wait for long.
type teller struct {
	mu   sync.Mutex
	line *demo.Timeline
	only func(*shadow.Event) bool // nil: all
	quit chan struct{}
	wait sync.WaitGroup
}

// patience is how long an action waits for events that the checker has yet to tell.
const patience = 300 * time.Millisecond

// newTeller tells live, or, where nothing is live, strictly in order.
func newTeller(out io.Writer, style demo.Style, live bool) *teller {
	t := &teller{line: demo.NewTimeline(out, style, time.Now().UnixNano()), quit: make(chan struct{})}
	if live {
		t.wait.Add(1)
		go t.tick()
	}
	return t
}

func (t *teller) tick() {
	defer t.wait.Done()
	ticker := time.NewTicker(patience / 3)
	defer ticker.Stop()
	for {
		select {
		case <-t.quit:
			return
		case now := <-ticker.C:
			t.mu.Lock()
			t.line.Overdue(now.Add(-patience).UnixNano())
			t.line.Clock(now.UnixNano())
			t.mu.Unlock()
		}
	}
}

func (t *teller) event(e *shadow.Event) {
	if t.only != nil && !t.only(e) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.Event(e)
}

// did tells what was done to the quorum just now.
func (t *teller) did(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.Did(demo.Action{At: time.Now().UnixNano(), What: fmt.Sprintf(format, args...)})
}

// down tells that a node was ended, or lives again.
func (t *teller) down(id kraft.NodeID, down bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.Down(id, down)
}

// end tells what still waits.
func (t *teller) end() {
	close(t.quit)
	t.wait.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.End()
}
