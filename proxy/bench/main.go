//go:build linux

// Command bench measures what forwarding through understudy costs beside a bare io.Copy relay.
//
// One process tree holds a backend, both relays and the load. Load, backend and relays share one processor, so that
// no wake-up across processors hides what a relay costs; understudy's checker, a process of its own, runs on the
// other. Slices are short and many, so that what the scheduler gives to other programs at a time (50 ms in a second,
// beside real-time priority) spoils few of them and not a part of each. Each round visits every target, every other
// round in reverse, and the first round does not count. What is reported are the ratios of targets within a round:
// their median, and its bootstrap 95 % interval.
//
// It exits with 1 if a gate fails.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

type options struct {
	understudy string
	rounds     int
	slice      time.Duration
	cpu        int // of load, backend and relays
	checkerCPU int
	seed       uint64
	stalls     bool
	against    string
}

func main() {
	signal.Ignore(syscall.SIGPIPE) // the processes are to be stopped though nobody reads the report
	role := flag.String("role", "", "internal: what this process is")
	upstream := flag.String("upstream", "", "internal: where a relay forwards to")
	var o options
	flag.StringVar(&o.understudy, "understudy", "bin/understudy", "the program to measure")
	flag.StringVar(&o.against, "against", "", "another build of the program to measure in the same rounds")
	flag.IntVar(&o.rounds, "rounds", 75, "rounds that count")
	flag.DurationVar(&o.slice, "slice", 100*time.Millisecond, "how long one target is loaded in a round")
	flag.IntVar(&o.cpu, "cpu", 0, "processor of load, backend and relays")
	flag.IntVar(&o.checkerCPU, "checker-cpu", 1, "processor of understudy's checker")
	flag.Uint64Var(&o.seed, "seed", 1, "of the bootstrap")
	flag.BoolVar(&o.stalls, "stalls", true, "also measure with checkers and disks that fail")
	flag.Parse()
	err := play(*role, *upstream, o)
	var exit *exec.ExitError
	if errors.As(err, &exit) && *role == "" {
		os.Exit(exit.ExitCode()) // it has said why
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", *role, err)
		os.Exit(1)
	}
}

func play(role, upstream string, o options) error {
	switch role {
	case "backend":
		return backend()
	case "bare":
		return bare(upstream)
	case "load":
		return load()
	case "deaf":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		<-c
		return nil
	}
	if role == "" {
		return standApart()
	}
	if _, err := os.Stat(o.understudy); err != nil {
		return fmt.Errorf("%w; make build makes it", err)
	}
	return measure(o)
}

// measure runs the whole benchmark.
func measure(o options) error {
	b, err := newBench(o)
	if err != nil {
		return err
	}
	defer b.stop()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ended
		b.stop()
		os.Exit(1)
	}()
	fmt.Printf("# understudy beside a bare io.Copy relay\n\n%d rounds of %s a target; load, backend and relays on processor %d, the checker on %d; recording and checker on.\n",
		o.rounds, o.slice, o.cpu, o.checkerCPU)
	var failed []string
	for _, w := range workloads {
		results, err := b.rounds(w, b.relays())
		if err != nil {
			return err
		}
		failed = append(failed, b.tell(w, results)...)
	}
	if o.stalls {
		results, err := b.stalls()
		if err != nil {
			return err
		}
		failed = append(failed, b.tellStalls(results)...)
	}
	lost, err := b.account()
	if err != nil {
		return err
	}
	failed = append(failed, lost...)
	if len(failed) > 0 {
		fmt.Println()
		for _, f := range failed {
			fmt.Println("FAILED:", f)
		}
		return fmt.Errorf("%d gates failed", len(failed))
	}
	fmt.Println("\nAll gates passed.")
	return nil
}

// self is this program.
func self() string {
	name, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return name
}

// find makes the name of a program absolute, since children may run elsewhere.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
