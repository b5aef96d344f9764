//go:build linux

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// workload is a load and the gates that understudy must pass under it.
type workload struct {
	title        string
	conns, depth int
	throughput   float64 // at least this share of the bare relay's; 0: no gate
	p50          float64 // at most so many times the bare relay's
	calls        float64 // at most so many read and write calls a request
}

var workloads = []workload{
	{title: "16 connections at depth 1", conns: 16, depth: 1, throughput: 0.90, p50: 1.05},
	{title: "1 connection at depth 1", conns: 1, depth: 1, calls: 6},
	{title: "1 connection at depth 16", conns: 1, depth: 16},
}

// p99Limit is how much slower forwarding may be while a checker or a disk fails.
const p99Limit = 1.5

func column(list []outcome, value func(outcome) float64) []float64 {
	out := make([]float64, len(list))
	for i, o := range list {
		out[i] = value(o)
	}
	return out
}

func rate(o outcome) float64 { return float64(o.Requests) / o.Seconds }
func p50(o outcome) float64  { return o.P50 }
func p99(o outcome) float64  { return o.P99 }
func busy(o outcome) float64 { return o.Busy }

// paired are the ratios of a to b, round by round.
func paired(a, b []outcome, value func(outcome) float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = value(a[i]) / value(b[i])
	}
	return out
}

// ratio prints a paired ratio and returns its median.
func (b *bench) ratio(what string, v []float64, gate string) float64 {
	low, high := interval(v, b.seed)
	m := median(v)
	fmt.Printf("| %s | %.3f | %.3f to %.3f | %s |\n", what, m, low, high, gate)
	return m
}

// tell prints one workload and returns the gates that failed.
func (b *bench) tell(w workload, results [][]outcome) (failed []string) {
	targets := b.relays()
	fmt.Printf("\n## %s\n\n| target | requests/s | p50 us | p99 us | processor time us a request | read and write calls a request |\n|---|---:|---:|---:|---:|---:|\n", w.title)
	for i, t := range targets {
		r := results[i]
		fmt.Printf("| %s | %.0f | %.1f | %.1f | %.2f | %.2f |\n", t.name, median(column(r, rate)), median(column(r, p50)),
			median(column(r, p99)), median(column(r, busy)), median(column(r, func(o outcome) float64 { return o.Calls })))
	}
	fmt.Printf("\n| understudy to io.Copy | median | 95 %% | gate |\n|---|---:|---|---|\n")
	bare, proxy := results[1], results[2]
	throughput := b.ratio("throughput", paired(proxy, bare, rate), gateText(">=", w.throughput))
	half := b.ratio("p50", paired(proxy, bare, p50), gateText("<=", w.p50))
	b.ratio("p99", paired(proxy, bare, p99), "")
	b.ratio("processor time", paired(proxy, bare, busy), "")
	if b.other != nil {
		b.ratio("throughput to the other build", paired(proxy, results[3], rate), "")
		b.ratio("p50 to the other build", paired(proxy, results[3], p50), "")
		b.ratio("p99 to the other build", paired(proxy, results[3], p99), "")
		b.ratio("processor time to the other build", paired(proxy, results[3], busy), "")
	}
	if throughput < w.throughput {
		failed = append(failed, fmt.Sprintf("%s: throughput %.3f of the bare relay's, want %.2f", w.title, throughput, w.throughput))
	}
	if w.p50 > 0 && half > w.p50 {
		failed = append(failed, fmt.Sprintf("%s: p50 %.3f times the bare relay's, want at most %.2f", w.title, half, w.p50))
	}
	if calls := median(column(proxy, func(o outcome) float64 { return o.Calls })); w.calls > 0 && calls > w.calls {
		failed = append(failed, fmt.Sprintf("%s: %.2f read and write calls a request, want at most %.0f", w.title, calls, w.calls))
	}
	return failed
}

func gateText(sign string, v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%s %.2f", sign, v)
}

// stalls measures forwarding while a checker or a disk fails, beside an understudy in which nothing does.
func (b *bench) stalls() (results [][]outcome, err error) {
	deaf := []string{"--checker", self(), "--checker", "-role", "--checker", "deaf"}
	targets := []*target{b.proxy}
	for _, s := range []struct {
		name string
		args []string
		then func(*target) error
	}{
		{"checker killed", []string{"--restart-checker=false"}, func(t *target) error { return t.proc.signalChildren(unix.SIGKILL) }},
		{"checker stopped", nil, func(t *target) error { return t.proc.signalChildren(unix.SIGSTOP) }},
		{"checker never reads", deaf, nil},
		{"disk full", nil, (*target).limitFiles},
	} {
		t, err := b.understudyTarget(b.understudy, s.name, s.args...)
		if err != nil {
			return nil, err
		}
		if s.then != nil {
			if err := s.then(t); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
		}
		targets = append(targets, t)
	}
	return b.rounds(workloads[0], targets)
}

// tellStalls prints them and returns the gates that failed.
func (b *bench) tellStalls(results [][]outcome) (failed []string) {
	fmt.Printf("\n## While something fails (%s)\n\n| p99 beside an understudy in order | median | 95 %% | gate |\n|---|---:|---|---|\n", workloads[0].title)
	stalled := b.all[len(b.all)-len(results)+1:]
	for i, t := range stalled {
		m := b.ratio(t.name, paired(results[i+1], results[0], p99), gateText("<=", p99Limit))
		b.ratio(t.name+", processor time", paired(results[i+1], results[0], busy), "")
		if m > p99Limit {
			failed = append(failed, fmt.Sprintf("%s: p99 %.3f times that in order, want at most %.2f", t.name, m, p99Limit))
		}
	}
	fmt.Printf("\n| | frames forwarded | left out by the tap | lost by the recording | missed by the checker |\n|---|---:|---:|---:|---:|\n")
	for _, t := range stalled {
		m, err := t.metrics()
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", t.name, err))
			continue
		}
		forwarded := m[`frames_total{direction="request"}`]
		fmt.Printf("| %s | %.0f | %.0f | %.0f | %.0f |\n", t.name, forwarded*2, m["tap_gap_frames_total"],
			m[`sink_lost_frames_total{sink="recording"}`], m[`sink_lost_frames_total{sink="checker"}`])
		if int64(forwarded) != t.sent {
			failed = append(failed, fmt.Sprintf("%s: %.0f requests forwarded of %d", t.name, forwarded, t.sent))
		}
	}
	return failed
}
