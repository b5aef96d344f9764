package shadow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// clientsOf is the listener of the raft client of each connection: both are on one host. Node n of the captures listens at port 1909n.
func clientsOf(l loaded) map[uint64]string {
	at := map[uint64]string{}
	for i := range l {
		o := &l[i]
		if o.Kind != recordings.KindFrame || o.Dir != wire.Request {
			continue
		}
		if h, _, err := wire.ParseRequestHeader(o.Frame.Bytes); err == nil {
			if id, ok := raftClientID(h.ClientID); ok {
				at[o.Conn.ID] = fmt.Sprintf("127.0.0.1:%d", 19090+int(id))
			}
		}
	}
	return at
}

func connTo(id kraft.NodeID) *recordings.Conn { return &recordings.Conn{Node: id} }

// TestTier2_BlamesNobodyOfWhomOnlyAPartIsSeen takes listeners, and hosts, out of real captures, as a filter of ports does, a proxy that stands
// before some controllers only, or tcpdump on one host. What a node answers then comes of what nobody saw.
func TestTier2_BlamesNobodyOfWhomOnlyAPartIsSeen(t *testing.T) {
	for _, name := range captures {
		l := load(t, name)
		var listeners []string
		for i := range l {
			if e := l[i].Conn.Endpoint; !slices.Contains(listeners, e) {
				listeners = append(listeners, e)
			}
		}
		clients := clientsOf(l)
		for mask := range 1 << len(listeners) {
			at := func(e string) bool {
				i := slices.Index(listeners, e)
				return i >= 0 && mask>>i&1 == 1
			}
			for _, view := range []struct {
				name string
				sees func(o *recordings.Observation) bool
			}{
				{"listeners", func(o *recordings.Observation) bool { return at(o.Conn.Endpoint) }},
				{"hosts", func(o *recordings.Observation) bool { return at(o.Conn.Endpoint) || at(clients[o.Conn.ID]) }},
			} {
				var seen loaded
				for i := range l {
					if view.sees(&l[i]) {
						seen = append(seen, l[i])
					}
				}
				if r := seen.check(Options{Tier2: true}); len(r.Findings) > 0 {
					t.Errorf("%s, %s %0*b of %v: %+v", name, view.name, len(listeners), mask, listeners, r.Findings)
				}
			}
		}
	}
}

// TestCoverage_SaysWhatIsNotSeen: what two hosts say to each other is seen wholly or not at all, unless a listener is left out.
func TestCoverage_SaysWhatIsNotSeen(t *testing.T) {
	voters := []kraft.NodeID{1, 2, 3}
	all := func() coverage {
		v := newCoverage()
		for _, pair := range [][2]kraft.NodeID{{1, 2}, {3, 1}, {2, 3}} {
			v.saw(pair[0], pair[1])
		}
		return v
	}
	for _, tt := range []struct {
		name    string
		change  func(*coverage)
		counted bool
		want    string
	}{
		{"all", func(*coverage) {}, false, ""},
		{"a listener", func(v *coverage) { delete(v.listens, 3) }, false, "nothing that goes to voter 3 is seen"},
		{"its own listener", func(v *coverage) { delete(v.listens, 1) }, false, "nothing that goes to it is seen"},
		{"a pair", func(v *coverage) { delete(v.talked, pairOf(3, 1)) }, false, "nothing between it and voter 3 is seen"},
		{"a pair of others", func(v *coverage) { delete(v.talked, pairOf(3, 2)) }, false, ""},
		{"voters that were counted", func(*coverage) {}, true, "who the voters are has not been told, and not all that voter 2 is asked may be seen"},
		{"a quiet quorum behind a proxy", func(v *coverage) {
			*v = newCoverage()
			for _, id := range voters {
				v.opened(connTo(id))
			}
		}, true, ""},
		{"a proxy before two of three", func(v *coverage) {
			*v = newCoverage()
			v.opened(connTo(1))
			v.opened(connTo(2))
		}, false, "nothing that goes to voter 3 is seen"},
	} {
		v := all()
		tt.change(&v)
		if got := v.lacks(1, voters, tt.counted); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestTier2_JudgesWhatIsSeenAsAWhole: a part of a capture is not judged, unless it is said to be all there is, and then a node is blamed.
func TestTier2_JudgesWhatIsSeenAsAWhole(t *testing.T) {
	l := load(t, "440-dynamic-start-kill")
	first := l[0].Conn.Endpoint
	var part loaded
	for i := range l {
		if l[i].Conn.Endpoint == first {
			part = append(part, l[i])
		}
	}
	if r := part.check(Options{Tier2: true}); len(r.Findings) > 0 || !strings.Contains(strings.Join(r.Notes, "\n"), "is seen") {
		t.Errorf("a part: %+v %q", r.Findings, r.Notes)
	}
	if r := part.check(Options{Tier2: true, SeesAll: true}); len(r.Findings) == 0 {
		t.Error("a part that is said to be all shows nothing that the rest explains")
	}
	r := l.check(Options{Tier2: true})
	for _, n := range r.Tier2 {
		if 100*n.Judged < 95*n.Messages {
			t.Errorf("the whole: %+v", n)
		}
	}
	if len(r.Tier2) != 3 {
		t.Errorf("%d nodes are judged", len(r.Tier2))
	}
}
