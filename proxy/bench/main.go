// Command bench measures what forwarding through understudy costs beside a bare io.Copy relay.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/understudy-kafka/understudy/proxy"
)

func main() {
	role := flag.String("role", "", "")
	up := flag.String("up", "", "")
	procs := flag.Int("procs", 0, "")
	conns := flag.Int("conns", 16, "")
	depth := flag.Int("depth", 1, "")
	rounds := flag.Int("rounds", 21, "")
	ms := flag.Int("ms", 200, "")
	bcpu := flag.Int("bcpu", 0, "")
	flag.Parse()
	var err error
	switch *role {
	case "backend":
		err = backend()
	case "bare":
		err = bare(*up)
	case "load":
		err = load()
	case "proxy":
		if *procs > 0 {
			runtime.GOMAXPROCS(*procs)
		}
		err = proxyRole(*up)
	default:
		err = orchestrate(*conns, *depth, *rounds, *ms, *bcpu, *procs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, *role, err)
		os.Exit(1)
	}
}

func proxyRole(up string) error {
	p, err := proxy.New(proxy.Config{Upstreams: []proxy.Upstream{{Node: 1, Address: up, Listen: "127.0.0.1:0"}}})
	if err != nil {
		return err
	}
	fmt.Println(p.Addr(1))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err = p.Run(ctx)
	s := p.Stats()
	fmt.Fprintf(os.Stderr, "gaps %d gapframes %d frames %d %d recorded %d\n", s.Gaps, s.GapFrames, s.FramesRequest, s.FramesResponse, s.Recorded)
	return err
}

func orchestrate(conns, depth, rounds, ms, bcpu, procs int) error {
	self, _ := os.Executable()
	b, err := start(bcpu, self, "-role", "backend")
	if err != nil {
		return err
	}
	defer b.stop()
	addr, _ := b.line()
	ba, err := start(0, self, "-role", "bare", "-up", addr)
	if err != nil {
		return err
	}
	defer ba.stop()
	bareAddr, _ := ba.line()
	pr, err := start(0, self, "-role", "proxy", "-up", addr, "-procs", fmt.Sprint(procs))
	if err != nil {
		return err
	}
	defer pr.stop()
	prAddr, _ := pr.line()
	ld, err := start(0, self, "-role", "load")
	if err != nil {
		return err
	}
	defer ld.stop()
	targets := []struct{ name, addr string }{{"direct", addr}, {"bare", bareAddr}, {"proxy", prAddr}}
	res := map[string][]outcome{}
	for r := 0; r <= rounds; r++ {
		for i := range targets {
			if r%2 == 1 {
				i = len(targets) - 1 - i
			}
			t := targets[i]
			proc := map[string]*process{"direct": b, "bare": ba, "proxy": pr}[t.name]
			before := proc.busy()
			q, _ := json.Marshal(task{Target: t.addr, Conns: conns, Depth: depth, Millis: ms})
			fmt.Fprintln(ld.stdin, string(q))
			line, err := ld.line()
			if err != nil {
				return err
			}
			var o outcome
			if err := json.NewDecoder(strings.NewReader(line)).Decode(&o); err != nil {
				return err
			}
			if o.Error != "" {
				return fmt.Errorf("%s: %s", t.name, o.Error)
			}
			o.Max = float64(proc.busy()-before) / float64(o.Requests) / 1000
			if r > 0 {
				res[t.name] = append(res[t.name], o)
			}
		}
	}
	for _, t := range targets {
		var thr, p50, p99, cpu []float64
		for i, o := range res[t.name] {
			cpu = append(cpu, o.Max)
			x := res["bare"][i]
			_ = x
			thr = append(thr, float64(o.Requests)/o.Seconds)
			p50 = append(p50, o.P50)
			p99 = append(p99, o.P99)
		}
		fmt.Printf("%-8s %9.0f/s p50 %7.1f p99 %8.1f cpu/request %.2f us\n", t.name, median(thr), median(p50), median(p99), median(cpu))
	}
	var thr, p50, p99 []float64
	for i, o := range res["proxy"] {
		x := res["bare"][i]
		thr = append(thr, float64(o.Requests)/o.Seconds/(float64(x.Requests)/x.Seconds))
		p50 = append(p50, o.P50/x.P50)
		p99 = append(p99, o.P99/x.P99)
	}
	l, h := interval(thr, 1)
	fmt.Printf("throughput %.3f [%.3f %.3f]\n", median(thr), l, h)
	l, h = interval(p50, 1)
	fmt.Printf("p50 %.3f [%.3f %.3f]\n", median(p50), l, h)
	l, h = interval(p99, 1)
	fmt.Printf("p99 %.3f [%.3f %.3f]\n", median(p99), l, h)
	return nil
}
