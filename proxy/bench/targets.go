//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// target is something that the load can be sent to.
type target struct {
	name string
	addr string
	proc *process
	base string // of the recording; "" if it makes none
	http string
	sent int64 // requests so far, all slices
}

// bench holds the processes.
type bench struct {
	options
	dir     string
	backend *target
	bare    *target
	proxy   *target
	other   *target // another build; nil: none
	load    *process
	all     []*target
}

func newBench(o options) (*bench, error) {
	b := &bench{options: o}
	var err error
	if b.understudy, err = find(o.understudy); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "understudy-bench-"); err != nil {
		return nil, err
	}
	if err := b.start(); err != nil {
		b.stop()
		return nil, err
	}
	return b, nil
}

func (b *bench) start() error {
	var err error
	if b.backend, err = b.simple("no relay", "-role", "backend"); err != nil {
		return err
	}
	if b.bare, err = b.simple("io.Copy relay", "-role", "bare", "-upstream", b.backend.addr); err != nil {
		return err
	}
	if b.proxy, err = b.understudyTarget(b.understudy, "understudy"); err != nil {
		return err
	}
	if b.against != "" {
		if b.other, err = b.understudyTarget(b.against, "against"); err != nil {
			return err
		}
	}
	b.load, err = start(b.cpu, self(), "-role", "load")
	return err
}

func (b *bench) relays() []*target {
	list := []*target{b.backend, b.bare, b.proxy}
	if b.other != nil {
		list = append(list, b.other)
	}
	return list
}

// simple starts a process that prints its address first.
func (b *bench) simple(name string, args ...string) (*target, error) {
	p, err := start(b.cpu, self(), args...)
	if err != nil {
		return nil, err
	}
	t := &target{name: name, proc: p}
	b.all = append(b.all, t)
	if t.addr, err = p.line(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

var (
	nodeLine = regexp.MustCompile(`^\s+node 1\s+(\S+) -> `)
	httpLine = regexp.MustCompile(`http://(\S+)/metrics`)
)

// understudyTarget starts understudy proxy in front of the backend.
func (b *bench) understudyTarget(program, name string, args ...string) (*target, error) {
	t := &target{name: name, base: filepath.Join(b.dir, strings.ReplaceAll(name, " ", "-"))}
	args = append([]string{
		"proxy", "--upstream", "1=" + b.backend.addr + "=127.0.0.1:0",
		"--record", t.base, "--http", "127.0.0.1:0",
	}, args...)
	p, err := start(b.cpu, program, args...)
	if err != nil {
		return nil, err
	}
	t.proc = p
	b.all = append(b.all, t)
	for t.http == "" {
		line, err := p.line()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if m := nodeLine.FindStringSubmatch(" " + line); m != nil {
			t.addr = m[1]
		}
		if m := httpLine.FindStringSubmatch(line); m != nil {
			t.http = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, p.stdout) }()
	p.moveChildren(b.checkerCPU)
	return t, nil
}

// stop ends everything that was started.
func (b *bench) stop() {
	if b.load != nil {
		_ = b.load.stop()
	}
	var wait sync.WaitGroup
	for i := len(b.all) - 1; i >= 0; i-- {
		wait.Go(func() { _ = b.all[i].proc.stop() })
	}
	wait.Wait()
	_ = os.RemoveAll(b.dir)
}

// slice loads a target once.
func (b *bench) slice(t *target, conns, depth int) (o outcome, err error) {
	query, err := json.Marshal(task{Target: t.addr, Conns: conns, Depth: depth, Millis: int(b.options.slice / time.Millisecond)})
	if err != nil {
		return o, err
	}
	calls, _ := t.proc.calls()
	busy := t.proc.busy()
	fmt.Fprintln(b.load.stdin, string(query))
	line, err := b.load.line()
	if err != nil {
		return o, fmt.Errorf("load: %w", err)
	}
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		return o, err
	}
	if o.Error != "" {
		return o, fmt.Errorf("%s: %s", t.name, o.Error)
	}
	if o.Requests == 0 {
		return o, fmt.Errorf("%s: no request was answered", t.name)
	}
	after, _ := t.proc.calls()
	o.Calls = float64(after-calls) / float64(o.Requests)
	o.Busy = float64(t.proc.busy()-busy) / float64(o.Requests) / 1000
	t.sent += o.Requests
	return o, nil
}

// rounds visits the targets in turn. results[i] are those of targets[i], by round.
func (b *bench) rounds(w workload, targets []*target) (results [][]outcome, err error) {
	results = make([][]outcome, len(targets))
	for r := range b.options.rounds + 1 {
		for i := range targets {
			if r%2 == 1 {
				i = len(targets) - 1 - i
			}
			o, err := b.slice(targets[i], w.conns, w.depth)
			if err != nil {
				return nil, err
			}
			if r > 0 {
				results[i] = append(results[i], o)
			}
		}
	}
	return results, nil
}

// metrics reads the metrics of an understudy.
func (t *target) metrics() (map[string]float64, error) {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + t.http + "/metrics")
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	values := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, text, ok := strings.Cut(lines.Text(), "} ")
		if ok {
			name += "}"
		} else if name, text, ok = strings.Cut(lines.Text(), " "); !ok {
			continue
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			values[strings.TrimPrefix(name, "understudy_proxy_")] = v
		}
	}
	return values, lines.Err()
}

// account ends understudy and compares what it recorded with what the load sent.
func (b *bench) account() (failed []string, err error) {
	t := b.proxy
	m, err := t.metrics()
	if err != nil {
		return nil, err
	}
	if err := b.load.stop(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if err := t.proc.stop(); err != nil {
		return nil, fmt.Errorf("understudy: %w", err)
	}
	in, err := recordings.Open(t.base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	var frames [2]int64
	gaps := 0
	var o recordings.Observation
	for err = in.Next(&o); err == nil; err = in.Next(&o) {
		switch o.Kind {
		case recordings.KindFrame:
			frames[o.Dir]++
		case recordings.KindGap:
			gaps++
		case recordings.KindOpen, recordings.KindClose:
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	fmt.Printf("\n## Account\n\n%d requests sent; %d requests and %d responses in the recording, %d gaps; the tap left out %.0f frames, the checker %.0f.\n",
		t.sent, frames[wire.Request], frames[wire.Response], gaps, m["tap_gap_frames_total"], m[`sink_lost_frames_total{sink="checker"}`])
	if frames[wire.Request] != t.sent || frames[wire.Response] != t.sent || gaps > 0 || m["tap_gaps_total"] > 0 {
		failed = append(failed, "the recording does not hold every frame that was forwarded")
	}
	if m[`sink_lost_frames_total{sink="checker"}`] > 0 || m[`sink_up{sink="checker"}`] != 1 {
		failed = append(failed, "the checker did not get every frame")
	}
	return failed, nil
}

// limitFiles makes every further write of a process to a file fail, as on a full disk.
func (t *target) limitFiles() error {
	limit := unix.Rlimit{Cur: 1, Max: 1}
	return unix.Prlimit(t.proc.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil)
}
