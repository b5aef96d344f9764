package controller

import (
	"io"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// idle is the first of three voters, alone, that does not stand for election during a test.
func idle(t *testing.T, release string) (n, other *testNode) {
	t.Helper()
	profile, err := compat.ByRelease(release)
	must(t, err)
	q := newQuorum(t, 3, 3, func(_ kraft.NodeID, c *Config) {
		c.Profile, c.Timeouts.FetchMs, c.Timeouts.ElectionMs = profile, 600_000, 600_000
	})
	q.start(1)
	return q.nodes[1], q.nodes[2]
}

func (n *testNode) sends(t *testing.T, action kraft.Action, version int16) (kmsg.Response, error) {
	t.Helper()
	key, _, ok := wire.SendKey(action)
	if !ok {
		t.Fatalf("%v is no request", action)
	}
	sender := wire.Sender{ClusterID: testCluster}
	body, err := sender.AppendSend(nil, action, version)
	must(t, err)
	answer, err := answerTo(n.dial(t), appendRequest(nil, key, version, 7, "test", body), key, version)
	if err != nil {
		return nil, err
	}
	resp := kmsg.ResponseForKey(key)
	resp.SetVersion(version)
	return resp, resp.ReadFrom(answer)
}

// A leader that nobody could ask, since it has no endpoint of the controllers' listener, would end Kafka's process with its next turn.
func TestRefuse_ALeaderWithoutTheControllersListenerIsNotFollowed(t *testing.T) {
	at := kraft.NewEndpoints(kraft.Endpoint{Name: "OTHER", Address: kraft.Address{Host: "127.0.0.1", Port: 1}})
	for _, release := range []string{"4.0.0", "4.4.0"} {
		for _, leader := range []kraft.NodeID{2, 99} {
			n, _ := idle(t, release)
			if resp, err := n.sends(t, &kraft.SendBeginQuorumEpoch{Epoch: 7, Leader: leader, Voter: n.key, Endpoints: at}, 1); err == nil {
				t.Errorf("%s, leader %v: answered %+v", release, leader, resp)
			}
			n.inLoop(t, func(l *loop) {
				if got := l.m.QuorumState(); got.Epoch == 7 || got.Leader == leader {
					t.Errorf("%s, leader %v: %+v", release, leader, got)
				}
			})
		}
	}
}

func TestSpare_NoAnswerToAnUpdateTellsItsReceiverThatItLeads(t *testing.T) {
	n, other := idle(t, "4.4.0")
	if _, err := n.sends(t, &kraft.SendBeginQuorumEpoch{Epoch: 7, Leader: 2, Voter: n.key, Endpoints: other.endpoints()}, 1); err != nil {
		t.Fatal(err)
	}
	for sender, leader := range map[*testNode]int32{other: -1, n: 2} {
		voter := kraft.Voter{Key: sender.key, Endpoints: sender.endpoints(), Versions: kraft.VersionRange{Max: 1}}
		resp, err := n.sends(t, &kraft.SendUpdateVoter{Voter: voter, Epoch: 6}, 0)
		must(t, err)
		if u := resp.(*kmsg.UpdateRaftVoterResponse); u.ErrorCode == 0 || u.CurrentLeader.LeaderID != leader {
			t.Errorf("node %v is told error %d and leader %+v, want leader %d", sender.key.ID, u.ErrorCode, u.CurrentLeader, leader)
		}
	}
}

// Up to 4.0 most errors of a FetchSnapshot answer are passed over, so the bytes beside them must be good.
func TestResponse_ASnapshotThatCannotBeReadIsNotInstalledWhateverItsError(t *testing.T) {
	id := kraft.SnapshotID{Offset: 9, Epoch: 1}
	chunk := []byte("no batches at all")
	for _, release := range []string{"4.0.0", "4.4.0"} {
		for _, code := range []kraft.ErrorCode{kraft.None, kraft.PositionOutOfRange} {
			n, _ := idle(t, release)
			n.inLoop(t, func(l *loop) {
				_, err := l.log.Execute(&kraft.BeginSnapshotFetch{ID: id}, &storage.Payload{})
				must(t, err)
				e := &kraft.ReceiveFetchSnapshotResponse{SnapshotID: id, Size: int64(len(chunk)), Bytes: int32(len(chunk))}
				e.PartitionAnswer.Error = code
				_, failed := l.response(&message{event: e, chunk: chunk}).(*kraft.RequestFailed)
				if want := code == kraft.None || !l.cfg.Profile.Rules.FetchSnapshotErrors; failed != want {
					t.Errorf("%s with %v: failed %t, want %t", release, code, failed, want)
				}
			})
		}
	}
}

// What keeps a node from following is told once, and not each time.
func TestPeer_TroubleIsToldOnce(t *testing.T) {
	told, lines := "", 0
	log := zerolog.New(io.Discard).Hook(zerolog.HookFunc(func(_ *zerolog.Event, level zerolog.Level, text string) {
		told, lines = level.String()+" "+text, lines+1
	}))
	p := &peer{Controller: &Controller{cfg: Config{Log: log}}}
	o := &outbound{key: wire.KeyFetch}
	good, refused := &message{event: &kraft.ReceiveFetchResponse{}}, &message{event: &kraft.ReceiveFetchResponse{Response: kraft.Response{Error: kraft.InconsistentClusterID}}}
	for _, step := range []struct {
		m     *message
		err   error
		lines int
		told  string
	}{
		{good, nil, 0, ""},
		{nil, io.EOF, 1, "warn the peer cannot be asked, and is asked again and again"},
		{nil, errBackingOff, 1, ""},
		{refused, nil, 2, "warn the peer cannot be asked, and is asked again and again"},
		{refused, nil, 2, ""},
		{nil, ErrNoVersion, 2, ""},
		{good, nil, 3, "info the peer answers again"},
		{good, nil, 3, ""},
	} {
		p.remark(o, step.m, step.err)
		if lines != step.lines || step.told != "" && told != step.told {
			t.Errorf("%v: %d lines, the last is %q; want %d and %q", step.err, lines, told, step.lines, step.told)
		}
	}
}
