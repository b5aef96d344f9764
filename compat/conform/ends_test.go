package conform

import (
	"bytes"
	"context"
	"errors"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/understudy-kafka/understudy/wire"
)

// fatal is a connection to a node that ends when a request of a kind comes: before it is answered, or when it has been.
type fatal struct {
	net.Conn
	key   int16
	after bool
	ends  func()
	asked atomic.Bool
}

func (f *fatal) Write(b []byte) (int, error) {
	if len(b) > 8 && bytes.Equal(b[4:8], []byte{0, byte(f.key), 0, 2}) { // the key's version 2
		if f.asked.Store(true); !f.after {
			f.ends()
		}
	}
	return f.Conn.Write(b)
}

func (f *fatal) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	if f.after && f.asked.Swap(false) {
		f.ends()
	}
	return n, err
}

// fatalTo leads connections to a node that a request of the kind ends, as often as times says.
func (n *ourNode) fatalTo(key int16, after bool, times int32) Dialer {
	var ended atomic.Int32
	return func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := plain(ctx, address)
		if err != nil {
			return nil, err
		}
		return &fatal{Conn: conn, key: key, after: after, ends: func() {
			if ended.Add(1) <= times {
				_ = n.kill()
			}
		}}, nil
	}
}

// TestRun_ACaseThatEndsTheNodeFails has a node end when it is asked something that ends none: it fails, unless it happened once, for some
// other reason.
func TestRun_ACaseThatEndsTheNodeFails(t *testing.T) {
	t.Parallel() // it waits most of its time
	const always = 1 << 20
	for _, x := range []struct {
		name     string
		after    bool
		times    int32
		restarts bool
		want     Outcome
		says     string
	}{
		{"instead of an answer", false, always, true, Failed, "twice in a row"},
		{"behind the answer", true, always, true, Failed, "twice in a row: it is answered well"},
		{"for good", false, always, false, Failed, "has not come back"},
		{"for good, behind the answer", true, always, false, Failed, "has not come back"},
		{"once", false, 1, true, Passed, ""},
		{"once, behind the answer", true, 1, true, Passed, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			node := ourVoters(t, 1, 1, 1, fastTimers)[0]
			if err := node.start(); err != nil {
				t.Fatal(err)
			}
			o := node.options()
			o.Dial, o.Match = node.fatalTo(wire.KeyVote, x.after, x.times), regexp.MustCompile("^(vote/v2/refuses-other-cluster|describe-quorum/v2/leader-tells|fetch/v17/refuses-other-cluster)$")
			o.Restart = node.restart
			if !x.restarts { // then there is nothing to wait for
				o.Restart = func(context.Context) error { return errors.New("it stays where it is") }
			}
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range report.Results {
				r := &report.Results[i]
				want := Passed
				switch {
				case r.Case.group() == "vote":
					want = x.want
				case i > 0 && report.Results[0].Outcome == Failed && !x.restarts:
					want = Inconclusive
				}
				if r.Outcome != want {
					t.Errorf("%s: %s, want %s: %s", r.Case.ID, r.Outcome, want, r.Why)
				}
				if r.Outcome == Failed && (!strings.Contains(r.Why, "the target has ended") || !strings.Contains(r.Why, x.says)) {
					t.Errorf("%s: %s lacks %q", r.Case.ID, r.Why, x.says)
				}
			}
			if len(report.Results) != 3 {
				t.Errorf("%d cases", len(report.Results))
			}
		})
	}
}

// TestRun_AnEndIsKnownOnlyOfTheReleasesThatDie gives a case the rule of a killer.
func TestRun_AnEndIsKnownOnlyOfTheReleasesThatDie(t *testing.T) {
	dies := killersOf(newestProfile())["hostile/killers/begin-of-another-leader"]
	for _, x := range []struct {
		name string
		c    Case
		want Outcome
	}{{"no release dies", Case{}, Failed}, {"its release dies", Case{kills: dies}, Known}} {
		r := Result{Case: &x.c, Target: &Target{Profile: newestProfile()}}
		if r.endsIt("it has ended"); r.Outcome != x.want || x.want == Known && !strings.Contains(r.Why, dies.issue) {
			t.Errorf("%s: %s %s", x.name, r.Outcome, r.Why)
		}
	}
}

// TestOwn_AScenarioThatEndsTheNodeFails has a node end in a scenario that is not hostile. The next one finds it again, if it can be started.
func TestOwn_AScenarioThatEndsTheNodeFails(t *testing.T) {
	t.Parallel() // it waits most of its time
	for _, restarts := range []bool{true, false} {
		node, o := ourOwn(t, "^unattached/(describes-no-quorum|votes-once|serves-no-fetch)$")
		if !restarts {
			o.Restart = nil
		}
		var ended atomic.Bool
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := plain(ctx, address)
			if err != nil {
				return nil, err
			}
			return &fatal{Conn: conn, key: wire.KeyDescribeQuorum, after: true, ends: func() { ended.Store(node.kill() == nil) }}, nil
		}
		report, err := RunOwn(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		seen := false
		for i := range report.Results {
			r := &report.Results[i]
			want := Passed
			switch {
			case r.Case.ID == "unattached/describes-no-quorum":
				seen, want = true, Failed
			case seen && !restarts:
				want = Inconclusive
			}
			if r.Outcome != want || want == Failed && !strings.Contains(r.Why, errEnded.Error()) {
				t.Errorf("%s: %s, want %s: %s", r.Case.ID, r.Outcome, want, r.Why)
			}
		}
		if !ended.Load() || !seen {
			t.Error("the node has not ended")
		}
	}
}
