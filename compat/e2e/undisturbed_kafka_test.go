package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/recordings"
)

// TestKafka_TroubleOfTheProxysOwnStaysItsOwn kills, stops and starves the checker and takes the recorder's disk
// away while a real quorum works through the proxy. A quorum with Kafka's default timeouts would answer two
// seconds without forwarding with an election; a connection that is lost would show in the kernel's table.
func TestKafka_TroubleOfTheProxysOwnStaysItsOwn(t *testing.T) {
	kafkatest.NeedKafka(t)
	ctx := kafkatest.Deadline(t, 8*time.Minute)
	q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease("4.4.0"), Voters: kafka.Dynamic, Proxied: true})
	ports, err := kafka.TakePorts(1)
	must(t, err)
	metrics := "127.0.0.1:" + strconv.Itoa(ports[0])
	p := startProxy(t, q.Upstreams(), "--include-records", "--http", metrics)
	u := &undisturbed{t: t, q: q, p: p, metrics: metrics}
	const lost = `understudy_proxy_sink_lost_frames_total{sink="checker"}`
	idle := u.checker(t)
	must(t, syscall.Kill(idle, syscall.SIGSTOP)) // it will never read a frame
	leader, err := q.StartAll(ctx)
	must(t, err)
	u.leader = leader

	t.Run("checker that never reads", func(t *testing.T) {
		u.during(t, func() {
			for end := time.Now().Add(time.Minute); u.metric(t, lost) == 0; {
				if time.Now().After(end) {
					t.Fatal("a checker that reads nothing never lost a frame")
				}
				must(t, q.WriteMetadata(ctx, "load", 2000))
			}
			u.work(ctx, t, time.Second)
		})
	})
	t.Run("checker killed", func(t *testing.T) {
		u.during(t, func() {
			must(t, syscall.Kill(idle, syscall.SIGKILL))
			u.work(ctx, t, 3*time.Second)
		})
	})
	t.Run("checker stopped", func(t *testing.T) {
		checker := u.checker(t)
		if checker == idle {
			t.Fatal("the checker was not started again")
		}
		u.during(t, func() {
			must(t, syscall.Kill(checker, syscall.SIGSTOP))
			u.work(ctx, t, 3*time.Second)
			must(t, syscall.Kill(checker, syscall.SIGCONT))
			u.work(ctx, t, time.Second)
		})
	})
	t.Run("disk full", func(t *testing.T) {
		before := u.metric(t, `understudy_proxy_sink_errors_total{sink="recording"}`)
		u.during(t, func() {
			give := u.takeDisk(t)
			for end := time.Now().Add(time.Minute); u.metric(t, `understudy_proxy_sink_errors_total{sink="recording"}`) == before; {
				if time.Now().After(end) {
					t.Fatal("a recorder that cannot write never said so")
				}
				u.work(ctx, t, 200*time.Millisecond)
			}
			u.work(ctx, t, 3*time.Second)
			give()
			u.work(ctx, t, time.Second)
		})
	})

	must(t, q.Close())
	p.finish()
	gaps, after := gapsOf(t, p.segments())
	if gaps == 0 || after == 0 {
		t.Errorf("the recording marks %d gaps and goes on with %d frames; want a gap for the full disk, and frames behind it", gaps, after)
	}
	v, code := check(t, p.segments()...)
	if v.Verdict == "DIVERGES" || code != 0 && code != 3 {
		t.Errorf("check exits with %d: %s", code, &v)
	}
	t.Logf("%d gaps, %s", gaps, &v)
}

// undisturbed is a quorum that must not notice anything.
type undisturbed struct {
	t       *testing.T
	q       *kafka.Quorum
	p       *program
	metrics string
	leader  kafka.Elected
}

// during runs something and expects that meanwhile no connection was lost and no election began.
func (u *undisturbed) during(t *testing.T, f func()) {
	t.Helper()
	before, err := u.q.Connections()
	must(t, err)
	transitions := len(u.q.Truth().Transitions)
	resets := u.metric(t, "understudy_proxy_connection_resets_total")
	f()
	after, err := u.q.Connections()
	must(t, err)
	for _, c := range before {
		if !slices.Contains(after, c) {
			t.Errorf("the connection %s was lost", c)
		}
	}
	if got := u.metric(t, "understudy_proxy_connection_resets_total"); got != resets {
		t.Errorf("%v connections were reset", got-resets)
	}
	for _, x := range u.q.Truth().Transitions[transitions:] {
		t.Errorf("the quorum was disturbed: %s", x)
	}
	must(t, u.q.Err())
	if u.p.Ended() {
		t.Fatalf("the proxy ended: %s", u.p.Exit())
	}
	t.Logf("%d connections stayed, %s stayed", len(before), u.leader)
}

// work writes metadata for a while.
func (u *undisturbed) work(ctx context.Context, t *testing.T, long time.Duration) {
	t.Helper()
	for i, end := 0, time.Now().Add(long); time.Now().Before(end); i++ {
		must(t, u.q.WriteMetadata(ctx, fmt.Sprint("work-", i), 20))
		time.Sleep(20 * time.Millisecond)
	}
}

// metric reads one sample of the proxy's metrics.
func (u *undisturbed) metric(t *testing.T, name string) float64 {
	t.Helper()
	resp, err := http.Get("http://" + u.metrics + "/metrics")
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	for l := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(l, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			must(t, err)
			return n
		}
	}
	t.Fatalf("no metric %s in\n%s", name, text)
	return 0
}

// checker waits for the checker's process, a child of the proxy, and returns its id.
func (u *undisturbed) checker(t *testing.T) int {
	t.Helper()
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", u.p.Pid()))
		must(t, err)
		for _, task := range tasks {
			text, err := os.ReadFile(task)
			if err != nil {
				continue // the thread has ended
			}
			for _, f := range strings.Fields(string(text)) {
				if line, err := os.ReadFile("/proc/" + f + "/cmdline"); err == nil && strings.Contains(string(line), "\x00check\x00") {
					pid, err := strconv.Atoi(f)
					must(t, err)
					return pid
				}
			}
		}
	}
	t.Fatal("the proxy has no checker")
	return 0
}

// takeDisk makes every further write of the proxy to a file fail, as a full disk does, until give is called.
func (u *undisturbed) takeDisk(t *testing.T) (give func()) {
	t.Helper()
	var free unix.Rlimit
	must(t, unix.Prlimit(u.p.Pid(), unix.RLIMIT_FSIZE, nil, &free))
	full := unix.Rlimit{Cur: 1, Max: free.Max}
	must(t, unix.Prlimit(u.p.Pid(), unix.RLIMIT_FSIZE, &full, nil))
	var once sync.Once
	give = func() {
		once.Do(func() { must(t, unix.Prlimit(u.p.Pid(), unix.RLIMIT_FSIZE, &free, nil)) })
	}
	t.Cleanup(give)
	return give
}

// gapsOf counts the gaps of a recording that say of frames or bytes that they are missing, and the frames behind the first of them.
func gapsOf(t *testing.T, files []string) (gaps, after int) {
	t.Helper()
	in, err := recordings.OpenAny(nil, files...)
	must(t, err)
	defer in.Close()
	var o recordings.Observation
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			return gaps, after
		}
		must(t, err)
		switch {
		case o.Kind == recordings.KindGap && o.Gap.Reason != "connection ended within a frame":
			gaps++
		case o.Kind == recordings.KindFrame && gaps > 0:
			after++
		}
	}
}
