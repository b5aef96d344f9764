package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// runQuorum runs a quorum twice: at the pace of a busy controller before the live checker, and as fast as it goes before a recorder, for
// the checker to read.
func runQuorum(binary string, length time.Duration, part, runs int) error {
	dir, err := os.MkdirTemp("", "benchcheck")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := live(filepath.Join(dir, "live"), binary); err != nil {
		return err
	}
	file := filepath.Join(dir, "run")
	if err := recorded(filepath.Join(dir, "nodes"), binary, file, length); err != nil {
		return err
	}
	frames, seconds, err := convert(file, filepath.Join(dir, "run.pcap"), 0)
	if err != nil {
		return err
	}
	few, _, err := convert(file, filepath.Join(dir, "part.pcap"), part)
	if err != nil {
		return err
	}
	fmt.Printf("%d frames of a quorum of %d voters and %d observers by 4.4.0's rules in %.0f s; one core, median of %d runs, CPU time\n", frames, voters, observers, seconds, runs)
	m, err := measure(1, "tshark", "-V", "-n", "-r", filepath.Join(dir, "part.pcap"))
	if err != nil {
		return err
	}
	dissected := float64(few) / m.cpu.Seconds()
	fmt.Printf("tshark -V, the first %d of them      %9.0f frames per CPU second  %6.2f s CPU\n", few, dissected, m.cpu.Seconds())
	for _, input := range []string{"run", "run.pcap"} {
		for _, tier := range []string{"1", "2"} {
			args := []string{"check", "--tier", tier, "--release", "4.4.0", filepath.Join(dir, input)}
			m, err := measure(runs, binary, args...)
			if err != nil {
				return err
			}
			rate := float64(frames) / m.cpu.Seconds()
			fmt.Printf("check --tier %s, %-9s              %9.0f frames per CPU second  %6.2f s CPU  %4d MB resident  %4.0f times tshark\n",
				tier, input, rate, m.cpu.Seconds(), m.memory>>20, rate/dissected)
		}
	}
	return nil
}

// busy is the pace of the live run: a cluster that changes something two hundred times a second.
const (
	busy       = 5 * time.Millisecond
	liveLength = 20 * time.Second
	writers    = 8
)

func live(dir, binary string) error {
	file := filepath.Join(dir, "live")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	q, err := startQuorum(dir, binary, "proxy", "--record", file)
	if err != nil {
		return err
	}
	appended, err := q.load(context.Background(), liveLength, 1, busy)
	cpu, stopped := q.stop()
	if err := errors.Join(err, stopped); err != nil {
		return err
	}
	frames, seconds, err := convert(file, filepath.Join(dir, "live.pcap"), 0)
	if err != nil {
		return err
	}
	fmt.Printf("live: %d appends and %d frames in %.0f s; proxy, recorder and checker of both tiers took %.2f s of CPU: %.1f us a frame\n",
		appended, frames, seconds, cpu.Seconds(), cpu.Seconds()*1e6/float64(frames))
	return nil
}

func recorded(dir, binary, file string, length time.Duration) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	q, err := startQuorum(dir, binary, "record", "--record", file, "--include-records")
	if err != nil {
		return err
	}
	_, err = q.load(context.Background(), length, writers, 0)
	_, stopped := q.stop()
	return errors.Join(err, stopped)
}

// convert makes a capture of a recording, or of its first frames, and looks that nobody is blamed in it.
func convert(from, to string, limit int) (frames int, seconds float64, err error) {
	in, err := recordings.OpenAny(nil, from)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = in.Close() }() // only read from
	checker := shadow.New(shadow.Options{Tier2: true})
	err = create(to, func(out io.Writer) error {
		w, err := newPcapWriter(out)
		if err != nil {
			return err
		}
		var o recordings.Observation
		first := int64(0)
		for limit == 0 || frames < limit {
			if err := in.Next(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return err
			}
			if o.Kind == recordings.KindFrame {
				frames++
			}
			if first == 0 {
				first = o.At.Seen
			}
			seconds = float64(o.At.Seen-first) / 1e9
			checker.Observe(&o)
			if err := w.write(&o); err != nil {
				return err
			}
		}
		return w.out.Flush()
	})
	if r := checker.Finish(); err == nil && limit == 0 && r.Verdict != shadow.Conforms {
		err = fmt.Errorf("%s: %s: %v %+v", from, r.Verdict, r.Reasons, r.Tier2)
	}
	return frames, seconds, err
}
