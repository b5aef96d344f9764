// Command cmd steps machines of package kraft beside the real KafkaRaftClient in random histories, and tells in which
// decisions they differ. It exits with 1 if there is a difference, with 2 if it could not look.
//
//	go run ./compat/oracle/cmd -build 4.4.0 -steps 200000
//	go run ./compat/oracle/cmd -kafka-home ~/kafka -rules 4.4.0
//	go run ./compat/oracle/cmd -ledger DIR -total 5000000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/beside"
	"github.com/understudy-kafka/understudy/compat/oracle/twin"
)

type options struct {
	build, home, rules, save, ledger string
	steps, chunk, most               int
	total                            int64
	seed                             uint64
	stateEvery                       int64
}

// gcPercent lets a run that leaves much behind and holds little collect less often.
const gcPercent = 400

func main() {
	var o options
	flag.StringVar(&o.build, "build", "", "release to step; empty: all raft builds of 4.x")
	flag.StringVar(&o.home, "kafka-home", os.Getenv("KAFKA_LIBS"), "a local Kafka, or the directory of its jars, to step instead of a release")
	flag.StringVar(&o.rules, "rules", "", "release whose rules the machines keep to; empty: that of the build")
	flag.IntVar(&o.steps, "steps", 50_000, "random steps on each build")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the histories")
	flag.IntVar(&o.most, "most", 0, "distinct differences to look for; 0: twenty in a local Kafka, else one")
	flag.Int64Var(&o.stateEvery, "state-every", 1, "compare the whole state after every n-th command")
	flag.StringVar(&o.save, "save", filepath.Join(os.TempDir(), "understudy-oracle"), "directory for the schedules of differences")
	flag.StringVar(&o.ledger, "ledger", "", "directory of a ledger: new seeds on each build in turn, until each has the total")
	flag.IntVar(&o.chunk, "chunk", 100_000, "random steps of one seed in the ledger")
	flag.Int64Var(&o.total, "total", 5_000_000, "equal steps that each build shall have in the ledger")
	flag.Parse()
	debug.SetGCPercent(gcPercent)
	os.Exit(status(&o))
}

func status(o *options) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	found, err := run(ctx, o, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "oracle:", err)
		return 2
	case found > 0:
		return 1
	}
	return 0
}

func run(ctx context.Context, o *options, out io.Writer) (found int, err error) {
	if flag.NArg() > 0 {
		return 0, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if o.rules != "" {
		if _, err := compat.ByRelease(o.rules); err != nil {
			return 0, err
		}
	}
	if o.ledger != "" {
		return soak(ctx, o, out)
	}
	builds := oracle.Versions
	if o.build != "" {
		builds = []string{o.build}
	}
	if o.home != "" {
		b, err := oracle.LocalBuild(o.home)
		if err != nil {
			return 0, err
		}
		return local(ctx, o, b, out)
	}
	for _, version := range builds {
		w, err := walks(ctx, o, oracle.Build{Version: version}, o.seed, o.steps)
		if err != nil {
			return found, err
		}
		release := version
		if o.rules != "" {
			release = o.rules
		}
		for _, f := range w.Findings {
			f.Print(out, release)
		}
		found += len(w.Findings)
	}
	return found, nil
}

// local tells a committer which decisions the local build changes.
func local(ctx context.Context, o *options, b oracle.Build, out io.Writer) (found int, err error) {
	release := o.rules
	if release == "" {
		release = b.Version
		if _, err := compat.ByRelease(release); err != nil {
			return 0, fmt.Errorf("kafka %s is no release: name the one to compare it with by -rules (RULES=4.4.0 for make)", b.Version)
		}
	}
	if o.most == 0 {
		o.most = 20
	}
	w, err := walks(ctx, o, b, o.seed, o.steps)
	if err != nil {
		return 0, err
	}
	if len(w.Findings) == 0 {
		fmt.Fprintf(out, "Kafka %s in %s: no difference from release %s in %d steps.\n", b.Version, b.Libs, release, w.Commands)
		return 0, nil
	}
	fmt.Fprintf(out, "Kafka %s in %s decides otherwise than release %s. It changes these decisions:\n", b.Version, b.Libs, release)
	for i, f := range w.Findings {
		fmt.Fprintf(out, "\n%d. ", i+1)
		f.Print(out, release)
	}
	fmt.Fprintf(out, "\n%d decisions differ, %d steps were equal. Where a rule explains a difference, the walk went on with that rule changed.\n",
		len(w.Findings), w.Commands)
	return len(w.Findings), nil
}

// walks plays the histories of a seed beside one build, in a process of its own.
func walks(ctx context.Context, o *options, b oracle.Build, seed uint64, steps int) (w *beside.Walks, err error) {
	b.JVM = beside.JVM(steps)
	real, err := oracle.Start(ctx, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, real.Close()) }()
	return play(o, real, seed, steps)
}

// play plays the histories of a seed.
func play(o *options, real *oracle.Oracle, seed uint64, steps int) (*beside.Walks, error) {
	t := twin.New(real)
	t.StateEvery = o.stateEvery
	if o.rules != "" {
		t.SetProfile(twin.ProfileOf(o.rules))
	}
	began := time.Now()
	w := &beside.Walks{Twin: t, Oracle: real, Seed: seed, Steps: steps, Most: o.most, Save: o.save}
	err := w.Run()
	fmt.Fprintf(os.Stderr, "Kafka %s, seed %d: %s\n", real.Build.Version, seed, w.Summary(time.Since(began)))
	return w, err
}
