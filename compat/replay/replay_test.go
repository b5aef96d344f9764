package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tape makes a recording by hand.
type tape struct {
	list []recordings.Observation
	at   int64
	seq  int32
}

// Next implements recordings.Source.
func (t *tape) Next(o *recordings.Observation) error {
	if len(t.list) == 0 {
		return io.EOF
	}
	*o, t.list = t.list[0], t.list[1:]
	return nil
}

func (t *tape) frame(c *recordings.Conn, dir wire.Direction, b []byte) {
	t.at += int64(time.Millisecond)
	t.list = append(t.list, recordings.Observation{
		Kind: recordings.KindFrame, Conn: c, Dir: dir, Number: uint64(len(t.list) + 1), At: wire.Stamp{Seen: t.at}, Frame: wire.Frame{Bytes: b, Size: len(b)},
	})
}

func (t *tape) request(c *recordings.Conn, client string, req kmsg.Request) (answer func(kmsg.Response)) {
	t.seq++
	id := t.seq
	t.frame(c, wire.Request, kmsg.NewRequestFormatter(kmsg.FormatterClientID(client)).AppendRequest(nil, req, id)[4:])
	return func(resp kmsg.Response) {
		resp.SetVersion(req.GetVersion())
		h := wire.RequestHeader{Key: req.Key(), Version: req.GetVersion(), CorrelationID: id}
		t.frame(c, wire.Response, responseFrame(&h, resp.AppendTo(nil)))
	}
}

func vote(epoch int32) *kmsg.VoteRequest {
	p := kmsg.NewVoteRequestTopicPartition()
	p.CandidateEpoch, p.CandidateID = epoch, 2
	return &kmsg.VoteRequest{Version: 2, Topics: []kmsg.VoteRequestTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.VoteRequestTopicPartition{p}}}}
}

func voted(epoch int32, granted bool) *kmsg.VoteResponse {
	p := kmsg.NewVoteResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch, p.VoteGranted = -1, epoch, granted
	return &kmsg.VoteResponse{Topics: []kmsg.VoteResponseTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.VoteResponseTopicPartition{p}}}}
}

func fetch(epoch int32) *kmsg.FetchRequest {
	f := kmsg.NewPtrFetchRequest()
	f.Version = 17
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch = epoch
	f.Topics = []kmsg.FetchRequestTopic{{TopicID: wire.MetadataTopicID, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return f
}

func fetched(code, leader, epoch int32) *kmsg.FetchResponse {
	p := kmsg.NewFetchResponseTopicPartition()
	p.ErrorCode, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch, p.RecordBatches = int16(code), leader, epoch, []byte{}
	r := kmsg.NewPtrFetchResponse()
	r.Topics = []kmsg.FetchResponseTopic{{TopicID: wire.MetadataTopicID, Partitions: []kmsg.FetchResponseTopicPartition{p}}}
	return r
}

func decodeFetched(frame []byte) *kmsg.FetchResponse {
	r := kmsg.NewPtrFetchResponse()
	r.SetVersion(17)
	_, body, err := wire.ParseResponseHeader(frame, wire.KeyFetch, 17)
	if err == nil {
		err = r.ReadFrom(body)
	}
	if err != nil {
		panic(err)
	}
	return r
}

// story is a recording in which node 1 is asked for a vote, asks node 2 for records until it gets an answer of its leader,
// and refuses another vote.
func story() *tape {
	t := &tape{}
	in := &recordings.Conn{ID: 1, Node: 1, Endpoint: "127.0.0.1:1"}
	out := &recordings.Conn{ID: 2, Node: 2, Endpoint: "127.0.0.1:2"}
	t.request(in, "understudy", vote(5))(voted(5, true))
	t.request(out, "raft-client-1", fetch(5))(fetched(int32(kraft.NotLeaderOrFollower), -1, 5)) // chance
	t.request(out, "raft-client-1", fetch(5))(fetched(0, 2, 5))
	for range 6 { // the first two show that the node has taken the answer; the rest is folded
		t.request(out, "raft-client-1", fetch(5))(fetched(0, 2, 5))
	}
	t.request(in, "understudy", vote(4))(voted(5, false))
	return t
}

// node is a target: it answers votes, and fetches from node 2 all the time.
type node struct {
	answer  func(epoch int32) *kmsg.VoteResponse
	fetches func() *kmsg.FetchRequest // nil: it asks nothing
	takes   func(*kmsg.FetchResponse) // what it is answered; may be nil
	stray   []byte                    // what it sends before each answer; nil: nothing
	records func() kmsg.Response      // what it answers to a Fetch; nil: it closes the connection
	garbage []byte                    // what it sends upon what is no request; nil: nothing, it closes the connection
}

// serve answers one connection.
func (n *node) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for in := bufio.NewReader(conn); ; {
		f, err := readFrame(in)
		if err != nil {
			return
		}
		h, body, err := wire.ParseRequestHeader(f)
		if err != nil {
			if n.garbage != nil {
				_, _ = conn.Write(sized(n.garbage))
			}
			return
		}
		var d wire.Decoder
		req, err := d.Request(h.Key, h.Version, body)
		if err != nil {
			return
		}
		var resp kmsg.Response
		switch m := req.(type) {
		case *kmsg.VoteRequest:
			a := n.answer(m.Topics[0].Partitions[0].CandidateEpoch)
			if a == nil {
				return
			}
			resp = a
		case *kmsg.FetchRequest:
			if n.records == nil {
				return
			}
			resp = n.records()
		default:
			return
		}
		resp.SetVersion(h.Version)
		if n.stray != nil {
			_, _ = conn.Write(n.stray)
		}
		if _, err := conn.Write(sized(responseFrame(&h, resp.AppendTo(nil)))); err != nil {
			return
		}
	}
}

// follow fetches from node 2 until the replay ends.
func (n *node) follow(ctx context.Context, peers *Connections) {
	for n.fetches != nil && ctx.Err() == nil {
		near, far := net.Pipe()
		if !peers.Add(ctx, 2, far) {
			_ = near.Close()
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = near.Close() })
		in := bufio.NewReader(near)
		for id := int32(100); ; id++ {
			frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("raft-client-1")).AppendRequest(nil, n.fetches(), id)
			if _, err := near.Write(frame); err != nil {
				break
			}
			f, err := readFrame(in)
			if err != nil {
				break
			}
			if n.takes != nil {
				n.takes(decodeFetched(f))
			}
		}
		stop()
		_ = near.Close()
	}
}

// playTo plays a tape to a node in bubble time.
func playTo(t *testing.T, tp *tape, n *node) *Report {
	t.Helper()
	script, err := Load(tp, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	peers := NewConnections()
	ended := make(chan struct{})
	go func() {
		n.follow(ctx, peers)
		close(ended)
	}()
	report, err := Run(ctx, script, Options{Recorded: "4.4.0", Live: "4.4.0", Peers: peers, Dial: func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		go n.serve(far)
		return near, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
	if err := peers.Close(); err != nil {
		t.Fatal(err)
	}
	return report
}

func honest(epoch int32) *kmsg.VoteResponse { return voted(5, epoch == 5) }

func TestRun_NodeThatDoesTheSameHasNoDifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := playTo(t, story(), &node{answer: honest, fetches: func() *kmsg.FetchRequest { return fetch(5) }})
		if r.Outcome() != Same || r.Asked != 2 || r.Equal != 2 || r.Heard < 3 || r.Folded == 0 {
			t.Errorf("%s: %+v", r.Outcome(), r)
		}
	})
}

// TestRun_FindsWhatABrokenTwinDoes has a node that differs in one thing for each kind of step.
func TestRun_FindsWhatABrokenTwinDoes(t *testing.T) {
	steady := func() *kmsg.FetchRequest { return fetch(5) }
	for _, tc := range []struct {
		name  string
		node  *node
		field string
		live  string
		lost  bool
	}{
		{"grants what it refused", &node{answer: func(int32) *kmsg.VoteResponse { return voted(5, true) }, fetches: steady}, "topics[0].partitions[0].voteGranted", "true", false},
		{"closes the connection", &node{answer: func(epoch int32) *kmsg.VoteResponse {
			if epoch == 4 {
				return nil
			}
			return honest(epoch)
		}, fetches: steady}, "", "the node closed the connection", false},
		{"asks in another epoch", &node{answer: honest, fetches: func() *kmsg.FetchRequest { return fetch(6) }}, "topics[0].partitions[0].currentLeaderEpoch", "6", true},
		{"asks nothing", &node{answer: honest}, "", "not asked within 15s", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := playTo(t, story(), tc.node)
				if r.Outcome() != Differs || len(r.Differences) == 0 {
					t.Fatalf("%s: %+v", r.Outcome(), r)
				}
				if d := r.Differences[0]; d.Field != tc.field || d.Live != tc.live || d.Rule != "" {
					t.Errorf("%s, want field %q, live %q", &d, tc.field, tc.live)
				}
				if (r.Lost != "") != tc.lost {
					t.Errorf("lost %q", r.Lost)
				}
			})
		})
	}
}

// TestRun_WaitsForANodeThatDoesNotListenYet: a node on a busy machine asks its peers long before it listens. One that has listened, and
// does not any more, is gone.
func TestRun_WaitsForANodeThatDoesNotListenYet(t *testing.T) {
	for _, tc := range []struct {
		name    string
		refused func(dial int) bool
		want    Outcome
		took    time.Duration
	}{
		{"it listens at last", func(dial int) bool { return dial < 20 }, Same, 2 * time.Second},
		{"it never listens", func(int) bool { return true }, Differs, 15 * time.Second},
		{"it ends", func(dial int) bool { return dial > 0 }, Differs, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFaulted()
				f.request(f.in, "understudy", vote(5))(voted(5, true))
				f.closed(f.in)
				f.request(&recordings.Conn{ID: 4, Node: 1}, "understudy", vote(4))(voted(5, false))
				s, err := Load(&f.tape, 1)
				if err != nil {
					t.Fatal(err)
				}
				n, dials := &node{answer: honest}, 0
				r, err := Run(t.Context(), s, Options{Recorded: "4.4.0", Live: "4.4.0", Dial: func(context.Context) (net.Conn, error) {
					if dials++; tc.refused(dials - 1) {
						return nil, errors.New("connection refused")
					}
					near, far := net.Pipe()
					go n.serve(far)
					return near, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				if r.Outcome() != tc.want || r.Took.Round(time.Second) != tc.took || (r.Lost != "") != (tc.want == Differs) {
					t.Errorf("%s after %s: %+v", r.Outcome(), r.Took, r)
				}
			})
		})
	}
}

// TestRun_WhatIsNoRequestIsSentAsItIs: what the conformance suite sends in bad faith has no id, by which an answer to it could be told.
func TestRun_WhatIsNoRequestIsSentAsItIs(t *testing.T) {
	for _, frame := range [][]byte{nil, {}, {0}, {0, 1, 2, 3, 4, 5, 6}, {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 7, 0x7f}} {
		for _, tc := range []struct {
			name    string
			garbage []byte
			equal   int
		}{
			{"the node closes the connection", nil, 2},
			{"the node sends an empty frame", []byte{}, 1},
			{"the node sends an answer", []byte{0, 0, 0, 7, 0, 0}, 1},
		} {
			t.Run(fmt.Sprintf("%x/%s", frame, tc.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFaulted()
					f.frame(f.in, wire.Request, frame)
					f.closed(f.in)
					f.request(&recordings.Conn{ID: 4, Node: 1}, "understudy", vote(5))(voted(5, true))
					r := playTo(t, &f.tape, &node{answer: honest, garbage: tc.garbage})
					if r.Outcome() != Same || r.Asked != 2 || r.Equal != tc.equal || len(r.NotCompared) != 2-tc.equal {
						t.Errorf("%s: %+v", r.Outcome(), r)
					}
				})
			})
		}
	}
}

// TestRun_AnEmptyFrameIsNotTheEndOfTheConnection: the answer that follows it counts.
func TestRun_AnEmptyFrameIsNotTheEndOfTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulted()
		f.request(f.in, "understudy", vote(5))(voted(5, true))
		if r := playTo(t, &f.tape, &node{answer: honest, stray: sized(nil)}); r.Outcome() != Same || r.Equal != 1 {
			t.Errorf("%s: %+v", r.Outcome(), r)
		}
	})
}

// TestReadFrame_TakesNoMemoryForWhatDoesNotCome: the size alone is no reason to believe it.
func TestReadFrame_TakesNoMemoryForWhatDoesNotCome(t *testing.T) {
	claim := binary.BigEndian.AppendUint32(nil, wire.MaxFrameSize)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readFrame(bufio.NewReader(bytes.NewReader(claim)))
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, io.ErrUnexpectedEOF) || taken > 1<<20 {
		t.Errorf("%d bytes for a frame of which nothing came, error %v", taken, err)
	}
}

func TestLoad_RefusesWhatCannotBePlayed(t *testing.T) {
	in := &recordings.Conn{ID: 1, Node: 1}
	other := &recordings.Conn{ID: 3, Node: 3}
	out := &recordings.Conn{ID: 2, Node: 2}
	for _, tc := range []struct {
		name string
		tape func(*tape)
		want string
	}{
		{"unknown node", func(t *tape) { t.request(&recordings.Conn{ID: 1, Node: kraft.NoNode}, "x", vote(1)) }, ErrCapture.Error()},
		{"gap", func(t *tape) {
			t.list = append(t.list, recordings.Observation{Kind: recordings.KindGap, Conn: in, Gap: &recordings.Gap{Reason: "overflow"}})
		}, "gap (overflow)"},
		{"several nodes", func(t *tape) { t.request(in, "x", vote(1)); t.request(other, "x", vote(1)) }, "2 nodes (1, 3): say which"},
		{"withheld answer", func(t *tape) {
			t.request(in, "x", vote(1))
			t.request(out, "raft-client-1", fetch(5))(fetched(0, 2, 5))
			t.list[len(t.list)-1].Withheld = []recordings.Withheld{{Start: 1, End: 2}}
		}, ErrWithheld.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tp := &tape{}
			tc.tape(tp)
			if _, err := Load(tp, kraft.NoNode); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := Load(&tape{}, 7); err == nil {
		t.Error("an empty recording is a script")
	}
}

// TestLoad_NamesTheNodesThatCanBeReplayed: those that others ask and those that ask others, but not one that talks to itself alone.
func TestLoad_NamesTheNodesThatCanBeReplayed(t *testing.T) {
	record := func() *tape {
		tp := &tape{}
		tp.request(&recordings.Conn{ID: 1, Node: 2}, "raft-client-10", fetch(5))(fetched(0, 2, 5))
		tp.request(&recordings.Conn{ID: 2, Node: 4}, "raft-client-4", fetch(5))
		tp.request(&recordings.Conn{ID: 3, Node: 5}, "x", vote(5))
		tp.dropped()
		return tp
	}
	for _, node := range []kraft.NodeID{kraft.NoNode, 4, 5} {
		_, err := Load(record(), node)
		var choice *NodeError
		if !errors.As(err, &choice) || choice.Node != node || !slices.Equal(choice.There, []kraft.NodeID{2, 10}) {
			t.Errorf("node %s: %v", node, err)
		}
	}
	for _, node := range []kraft.NodeID{2, 10} {
		if s, err := Load(record(), node); err != nil || s.Node != node || s.Asks()+s.Hears() != 1 {
			t.Errorf("node %s: %v", node, err)
		}
	}
	alone := &tape{}
	alone.request(&recordings.Conn{ID: 1, Node: 2}, "raft-client-x", fetch(5))
	if s, err := Load(alone, kraft.NoNode); err != nil || s.Node != 2 {
		t.Errorf("the only one there: %v", err)
	}
}

// TestExplain_ARuleNeedsTwoBuildsThatDifferInIt: each domain is of a rule that exists, explains where builds differ in it, and
// nothing where they do not.
func TestExplain_ARuleNeedsTwoBuildsThatDifferInIt(t *testing.T) {
	profiles := compat.Profiles()
	for name, places := range domains {
		known := false
		for _, rule := range compat.Rules() {
			if rule.Name != name {
				continue
			}
			known = true
			for i := range profiles {
				for j := range profiles {
					a, b := &profiles[i], &profiles[j]
					differ := rule.Value(a.Rules) != rule.Value(b.Rules)
					for _, d := range places {
						if got := explain(a, b, d.key, d.dir, d.path); differ && got == "" || i == j && got != "" {
							t.Errorf("%s of %s and %s at %s %s: explained by %q", name, a.Build, b.Build, wire.Name(d.key), d.path, got)
						}
					}
				}
			}
		}
		if !known {
			t.Errorf("%s is no rule of compat", name)
		}
	}
	if got := explain(&profiles[0], &profiles[5], wire.KeyVote, wire.Response, "topics.partitions.voteGranted"); got != "" {
		t.Errorf("a vote is explained by %s", got)
	}
}

func TestCompare_LeavesOutWhatIsMaskedAndNothingElse(t *testing.T) {
	a, b := fetched(0, 2, 5), fetched(0, 2, 5)
	b.ThrottleMillis = 7
	if got := compare(wire.KeyFetch, 17, wire.Response, bodyOf(a), bodyOf(b)); len(got) != 0 {
		t.Errorf("a masked field differs: %v", got)
	}
	b.Topics[0].Partitions[0].HighWatermark = 9
	got := compare(wire.KeyFetch, 17, wire.Response, bodyOf(a), bodyOf(b))
	if len(got) != 1 || got[0].path != "responses[0].partitions[0].highWatermark" {
		t.Errorf("differences %v", got)
	}
}

func bodyOf(r kmsg.Response) []byte {
	r.SetVersion(17)
	return r.AppendTo(nil)
}

func TestInVersion_LeavesOutWhatTheVersionLacks(t *testing.T) {
	f := fetch(5)
	f.Version = 18
	f.Topics[0].Partitions[0].HighWatermark = 3
	body, err := inVersion(wire.KeyFetch, 18, 17, wire.Request, f.AppendTo(nil))
	if err != nil {
		t.Fatal(err)
	}
	if signature(wire.KeyFetch, 17, body) != signature(wire.KeyFetch, 17, fetch(5).AppendTo(nil)) {
		t.Error("a Fetch of version 18 in version 17 is not that of version 17")
	}
}
