package conform

import (
	"bufio"
	"context"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// fastTimers elect soon, and time nobody out on a busy machine.
var fastTimers = kraft.QuorumTimeouts{ElectionMs: 300, FetchMs: 6000, ElectionBackoffMaxMs: 150, RequestMs: 2000, RetryBackoffMs: 20}

// ourPair starts two nodes of ours and returns their addresses once one leads.
func ourPair(t testing.TB) []*ourNode {
	t.Helper()
	pair := ourVoters(t, 2, 2, 1, fastTimers)
	for _, n := range pair {
		if err := n.start(); err != nil {
			t.Fatal(err)
		}
	}
	return pair
}

func (n *ourNode) options() Options {
	return Options{Address: dialable(n.address), NodeID: n.key.ID, ClusterID: ourCluster, Release: "4.4.0"}
}

// TestHostile_OurNodesLiveThroughEverything makes every attack on a leader and a follower of ours. What opens no connection, or sends
// nothing where it says it does, would prove nothing.
func TestHostile_OurNodesLiveThroughEverything(t *testing.T) {
	for _, n := range ourPair(t) {
		f, hits, sent := &front{}, 0, 0
		o := n.options()
		o.Hostility, o.Match, o.Restart, o.Dying, o.strike = Killers, regexp.MustCompile("^hostile/"), n.restart, 50*time.Millisecond, f.strike
		o.Progress = func(_, _ int, r *Result) {
			f.set(func(f *front) {
				silent := strings.HasSuffix(r.Case.ID, "/idle") || strings.HasSuffix(r.Case.ID, "/churn")
				if r.Outcome == Passed && (f.hits == hits || f.sent == sent && !silent) {
					t.Errorf("%s: %d connections, %d bytes", r.Case.ID, f.hits-hits, f.sent-sent)
				}
				hits, sent = f.hits, f.sent
			})
		}
		report, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", report.Target, report.Summary())
		if report.Verdict() != Passed {
			_ = report.WriteText(t.Output(), false)
			t.Fail()
		}
	}
}

// front is a relay in front of a node, which from the first hostile connection on behaves as a broken one would.
type front struct {
	node string
	mu   sync.Mutex
	open map[net.Conn]bool
	gone bool // it closes whom it does not know
	mute bool // it answers nothing
	hits int  // hostile connections
	sent int  // bytes on them
	trip func(*front)
}

func newFront(t *testing.T, node string, trip func(*front)) (f *front, address string) {
	f = &front{node: node, open: map[net.Conn]bool{}, trip: trip}
	return f, listen(t, f.relay)
}

func (f *front) relay(client net.Conn) {
	f.mu.Lock()
	if f.gone {
		f.mu.Unlock()
		return
	}
	f.open[client] = true
	mute := f.mute
	f.mu.Unlock()
	server, err := net.Dial("tcp", f.node)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	if mute {
		_, _ = io.Copy(io.Discard, client)
		return
	}
	var all sync.WaitGroup
	all.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	in := bufio.NewReader(server)
	for {
		answer, err := readFrame(in)
		f.mu.Lock()
		mute = f.mute
		f.mu.Unlock()
		if err != nil || !mute && writeFrame(client, answer) != nil {
			break
		}
	}
	_ = client.Close()
	all.Wait()
}

// set changes the front under its lock.
func (f *front) set(change func(*front)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *front) dropAll() {
	for c := range f.open {
		_ = c.Close()
	}
	f.open = map[net.Conn]bool{}
}

// strike is the dialer of hostile connections.
func (f *front) strike(ctx context.Context, address string) (net.Conn, error) {
	conn, err := plain(ctx, address)
	f.set(func(f *front) {
		if f.hits++; f.hits == 1 && f.trip != nil {
			f.trip(f)
		}
	})
	return &counted{conn, f}, err
}

// counted counts the bytes that an attack sends.
type counted struct {
	net.Conn
	f *front
}

func (c *counted) Write(p []byte) (int, error) {
	c.f.set(func(f *front) { f.sent += len(p) })
	return c.Conn.Write(p)
}

func (c *counted) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// TestHostile_BrokenTwinsAreSeen makes each attack on a node that does not live through it, in each way in which it may not: a leader and
// a follower, as 4.4.0 was recorded with a snapshot, so that no attack is left out.
func TestHostile_BrokenTwinsAreSeen(t *testing.T) {
	t.Parallel() // it waits most of its time
	nodes := []*played{loadPlayed(t, "testdata/4.4.0-dynamic-leader.json.gz"), loadPlayed(t, "testdata/4.4.0-dynamic-follower.json.gz")}
	for _, x := range []struct {
		name, says, match string
		patience          time.Duration // short only where it runs out
		trip              func(*front)
	}{
		{"ends", "it closes what it had", "^hostile/", patience, func(f *front) { f.gone = true; f.dropAll() }},
		{"ends and is started again", "closed a connection that did nothing wrong", "^hostile/", patience, (*front).dropAll},
		{"answers nobody", "answers nobody", "^hostile/connections/(idle|slow-writer)$", time.Second, func(f *front) { f.mute = true }},
	} {
		t.Run(x.name, func(t *testing.T) {
			failed := map[string]bool{}
			asked := nodes
			if x.patience < patience {
				asked = nodes[:1]
			}
			all := regexp.MustCompile(x.match)
			for _, p := range slices.Backward(compat.Profiles()) {
				var missing []string // attacks that the newer releases do not have
				for _, a := range Attacks(p) {
					if all.MatchString(a.ID) && !failed[a.ID] {
						missing = append(missing, regexp.QuoteMeta(a.ID))
					}
				}
				for _, node := range asked {
					if len(missing) == 0 {
						break
					}
					report := attackTwin(t, node, x.trip, Options{Release: p.Covers[0], Match: regexp.MustCompile("^(" + strings.Join(missing, "|") + ")$"), Patience: x.patience})
					for i := range report.Results {
						r := &report.Results[i]
						switch killer := strings.Contains(r.Case.ID, "/killers/"); {
						case r.Outcome == Skipped:
						case killer && r.Outcome == Known, r.Outcome == Failed:
							failed[r.Case.ID] = true
							if !strings.Contains(r.Why, x.says) {
								t.Errorf("%s: %s", r.Case.ID, r.Why)
							}
						default:
							t.Errorf("%s: %s of a node that %s", r.Case.ID, r.Outcome, x.name)
						}
					}
				}
				for _, a := range Attacks(p) {
					if all.MatchString(a.ID) && !failed[a.ID] {
						t.Errorf("%s: %s: no broken twin fails it", p.Build, a.ID)
					}
				}
			}
		})
	}
}

// attackTwin makes attacks on a recorded node that trips over the first hostile connection of each.
func attackTwin(t *testing.T, node *played, trip func(*front), o Options) *Report {
	t.Helper()
	address, dialer := node.dial(t)
	f, before := newFront(t, address, trip)
	o.Address, o.NodeID, o.Hostility, o.Dying, o.strike = before, node.node, Killers, time.Millisecond, f.strike
	o.Dial = func(ctx context.Context, to string) (net.Conn, error) {
		if to == before {
			return plain(ctx, before)
		}
		return dialer(ctx, to) // the node's leader
	}
	o.Restart = func(context.Context) error {
		f.set(func(f *front) { f.gone, f.mute = false, false; f.dropAll() })
		return nil
	}
	o.Progress = func(int, int, *Result) { f.set(func(f *front) { f.hits = 0 }) }
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func newestProfile() compat.Profile {
	all := compat.Profiles()
	return all[len(all)-1]
}

// TestHostile_SilenceIsSeen has a node live and leave whole frames without a reaction.
func TestHostile_SilenceIsSeen(t *testing.T) {
	t.Parallel() // it waits most of its time
	node := ourPair(t)[0]
	hole := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	o := node.options()
	o.Hostility, o.Patience, o.Match = Hostile, time.Second, regexp.MustCompile("^hostile/(header/tags/twice|values/vote/lowest|bytes/ones)$")
	o.strike = func(ctx context.Context, _ string) (net.Conn, error) { return plain(ctx, hole) }
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) < 3 {
		t.Errorf("%d attacks", len(report.Results))
	}
	for i := range report.Results {
		if r := &report.Results[i]; r.Outcome != Skipped && (r.Outcome != Failed || !strings.Contains(r.Why, errSilence.Error())) {
			t.Errorf("%s: %s %s", r.Case.ID, r.Outcome, r.Why)
		}
	}
}

// TestHostile_AMovedEpochIsSeen has an attack move the epoch each time it is tried.
func TestHostile_AMovedEpochIsSeen(t *testing.T) {
	pair := ourPair(t)
	o := pair[0].options()
	o.Hostility, o.Match = Hostile, regexp.MustCompile("^hostile/bytes/tls$")
	o.strike = func(ctx context.Context, to string) (net.Conn, error) {
		now, err := discover(ctx, &o)
		if err == nil {
			err = bumpEpoch(ctx, to, now.Epoch+1)
		}
		if err != nil {
			return nil, err
		}
		return plain(ctx, to)
	}
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r := report.Results[0]; r.Outcome != Failed || !strings.Contains(r.Why, errChanged.Error()) {
		t.Errorf("%s: %s %s", r.Case.ID, r.Outcome, r.Why)
	}
}

func TestHostile_DegreesAndKillers(t *testing.T) {
	p, err := compat.ByRelease("4.3.1")
	if err != nil {
		t.Fatal(err)
	}
	all := Attacks(p)
	seen := map[string]bool{}
	for i := range all {
		a := &all[i]
		if seen[a.ID] {
			t.Errorf("%s is there twice", a.ID)
		}
		seen[a.ID] = true
		if a.Says == "" || a.Source == "" || !strings.HasPrefix(a.ID, "hostile/") || a.Does == "" && len(a.Steps) == 0 {
			t.Errorf("%s lacks its rule, its source or what it does", a.ID)
		}
		if (a.kills != nil) != strings.HasPrefix(a.ID, "hostile/killers/") {
			t.Errorf("%s: killers have ids of their own", a.ID)
		}
	}
	for _, x := range []struct {
		degree        Hostility
		some, killers bool
	}{{Peaceful, false, false}, {Hostile, true, false}, {Killers, true, true}} {
		chosen := x.degree.choose(Attacks(p))
		killers := 0
		for i := range chosen {
			if chosen[i].kills != nil {
				killers++
			}
		}
		if (len(chosen) > 0) != x.some || (killers > 0) != x.killers {
			t.Errorf("degree %d: %d attacks, %d killers", x.degree, len(chosen), killers)
		}
	}
}

// TestKiller_IsKnownOnlyOfTheReleasesThatItEnds holds a node to its own release.
func TestKiller_IsKnownOnlyOfTheReleasesThatItEnds(t *testing.T) {
	for _, x := range []struct {
		release string
		want    Outcome
	}{{"4.0.0", Known}, {"4.3.1", Known}, {"4.4.0", Failed}} {
		p, err := compat.ByRelease(x.release)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range Attacks(p) {
			if a.ID != "hostile/killers/v1/fetch-snapshot-without-a-topic" {
				continue
			}
			outcome, why := a.kills.ended(p, io.EOF)
			if outcome != x.want || x.want == Known && !strings.Contains(why, "4.0.0 to 4.3.1 (MINOR #23185)") {
				t.Errorf("%s: %s %s", x.release, outcome, why)
			}
		}
	}
}
