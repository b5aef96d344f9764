package oracle_test

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/walk"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
)

// withState is an oracle that shows the state after every command, as walks need it, and sums up its answers.
type withState struct {
	*oracle.Oracle
	sum hash.Hash
}

func (s *withState) Do(c oracle.Command) (*oracle.Answer, error) {
	c.State = true
	a, err := s.Oracle.Do(c)
	if err == nil {
		s.sum.Write(a.Raw)
	}
	return a, err
}

// TestKafka_SameCommandsGiveTheSameAnswers steps each build twice, under other compilers and collectors.
func TestKafka_SameCommandsGiveTheSameAnswers(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			var sums []string
			for _, jvm := range [][]string{nil, {"-XX:-UseSerialGC", "-XX:+UseG1GC", "-XX:TieredStopAtLevel=4", "-Xmx512m"}} {
				o := start(t, oracle.Build{Version: version, JVM: jvm})
				s := &withState{o, sha256.New()}
				reset := func() error { _, err := o.Do(oracle.Command{Cmd: "reset"}); return err }
				if err := walk.Run(s, version, 41, 2000, reset); err != nil {
					t.Fatal(err)
				}
				sums = append(sums, fmt.Sprintf("%x", s.sum.Sum(nil)))
			}
			if sums[0] != sums[1] {
				t.Errorf("answers differ: %v", sums)
			}
		})
	}
}

// bothLogs steps a client on the memory log and one on Kafka's own file log. All that they decide must be equal.
type bothLogs struct {
	memory, files *oracle.Oracle
	dir           string
	made          int
	dirs          map[string]string // of each node
	opened        int               // directories of Kafka's that kraft/storage has opened too
}

func (b *bothLogs) Do(c oracle.Command) (*oracle.Answer, error) {
	c.State = true
	inMemory := c
	if c.Cmd == "init" {
		in, held := *c.Init, *c.Init
		held.OneSegment, inMemory.Init = true, &held
		b.made++
		in.LogDir, c.Init = filepath.Join(b.dir, fmt.Sprint(b.made)), &in
		b.dirs[c.Node] = filepath.Join(in.LogDir, "__cluster_metadata-0")
		if err := os.MkdirAll(b.dirs[c.Node], 0o755); err != nil {
			return nil, err
		}
	}
	m, err := b.memory.Do(inMemory)
	if err != nil {
		return nil, err
	}
	var ours *storage.Log
	if c.Cmd == "restart" {
		if ours, err = opened(b.dirs[c.Node]); err != nil {
			return nil, fmt.Errorf("kraft/storage on the files of %s: %w", c.Node, err)
		}
	}
	f, err := b.files.Do(c)
	if err != nil {
		return nil, err
	}
	if ours != nil {
		if err := b.sameStart(ours, b.dirs[c.Node], f); err != nil {
			return nil, err
		}
	}
	if want, got := decisions(c, m), decisions(c, f); want != got {
		return nil, fmt.Errorf("command %s of %s:\nmemory log: %s\nfile log:   %s", c.Cmd, c.Node, want, got)
	}
	return m, nil
}

// opened is what kraft/storage makes of a copy of the directory, as the end of the process leaves it. The indexes are sparse and long,
// and follow from the log.
func opened(dir string) (*storage.Log, error) {
	fsys := memfs.New()
	if err := fsys.MkdirAll("log", 0o755); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "index") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		fsys.Put(filepath.Join("log", e.Name()), content)
	}
	return storage.Open(fsys, "log", storage.Options{})
}

// sameStart compares what both found on the same files.
func (b *bothLogs) sameStart(ours *storage.Log, dir string, a *oracle.Answer) error {
	if a.State == nil || slices.ContainsFunc(a.Effects, func(e oracle.Effect) bool { return e.Kind == "epoch" }) {
		return nil // it ended at its start, or leads already: the only voter
	}
	epochs, err := storage.ReadEpochs(storage.OS(), dir)
	if err != nil {
		return err
	}
	epochs = epochs.TruncateFromEnd(kraft.Offset(a.State.End)) // of which Kafka has none in memory any more, whatever the file says
	last, ok := ours.LastEpoch()
	if !ok {
		last = -1
	}
	b.opened++
	kafka := fmt.Sprintf("log %d..%d last epoch %d epochs %v", a.State.Start, a.State.End, a.State.LastEpoch, epochs)
	if got := fmt.Sprintf("log %d..%d last epoch %d epochs %v", ours.Start, ours.End, last, ours.Epochs); got != kafka {
		return fmt.Errorf("opened again:\nKafka: %s\nkraft/storage: %s", kafka, got)
	}
	return nil
}

// decisions is an answer without what only one of the logs tells. To move the log start beyond the high watermark is refused by both,
// by the file log with an exception.
func decisions(c oracle.Command, a *oracle.Answer) string {
	text := fmt.Sprintf("fatal %t finished %t error %t waits %v", a.Fatal != "", a.Finished, a.Error != "" && c.Cmd != "deleteBefore", a.Waits)
	for i := range a.Effects {
		switch e := &a.Effects[i]; e.Kind {
		case "append":
			text += fmt.Sprintf("; append %s %d %d", e.Text(0), e.Int(1), e.Int(2))
		case "freeze", "clean", "deleteBefore", "truncateToSnapshot", "flush", "hw":
		default:
			text += "; " + e.String()
		}
	}
	if s := a.State; s != nil {
		text += fmt.Sprintf("; %s epoch %d leader %d hw %d log %d..%d last %d %v %v %v %v", s.Role, s.Epoch, s.Leader, s.HighWatermark, s.Start, s.End, s.LastEpoch,
			s.Timers, s.Replicas, s.Observers, s.Voters)
	}
	return text
}

// fastDir is a directory in memory, where the system has one: the file log makes sparse files of 10 MiB and syncs a lot.
func fastDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "understudy-oracle-") //nolint:usetesting // TMPDIR is rarely in memory
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestKafka_MemoryLogDecidesAsTheFileLog keeps the memory log of the harness honest, restarts included, and kraft/storage, which opens the
// files that Kafka opens again.
func TestKafka_MemoryLogDecidesAsTheFileLog(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			steps := 600
			if os.Getenv("UNDERSTUDY_MATRIX") != "" {
				steps = 2_000
				if version == oracle.Versions[0] || version == oracle.Versions[len(oracle.Versions)-1] {
					steps = 20_000
				}
			}
			if *flagSteps > 0 {
				steps = *flagSteps
			}
			b := &bothLogs{
				dirs:   map[string]string{},
				memory: start(t, oracle.Build{Version: version}), files: start(t, oracle.Build{Version: version, Log: oracle.FileLog}), dir: fastDir(t),
			}
			reset := func() error {
				if _, err := b.memory.Do(oracle.Command{Cmd: "reset"}); err != nil {
					return err
				}
				_, err := b.files.Do(oracle.Command{Cmd: "reset"})
				return err
			}
			if err := walk.Run(b, version, *flagSeed, steps, reset, walk.Options.ForFileLog); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d steps equal, %d directories of Kafka's opened by kraft/storage as well", steps, b.opened)
		})
	}
}
