package replay

import (
	"bufio"
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// standing is a request of node 1 for a vote or a pre-vote.
func standing(epoch int32, pre bool) *kmsg.VoteRequest {
	v := vote(epoch)
	v.Topics[0].Partitions[0].CandidateID, v.Topics[0].Partitions[0].PreVote = 1, pre
	return v
}

// lostElection is a recording in which node 1 gets two pre-votes and no vote, refuses candidate 2 its vote, and asks for pre-votes again.
func lostElection() *tape {
	t := &tape{}
	in := &recordings.Conn{ID: 1, Node: 1, Endpoint: "127.0.0.1:1"}
	out := []*recordings.Conn{{ID: 2, Node: 2, Endpoint: "127.0.0.1:2"}, {ID: 3, Node: 3, Endpoint: "127.0.0.1:3"}}
	round := func(req *kmsg.VoteRequest, epoch int32, granted bool) {
		for _, c := range out {
			t.request(c, "raft-client-1", req)(voted(epoch, granted))
		}
	}
	round(standing(4, true), 4, true)
	round(standing(5, false), 5, false)
	t.request(in, "understudy", vote(5))(voted(5, false))
	round(standing(5, true), 5, false)
	return t
}

// stands asks both peers for these, one after the other, and the last one again until the replay ends.
func stands(ctx context.Context, peers *Connections, requests ...*kmsg.VoteRequest) {
	var both sync.WaitGroup
	for _, peer := range []kraft.NodeID{2, 3} {
		both.Go(func() {
			for at := 0; ctx.Err() == nil; {
				near, far := net.Pipe()
				if !peers.Add(ctx, peer, far) {
					_ = near.Close()
					return
				}
				stop := context.AfterFunc(ctx, func() { _ = near.Close() })
				for in := bufio.NewReader(near); ; at = min(at+1, len(requests)-1) {
					frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("raft-client-1")).AppendRequest(nil, requests[at], 7)
					if _, err := near.Write(frame); err != nil {
						break
					}
					if _, err := readFrame(in); err != nil {
						break
					}
				}
				stop()
				_ = near.Close()
			}
		})
	}
	both.Wait()
}

// TestRun_ALostElectionChangesWhenAndNotWhat: a candidate of 4.0 that has lost backs off and asks for pre-votes again, in the same epoch;
// since 4.1 it does so when its election timer has run out (KAFKA-18345). So the one asks what the other asks, at another time, and
// whoever asks anything else in its place differs, of whichever release it is.
func TestRun_ALostElectionChangesWhenAndNotWhat(t *testing.T) {
	longer := standing(5, true)
	longer.Topics[0].Partitions[0].LastOffset = 9
	for _, tc := range []struct {
		name  string
		again *kmsg.VoteRequest
		want  Outcome
		field string
	}{
		{"it asks for pre-votes at once", standing(5, true), Same, ""},
		{"it stands again without pre-votes", standing(6, false), Differs, "topics.partitions.preVote"},
		{"it asks for pre-votes of another epoch", standing(6, true), Differs, "topics.partitions.replicaEpoch"},
		{"it has another log", longer, Differs, "topics.partitions.lastOffset"},
		{"it asks for votes of the lost epoch again", standing(5, false), Differs, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := Load(lostElection(), 1)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				peers := NewConnections()
				var all sync.WaitGroup
				all.Go(func() { stands(ctx, peers, standing(4, true), standing(5, false), tc.again) })
				n := &node{answer: func(int32) *kmsg.VoteResponse { return voted(5, false) }}
				r, err := Run(ctx, s, Options{Recorded: "4.4.0", Live: "4.0.0", Peers: peers, Dial: func(context.Context) (net.Conn, error) {
					near, far := net.Pipe()
					all.Go(func() { n.serve(far) })
					return near, nil
				}})
				cancel()
				all.Wait()
				if err != nil || peers.Close() != nil {
					t.Fatal(err)
				}
				seen := tc.want == Same
				for i := range r.Differences {
					d := &r.Differences[i]
					seen = seen || withoutIndexes(d.Field) == tc.field
					if d.Rule != "" {
						t.Errorf("%s is explained by %s", d, d.Rule)
					}
				}
				if r.Outcome() != tc.want || !seen {
					t.Errorf("%s, want %s at %q: %+v", r.Outcome(), tc.want, tc.field, r)
				}
			})
		})
	}
}

// TestExplain_NoRuleExplainsAVote: no release asks for votes, or gives them, otherwise than another.
func TestExplain_NoRuleExplainsAVote(t *testing.T) {
	profiles := compat.Profiles()
	for i := range profiles {
		for j := range profiles {
			for _, dir := range []wire.Direction{wire.Request, wire.Response} {
				for _, path := range []string{"", "topics.partitions.preVote", "topics.partitions.replicaEpoch", "topics.partitions.voteGranted"} {
					if got := explain(&profiles[i], &profiles[j], wire.KeyVote, dir, path); got != "" {
						t.Errorf("%s of a Vote is explained by %s between %s and %s", path, got, profiles[i].Build, profiles[j].Build)
					}
				}
			}
		}
	}
}
