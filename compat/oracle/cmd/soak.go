package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/beside"
)

// firstSeed is where the seeds of a ledger begin.
const firstSeed = 1001

// ledger counts the equal steps of each build. It is a file of lines "time build seed steps result".
type ledger struct {
	file  string
	steps map[string]int64
	last  map[string]uint64 // seed
}

func openLedger(dir string) (*ledger, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := &ledger{file: filepath.Join(dir, "ledger.txt"), steps: map[string]int64{}, last: map[string]uint64{}}
	text, err := os.ReadFile(l.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		var at, build, result string
		var seed uint64
		var steps int64
		if _, err := fmt.Sscan(lines.Text(), &at, &build, &seed, &steps, &result); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", l.file, n, err)
		}
		l.count(build, seed, steps, result)
	}
	return l, lines.Err()
}

func (l *ledger) count(build string, seed uint64, steps int64, result string) {
	l.last[build] = max(l.last[build], seed)
	if result == "equal" {
		l.steps[build] += steps
	}
}

func (l *ledger) add(build string, seed uint64, steps int64, result string) error {
	f, err := os.OpenFile(l.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s %d %d %s\n", time.Now().UTC().Format(time.RFC3339), build, seed, steps, result)
	l.count(build, seed, steps, result)
	return errors.Join(err, f.Close())
}

// next is the build with the fewest steps among those that have not had enough.
func (l *ledger) next(builds []string, total int64) string {
	least := ""
	for _, b := range builds {
		if l.steps[b] < total && (least == "" || l.steps[b] < l.steps[least]) {
			least = b
		}
	}
	return least
}

func (l *ledger) print(out io.Writer) {
	sum := int64(0)
	for _, b := range oracle.Versions {
		if n := l.steps[b]; n > 0 {
			fmt.Fprintf(out, "%s %d | ", b, n)
			sum += n
		}
	}
	fmt.Fprintf(out, "%d equal steps\n", sum)
}

// soak plays new seeds on the builds in turn, until each has the total or there is a difference. It goes on where the ledger ends.
func soak(ctx context.Context, o *options, out io.Writer) (found int, err error) {
	l, err := openLedger(o.ledger)
	if err != nil {
		return 0, err
	}
	o.save = o.ledger
	builds := oracle.Versions
	if o.build != "" {
		builds = []string{o.build}
	}
	for version := l.next(builds, o.total); version != "" && found == 0; version = l.next(builds, o.total) {
		l.print(out)
		if found, err = l.extend(ctx, o, version, out); err != nil {
			return 0, err
		}
	}
	l.print(out)
	return found, nil
}

// seedsPerProcess is how many seeds one virtual machine plays before another build has its turn: starting one costs seconds.
const seedsPerProcess = 5

// extend plays some new seeds on a build.
func (l *ledger) extend(ctx context.Context, o *options, version string, out io.Writer) (found int, err error) {
	real, err := oracle.Start(ctx, oracle.Build{Version: version, JVM: beside.JVM(seedsPerProcess * o.chunk)})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, real.Close()) }()
	for range seedsPerProcess {
		if l.steps[version] >= o.total {
			break
		}
		seed := max(firstSeed, l.last[version]+1)
		w, err := play(o, real, seed, o.chunk)
		if err != nil {
			return 0, err
		}
		result := "equal"
		if len(w.Findings) > 0 {
			result = "DIFFERENT"
		}
		if err := l.add(version, seed, w.Commands, result); err != nil {
			return 0, err
		}
		for _, f := range w.Findings {
			f.Print(out, version)
		}
		if len(w.Findings) > 0 {
			return len(w.Findings), nil
		}
	}
	return 0, nil
}
