package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/proxy"
	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// timeline prints what the checker tells, as it happens.
type timeline struct {
	mu     sync.Mutex
	out    io.Writer
	watch  *liveView      // the live view in place of lines; nil: not wanted
	report *shadow.Report // of the end, once it is there
}

// show prints an event. The state that comes every second is for machines.
func (t *timeline) show(e shadow.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case e.Kind == shadow.EventVerdict:
		t.report = e.Report
	case t.watch != nil:
		t.watch.show(e)
	case e.Kind == shadow.EventState:
	default:
		fmt.Fprintf(t.out, "%s  %s\n", time.Unix(0, e.At).Format("15:04:05.000"), e.Text)
	}
}

// end prints the verdict and returns the exit code of it.
func (t *timeline) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.report == nil {
		_, err := fmt.Fprintln(t.out, "the checker has come to no verdict; understudy check judges the recording")
		return err
	}
	if err := t.report.WriteText(t.out); err != nil {
		return err
	}
	if t.report.Verdict == shadow.Diverges {
		return &exitError{code: exitFinding}
	}
	return nil
}

// startChecker starts understudy check as a child that reads along.
func (o *proxyOptions) startChecker(show *timeline, stream recordings.Options, log zerolog.Logger) (*proxy.Checker, error) {
	command := o.checker
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("checker: %w", err)
		}
		command = []string{self, "check", "--follow", "--output", "jsonl", "--tier", strconv.Itoa(o.tier)}
		if o.faultAsPeer {
			command = append(command, "--fault-as-peer")
		}
		if o.state != "" {
			command = append(command, "--state", o.state)
		}
		command = append(command, "-")
	}
	return proxy.NewChecker(proxy.CheckerOptions{
		Command: command, Stream: stream, Restart: o.checkerRestart, Events: show.show, Log: log,
	})
}
