// Command benchcheck measures understudy check on one core, beside tshark's dissection of the same frames: both tiers on what a quorum
// of three nodes that it runs says for some time, and the first tier on a million frames made out of the traffic of a real quorum of Kafka.
// It also measures what a frame costs live.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/understudy-kafka/understudy/recordings"
)

func main() {
	frames := flag.Int("frames", 1_000_000, "frames to make, at least")
	part := flag.Int("tshark", 40_000, "frames that tshark dissects")
	runs := flag.Int("runs", 3, "how often each measurement is taken; the median counts")
	source := flag.String("capture", "recordings/testdata/captures/440-dynamic-start-kill/capture.pcap.zst", "capture whose traffic is repeated")
	binary := flag.String("understudy", "bin/understudy", "the program to measure")
	length := flag.Duration("quorum", 40*time.Second, "for how long the quorum is recorded")
	flag.Parse()
	err := runQuorum(*binary, *length, *part, *runs)
	if err == nil {
		err = run(*source, *binary, *frames, *part, *runs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchcheck:", err)
		os.Exit(1)
	}
}

func run(source, binary string, frames, part, runs int) error {
	c, err := load(source)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "benchcheck")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	files, made, err := c.files(dir, frames, part)
	if err != nil {
		return err
	}
	fmt.Printf("%d frames, the first tier alone, the traffic of %s %d times over; one core, median of %d runs; CPU time counts, since the machine may be shared\n", made.frames, filepath.Base(filepath.Dir(source)), made.cycles, runs)
	rates := map[string]float64{}
	for _, kind := range []string{"recording", "pcap"} {
		m, err := measure(runs, binary, "check", "--tier", "1", files[kind])
		if err != nil {
			return err
		}
		rates[kind] = float64(made.frames) / m.cpu.Seconds()
		fmt.Printf("check, %-9s  %9.0f frames per CPU second  %6.2f s CPU, %6.2f s wall  %4d MB resident\n",
			kind, rates[kind], m.cpu.Seconds(), m.wall.Seconds(), m.memory>>20)
	}
	small, err := measure(runs, binary, "check", "--tier", "1", files["part"])
	if err != nil {
		return err
	}
	fmt.Printf("check, a pcap of %d frames: %d MB resident\n", made.part, small.memory>>20)
	m, err := measure(1, "tshark", "-V", "-n", "-r", files["part"])
	if err != nil {
		return err
	}
	dissected := float64(made.part) / m.cpu.Seconds()
	fmt.Printf("tshark -V, %d of these frames  %.0f frames per CPU second  %.2f s CPU, %.2f s wall\n", made.part, dissected, m.cpu.Seconds(), m.wall.Seconds())
	fmt.Printf("check is %.0f times as fast from the recording, %.0f times from the pcap\n", rates["recording"]/dissected, rates["pcap"]/dissected)
	return nil
}

// made says what was generated.
type made struct{ frames, cycles, part int }

// files writes the recording, the capture, and the part of the capture for tshark.
func (c *cycle) files(dir string, frames, part int) (map[string]string, made, error) {
	files := map[string]string{
		"recording": filepath.Join(dir, "run.pcapng.zst"), "pcap": filepath.Join(dir, "run.pcap"), "part": filepath.Join(dir, "part.pcap"),
	}
	var done made
	err := create(files["recording"], func(out io.Writer) error {
		w, err := recordings.NewWriter(out, recordings.Options{IncludeRecords: true})
		if err != nil {
			return err
		}
		for done.frames < frames {
			if err := c.play(done.cycles, w.Write); err != nil {
				return err
			}
			done.frames += c.frames
			done.cycles++
		}
		return w.Close()
	})
	for _, capture := range []struct {
		name   string
		cycles int
	}{{"pcap", done.cycles}, {"part", (part + c.frames - 1) / c.frames}} {
		if err != nil {
			return nil, done, err
		}
		err = create(files[capture.name], func(out io.Writer) error {
			w, err := newPcapWriter(out)
			if err != nil {
				return err
			}
			for n := range capture.cycles {
				if err := c.play(n, w.write); err != nil {
					return err
				}
			}
			return w.out.Flush()
		})
		done.part = capture.cycles * c.frames
	}
	return files, done, err
}

func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f.Close()
}

// figures are what one run of a program took.
type figures struct {
	wall   time.Duration
	cpu    time.Duration // user and system time
	memory int64         // largest resident set, bytes
}

// measure runs a program on one core and returns the median run.
func measure(runs int, program string, args ...string) (figures, error) {
	var list []figures
	for range runs {
		argv := append([]string{program}, args...)
		if pin, err := exec.LookPath("taskset"); err == nil {
			argv = append([]string{pin, "-c", "0"}, argv...)
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		cmd.Stderr = os.Stderr
		begun := time.Now()
		if err := cmd.Run(); err != nil {
			return figures{}, fmt.Errorf("%v: %w", argv, err)
		}
		f := figures{wall: time.Since(begun)}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			f.memory = usage.Maxrss << 10
			f.cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b figures) int { return int(a.cpu - b.cpu) })
	return list[len(list)/2], nil
}
