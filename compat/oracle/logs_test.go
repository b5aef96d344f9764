package oracle_test

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/compat/oracle/walk"
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
	nodes         int
}

func (b *bothLogs) Do(c oracle.Command) (*oracle.Answer, error) {
	c.State = true
	m, err := b.memory.Do(c)
	if err != nil {
		return nil, err
	}
	if c.Cmd == "init" {
		in := *c.Init
		b.nodes++
		in.LogDir, c.Init = filepath.Join(b.dir, fmt.Sprint(b.nodes)), &in
		if err := os.MkdirAll(filepath.Join(in.LogDir, "__cluster_metadata-0"), 0o755); err != nil {
			return nil, err
		}
	}
	f, err := b.files.Do(c)
	if err != nil {
		return nil, err
	}
	if want, got := decisions(m), decisions(f); want != got {
		return nil, fmt.Errorf("command %s of %s:\nmemory log: %s\nfile log:   %s", c.Cmd, c.Node, want, got)
	}
	return m, nil
}

// decisions is an answer without what only one of the logs tells.
func decisions(a *oracle.Answer) string {
	text := fmt.Sprintf("fatal %t finished %t error %t waits %v", a.Fatal != "", a.Finished, a.Error != "", a.Waits)
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

// TestKafka_MemoryLogDecidesAsTheFileLog keeps the memory log of the harness honest, restarts included.
func TestKafka_MemoryLogDecidesAsTheFileLog(t *testing.T) {
	steps := 600
	if *flagSteps > 0 {
		steps = *flagSteps
	}
	for _, version := range []string{"4.0.0", "4.4.0"} {
		t.Run(version, func(t *testing.T) {
			versions(t)
			b := &bothLogs{
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
		})
	}
}
