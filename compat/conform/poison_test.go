package conform

import (
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
)

// ourOwn is a node of ours in a static quorum of which the suite plays the rest.
func ourOwn(t *testing.T, match string) (*ourNode, OwnOptions) {
	t.Helper()
	return ourOwnOf(t, 0, nil, match)
}

// ourOwnOf is ourOwn of a quorum with the kraft.version, whose connections may be guarded.
func ourOwnOf(t *testing.T, version int16, guard *secure.Config, match string) (*ourNode, OwnOptions) {
	t.Helper()
	list := ourVoters(t, 3, 1, version, kraft.QuorumTimeouts{ElectionMs: 200, FetchMs: 2000, ElectionBackoffMaxMs: 150, RequestMs: 1000, RetryBackoffMs: 20})
	node := list[0]
	node.guard = guard
	if err := node.start(); err != nil {
		t.Fatal(err)
	}
	o := OwnOptions{Options: node.options(), Voters: map[kraft.NodeID]string{2: dialable(list[1].address), 3: dialable(list[2].address)}}
	if guard != nil {
		o.Dial, o.Guard = guard.Dial, func(l net.Listener) net.Listener { return secure.Listen(l, *guard, secure.ListenOptions{}) }
	}
	if version > 0 {
		o.Directories = map[kraft.NodeID]kraft.DirectoryID{2: list[1].key.DirectoryID, 3: list[2].key.DirectoryID}
	}
	o.Match, o.Restart, o.Hostility, o.Dying = regexp.MustCompile(match), node.restart, Killers, 100*time.Millisecond
	return node, o
}

// TestPoison_OurNodeGoesOn gives a follower of ours all that ends those of Kafka. None of it needs to.
func TestPoison_OurNodeGoesOn(t *testing.T) {
	t.Parallel() // it waits most of its time
	_, o := ourOwn(t, "^hostile/")
	report, err := RunOwn(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", report.Target, report.Summary())
	for i := range report.Results {
		if r := &report.Results[i]; r.Outcome == Known {
			t.Errorf("%s ends ours as it ends Kafka's: %s", r.Case.ID, r.Why)
		}
	}
	if report.Verdict() != Passed {
		_ = report.WriteText(t.Output(), false)
		t.Fail()
	}
	if n := ownTwins(t, report); n == 0 {
		t.Error("no broken twin")
	}
}

// TestPoison_ABrokenTwinIsSeen ends the node whenever a poison has left. What no release of Kafka dies of is a failure.
func TestPoison_ABrokenTwinIsSeen(t *testing.T) {
	t.Parallel() // it waits most of its time
	node, o := ourOwn(t, "^hostile/")
	o.poisoned = func() { go func() { _ = node.kill() }() } // it answers the poisoner first
	o.Dying = 10 * time.Second
	report, err := RunOwn(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	demanded := map[string]bool{}
	for _, p := range compat.Profiles() {
		for _, s := range Scenarios(p) {
			if s.hostile {
				demanded[s.ID] = true
			}
		}
	}
	for i := range report.Results {
		r := &report.Results[i]
		delete(demanded, r.Case.ID)
		want := Failed
		if strings.HasPrefix(r.Case.ID, "hostile/killers/") && r.Case.ID != "hostile/killers/answer/snapshot-without-a-topic" { // by the rules of 4.4.0
			want = Known
		}
		if r.Outcome != want || !strings.Contains(r.Why, errEnded.Error()) {
			t.Errorf("%s: %s %s, want %s", r.Case.ID, r.Outcome, r.Why, want)
		}
	}
	for id := range demanded {
		t.Errorf("%s: no broken twin fails it", id)
	}
}

// TestPoison_WithoutAWayBackTheRestIsInconclusive ends the node for good.
func TestPoison_WithoutAWayBackTheRestIsInconclusive(t *testing.T) {
	node, o := ourOwn(t, "^hostile/answers/")
	o.poisoned = func() { go func() { _ = node.kill() }() }
	o.Restart, o.Hostility, o.Dying = nil, Hostile, 10*time.Second
	report, err := RunOwn(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range report.Results {
		r := &report.Results[i]
		if i == 0 && r.Outcome != Failed || i > 0 && (r.Outcome != Inconclusive || !strings.Contains(r.Why, "--restart-cmd")) {
			t.Errorf("%s: %s %s", r.Case.ID, r.Outcome, r.Why)
		}
	}
}
