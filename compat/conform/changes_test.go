package conform

import (
	"bufio"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// moved is a relay in front of a node whose epoch moves behind the answers for which moves names one.
func moved(t *testing.T, node string, moves func(kmsg.Request) (kraft.Epoch, bool)) (address string) {
	t.Helper()
	return listen(t, func(client net.Conn) {
		server, err := net.Dial("tcp", node)
		if err != nil {
			return
		}
		defer func() { _ = server.Close() }()
		in, out := bufio.NewReader(client), bufio.NewReader(server)
		for {
			request, err := readFrame(in)
			if err != nil || writeFrame(server, request) != nil {
				return
			}
			answer, err := readFrame(out)
			if err != nil {
				return
			}
			h, message, err := readRequest(bufio.NewReader(strings.NewReader(string(wire.AppendFrame(nil, request)))))
			if err == nil && h.Key != wire.KeyAPIVersions {
				if epoch, ok := moves(message); ok {
					if err := bumpEpoch(t.Context(), node, epoch); err != nil && t.Context().Err() == nil {
						t.Error(err)
					}
				}
			}
			if writeFrame(client, answer) != nil {
				return
			}
		}
	})
}

// TestRun_ACaseThatChangesTheQuorumFails runs cases that may change no state against a node whose state they change, each time or once,
// and against one that changes it by itself: only the first is to blame.
func TestRun_ACaseThatChangesTheQuorumFails(t *testing.T) {
	preVote := func(m kmsg.Request) (kraft.Epoch, bool) {
		v, ok := m.(*kmsg.VoteRequest)
		if !ok || !v.Topics[0].Partitions[0].PreVote {
			return 0, false
		}
		return kraft.Epoch(v.Topics[0].Partitions[0].CandidateEpoch) + 1, true
	}
	for _, x := range []struct {
		name, id string
		moves    func() func(kmsg.Request) (kraft.Epoch, bool)
		want     Outcome
		says     []string
	}{
		{"a refused pre-vote moves the epoch", "vote/v2/prevote-does-not-change-state", func() func(kmsg.Request) (kraft.Epoch, bool) { return preVote }, Failed,
			[]string{"4 times in a row", "the last answer: answer 2 of 2"}},
		{"the epoch of a Fetch is taken over", "fetch/v17/newer-epoch-is-unknown", func() func(kmsg.Request) (kraft.Epoch, bool) {
			last := kraft.Epoch(0) // that the node was moved to
			return func(m kmsg.Request) (kraft.Epoch, bool) {
				f, ok := m.(*kmsg.FetchRequest)
				if !ok || kraft.Epoch(f.Topics[0].Partitions[0].CurrentLeaderEpoch) <= max(last, 1) {
					return 0, false
				}
				last = kraft.Epoch(f.Topics[0].Partitions[0].CurrentLeaderEpoch)
				return last, true
			}
		}, Failed, []string{"4 times in a row", "UNKNOWN_LEADER_EPOCH"}},
		{"an election comes once", "vote/v2/prevote-does-not-change-state", func() func(kmsg.Request) (kraft.Epoch, bool) {
			var came atomic.Bool
			return func(m kmsg.Request) (kraft.Epoch, bool) {
				epoch, ok := preVote(m)
				return epoch, ok && !came.Swap(true)
			}
		}, Passed, nil},
		{"the quorum never rests", "vote/v2/prevote-does-not-change-state", func() func(kmsg.Request) (kraft.Epoch, bool) {
			var epoch atomic.Int32
			return func(m kmsg.Request) (kraft.Epoch, bool) { // whoever describes the quorum has just learnt its epoch
				return kraft.Epoch(epoch.Add(10)), m.Key() == wire.KeyDescribeQuorum
			}
		}, Inconclusive, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel() // it waits most of its time
			node := ourVoters(t, 1, 1, 1, fastTimers)[0]
			if err := node.start(); err != nil {
				t.Fatal(err)
			}
			o := node.options()
			if _, err := discover(t.Context(), &o); err != nil { // it leads
				t.Fatal(err)
			}
			o.Address, o.Match = moved(t, o.Address, x.moves()), regexp.MustCompile("^"+x.id+"$")
			report, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			r := &report.Results[0]
			if r.Outcome != x.want {
				t.Errorf("%s, want %s: %s", r.Outcome, x.want, r.Why)
			}
			for _, want := range x.says {
				if !strings.Contains(r.Why, want) {
					t.Errorf("%q lacks %q", r.Why, want)
				}
			}
			if r.Outcome == Failed && strings.Count(r.Why, " -> ") != attempts {
				t.Errorf("%q does not say what changed each time", r.Why)
			}
		})
	}
}
