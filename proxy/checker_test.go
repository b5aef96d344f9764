package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// stubMode in the environment makes this test binary a checker.
const stubMode = "UNDERSTUDY_TEST_CHECKER"

// stubChecker reads a recording like the real checker does, and tells in its verdict what came.
func stubChecker(mode string) int {
	out := json.NewEncoder(os.Stdout)
	switch mode {
	case "deaf": // never reads
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGUSR1)
		<-c
		return 0
	case "crash":
		fmt.Fprintln(os.Stderr, "something is wrong")
		return 9
	case "babble":
		fmt.Println("no event\n{\"event\":")
	}
	r, err := recordings.NewReader(os.Stdin, "stdin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	var frames, lost, midway int
	for {
		var o recordings.Observation
		err := r.Next(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 4
		}
		switch o.Kind {
		case recordings.KindOpen:
			if o.Conn.Midway {
				midway++
			}
			_ = out.Encode(shadow.Event{Kind: shadow.EventState, Text: "open"})
		case recordings.KindFrame:
			frames++
		case recordings.KindGap:
			lost += int(o.Gap.Frames)
		case recordings.KindClose:
		}
	}
	for _, d := range r.Damage() {
		fmt.Fprintln(os.Stderr, "damage:", d)
	}
	_ = out.Encode(shadow.Event{Kind: shadow.EventVerdict, Text: fmt.Sprintf("frames %d lost %d midway %d", frames, lost, midway)})
	return 0
}

// checked is a proxy with a checker in front of an upstream that echoes frames.
type checked struct {
	*running
	checker *Checker
	log     *logs
	mu      sync.Mutex
	events  []shadow.Event
}

func startChecked(t *testing.T, mode string, change func(*CheckerOptions)) *checked {
	t.Helper()
	t.Setenv(stubMode, mode)
	c := &checked{log: new(logs)}
	opts := CheckerOptions{
		Command: []string{os.Args[0]}, Log: zerolog.New(c.log), pause: time.Millisecond, Grace: patience,
		Events: func(e shadow.Event) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.events = append(c.events, e)
		},
	}
	if change != nil {
		change(&opts)
	}
	var err error
	if c.checker, err = NewChecker(opts); err != nil {
		t.Fatal(err)
	}
	up := newServer(t)
	up.serve(func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	c.running = startProxy(t, up.addr(), func(cfg *Config) { cfg.Sinks = append(cfg.Sinks, c.checker) })
	return c
}

func (c *checked) texts(kind shadow.EventKind) (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.Kind == kind {
			list = append(list, e.Text)
		}
	}
	return list
}

// exchange sends n frames and reads each back.
func exchange(t *testing.T, conn net.Conn, n, size int) {
	t.Helper()
	frame := response(1, strings.Repeat("x", size))
	for range n {
		send(t, conn, frame)
		readFrame(t, conn)
	}
}

func (c *checked) child() *os.Process { return c.checker.session.Load().cmd.Process }

func TestChecker_SeesEveryFrameAndItsVerdictArrives(t *testing.T) {
	c := startChecked(t, "read", nil)
	exchange(t, c.dial(1), 50, 100)
	eventually(t, "an event while the proxy runs", func() bool { return len(c.texts(shadow.EventState)) == 1 })
	c.end()
	if got := c.texts(shadow.EventVerdict); len(got) != 1 || got[0] != "frames 100 lost 0 midway 0" {
		t.Errorf("verdict %q", got)
	}
	if s := c.checker.Stats(); s.Frames != 100 || s.Lost != 0 || s.Errors != 0 || s.Events["verdict"] != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestChecker_KilledIsReportedAndStartedAgainInMidStream(t *testing.T) {
	c := startChecked(t, "read", func(o *CheckerOptions) { o.Restart = true })
	client := c.dial(1)
	exchange(t, client, 10, 100)
	eventually(t, "the first child reads", func() bool { return len(c.texts(shadow.EventState)) == 1 })
	first := c.child()
	_ = first.Kill()
	eventually(t, "a new child", func() bool {
		s := c.checker.session.Load()
		return s != nil && s.cmd.Process.Pid != first.Pid
	})
	exchange(t, client, 10, 100)
	if s := c.checker.Stats(); !s.Up || s.Errors != 1 || !strings.Contains(s.LastError, "killed") {
		t.Errorf("stats %+v", s)
	}
	c.end()
	if got := c.texts(shadow.EventVerdict); len(got) != 1 || !strings.HasSuffix(got[0], "midway 1") {
		t.Errorf("verdict %q", got)
	}
	if !strings.Contains(c.log.String(), "forwarding and recording go on") {
		t.Errorf("log: %s", c.log)
	}
	if n := len(c.sink.kinds(recordings.KindFrame)); n != 40 {
		t.Errorf("%d frames recorded, want 40", n)
	}
}

func TestChecker_StoppedMissesFramesAndIsToldSo(t *testing.T) {
	c := startChecked(t, "read", func(o *CheckerOptions) { o.Memory = 256 << 10 })
	client := c.dial(1)
	exchange(t, client, 1, 100)
	eventually(t, "the child reads", func() bool { return len(c.texts(shadow.EventState)) == 1 })
	_ = c.child().Signal(syscall.SIGSTOP)
	const more = 1500
	exchange(t, client, more, 2000) // far more than the pipe and the memory take
	eventually(t, "frames are lost", func() bool { return c.checker.Stats().Lost > 0 })
	_ = c.child().Signal(syscall.SIGCONT)
	eventually(t, "the child has caught up", func() bool { return c.checker.session.Load().feed.stalled() == 0 })
	exchange(t, client, 1, 100)
	c.end()
	var frames, lost, midway int
	got := c.texts(shadow.EventVerdict)
	if len(got) != 1 {
		t.Fatalf("verdicts %q\n%s", got, c.log)
	}
	if _, err := fmt.Sscanf(got[0], "frames %d lost %d midway %d", &frames, &lost, &midway); err != nil {
		t.Fatal(err)
	}
	if lost == 0 || frames+lost != 2*(more+2) || midway != 0 {
		t.Errorf("verdict %q, want %d frames in all\n%s", got[0], 2*(more+2), c.log)
	}
	if n := len(c.sink.kinds(recordings.KindFrame)); n != 2*(more+2) {
		t.Errorf("%d frames recorded", n)
	}
}

func TestChecker_ThatNeverReadsDelaysNobodyAndIsKilledInTheEnd(t *testing.T) {
	c := startChecked(t, "deaf", func(o *CheckerOptions) { o.Memory, o.Grace = 64<<10, 10*time.Millisecond })
	exchange(t, c.dial(1), 1500, 2000)
	eventually(t, "frames are lost", func() bool { return c.checker.Stats().Lost > 0 })
	c.end()
	if !strings.Contains(c.log.String(), "not come to a verdict") {
		t.Errorf("log: %s", c.log)
	}
	if s := c.Stats(); s.Gaps != 0 || s.FramesRequest != 1500 {
		t.Errorf("stats %+v", s)
	}
}

func TestChecker_ThatCrashesIsReportedWithWhatItSaid(t *testing.T) {
	c := startChecked(t, "crash", nil)
	eventually(t, "the end is noticed", func() bool { return c.checker.session.Load() == nil })
	exchange(t, c.dial(1), 5, 100)
	eventually(t, "frames are counted as lost", func() bool { return c.checker.Stats().Lost == 10 })
	if s := c.checker.Stats(); s.Up || !strings.Contains(s.State, "exit status 9") {
		t.Errorf("stats %+v", s)
	}
	c.end()
	if text := c.log.String(); !strings.Contains(text, "something is wrong") || !strings.Contains(text, "exit status 9") {
		t.Errorf("log: %s", text)
	}
}

func TestChecker_ThatBabblesIsReadOn(t *testing.T) {
	c := startChecked(t, "babble", nil)
	exchange(t, c.dial(1), 5, 100)
	c.end()
	if got := c.texts(shadow.EventVerdict); len(got) != 1 {
		t.Errorf("verdict %q", got)
	}
	if !strings.Contains(c.log.String(), "something else than an event") {
		t.Errorf("log: %s", c.log)
	}
}

func TestChecker_MissingProgramIsAnError(t *testing.T) {
	_, err := NewChecker(CheckerOptions{Command: []string{"/nowhere/understudy", "check"}})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/understudy") {
		t.Errorf("error %v", err)
	}
}
