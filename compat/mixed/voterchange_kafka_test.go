package mixed

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
)

// calm is for tests in which a leader shall stay one while the tools, a JVM each, take the processors.
var calm = kafka.Timeouts{ElectionMs: 500, FetchMs: 2500, RequestMs: 2500, BackoffMaxMs: 300, IdleIntervalMs: 100}

// stays is a quorum whose nodes of ours keep the leadership. Nothing runs yet.
func stays(t *testing.T, limit time.Duration, cfg kafka.Config) *quorum {
	t.Helper()
	cfg.Source = leading(controller.Stay, source(t, ours))
	return &quorum{Quorum: kafkatest.New(t, cfg), t: t, ctx: kafkatest.Deadline(t, limit), ours: []kraft.NodeID{ours}, stay: true}
}

// startsBeside starts ours when the controllers of Kafka have a leader: as the first leader it would stay, and they wait for a controller's records.
func (q *quorum) startsBeside() error {
	for _, ids := range [][]kraft.NodeID{{1, 2}, {ours}} {
		if err := errors.Join(q.Start(q.ctx, ids...), q.WaitReady(q.ctx)); err != nil {
			return err
		}
	}
	return nil
}

// keys are nodes under their own directory ids.
func (q *quorum) keys(ids ...kraft.NodeID) (all []kraft.ReplicaKey) {
	for _, id := range ids {
		all = append(all, kraft.ReplicaKey{ID: id, DirectoryID: q.Node(id).Directory})
	}
	return all
}

// become waits until exactly these are the voters.
func (q *quorum) become(want ...kraft.NodeID) (d quorumInfo) {
	q.t.Helper()
	until(q.ctx, q.t, func() (any, bool) {
		d = q.ask()
		return d, slices.Equal(d.voters, q.keys(want...))
	})
	return d
}

// change has a tool of Kafka make these the voters, and tells whether one leader was there all the time. A tool that meets an election gives up,
// and does not know what has become of the change: it is asked again until it is done. Under one leader it has no reason to fail.
func (q *quorum) change(tool func(context.Context, kraft.NodeID) error, id kraft.NodeID, want ...kraft.NodeID) (d quorumInfo, calm bool) {
	q.t.Helper()
	until(q.ctx, q.t, func() (any, bool) {
		before := q.registered()
		limit, cancel := context.WithTimeout(q.ctx, toolTime)
		defer cancel()
		err := tool(limit, id)
		d = q.ask()
		calm = before.Epoch == d.epoch
		switch {
		case err != nil && calm:
			q.t.Fatalf("Kafka's tool fails, and %v has led all the time: %v", before, err)
		case err != nil:
			q.t.Logf("the tool met an election, of epoch %d after %d: %.200v", d.epoch, before.Epoch, err)
		}
		return d, slices.Equal(d.voters, q.keys(want...))
	})
	return d, calm
}

// removed has Kafka's tool take a voter out. Up to 4.1 a leader of Kafka asks each voter once a second whether it follows (BeginQuorumEpoch), and
// ends if one answers that has been removed meanwhile ("Unexpected acknowledgement from non-voter", docs/NON_OBVIOUS.md). There the voter is
// stopped before; a leader of ours outlives the answer.
func (q *quorum) removed(id kraft.NodeID, want ...kraft.NodeID) (d quorumInfo, calm bool) {
	q.t.Helper()
	leader := q.registered()
	stopped := !q.isOurs(leader.Node) && !q.Node(leader.Node).Release.AtLeast(4, 2) && leader.Node != id
	if stopped {
		must(q.t, q.Stop(q.ctx, id))
	}
	d, calm = q.change(q.RemoveController, id, want...)
	if stopped {
		must(q.t, q.Start(q.ctx, id))
	}
	return d, calm
}

// toolAgrees compares with what Kafka's own tool says.
func (q *quorum) toolAgrees(want ...kraft.NodeID) {
	q.t.Helper()
	d, _ := q.described()
	var said []kraft.ReplicaKey
	for _, v := range d.Voters {
		said = append(said, v.Key)
	}
	if !slices.Equal(said, q.keys(want...)) {
		q.t.Errorf("Kafka's tool says that the voters are %v, want %v", d.Voters, want)
	}
}

// edit changes a line of a node's property file.
func (q *quorum) edit(id kraft.NodeID, name, value string) {
	t := q.t
	t.Helper()
	file := q.Node(id).ConfigFile
	text, err := os.ReadFile(file)
	must(t, err)
	var kept []string
	for l := range strings.Lines(string(text)) {
		if !strings.HasPrefix(l, name+"=") {
			kept = append(kept, l)
		}
	}
	must(t, os.WriteFile(file, []byte(strings.Join(kept, "")+name+"="+value+"\n"), 0o644))
}

// TestKafka_VotersAreChangedByKafkasTools: Kafka's own tool makes our node a voter and takes it out again; while ours leads it does the same
// with a controller of Kafka. A new address is told by UpdateRaftVoter, and with auto-join a node makes itself a voter, whoever leads.
func TestKafka_VotersAreChangedByKafkasTools(t *testing.T) {
	t.Parallel()
	for _, release := range cases(t, nil, nil, []string{"4.4.0", "4.0.0", "4.1.2", "4.2.1"}) {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			r := kafka.MustRelease(release)
			q := stays(t, 12*time.Minute, kafka.Config{Release: r, Voters: kafka.Standalone, Timeouts: calm})
			must(t, q.Start(q.ctx, 1, ours))
			q.change(q.AddController, ours, 1, ours)
			must(t, q.Start(q.ctx, 2))
			q.change(q.AddController, 2, 1, 2, ours)
			q.ready()

			q.whileOursLeads("a voter is removed and added", func() bool {
				_, one := q.removed(2, 1, ours)
				d, two := q.change(q.AddController, 2, 1, 2, ours)
				return one && two && d.leader == ours
			})
			if r.AtLeast(4, 1) { // 4.0 may need minutes for it (docs/NON_OBVIOUS.md)
				q.whileOursLeads("a controller of Kafka moves", func() bool { return q.moves(2).leader == ours })
			}
			if r.AtLeast(4, 2) {
				q.whileOursLeads("a controller of Kafka joins by itself", func() bool { return q.joinsItself(2).leader == ours })
			}

			q.moves(ours)
			q.removed(ours, 1, 2)
			atEnd := []kraft.NodeID{1, 2}
			if r.AtLeast(4, 2) {
				if d := q.joinsItself(ours); d.leader == ours {
					t.Errorf("ours leads, and was no voter just now: %+v", d)
				}
				atEnd = append(atEnd, ours)
			}
			q.toolAgrees(atEnd...)
			must(t, q.Err())
		})
	}
}

// whileOursLeads repeats what is done until ours has been the leader all the time: a machine that is busy may elect another one meanwhile. Ours
// begins anew each time and resigns in the end, so that a controller of Kafka which has started meanwhile finds an active one in time.
func (q *quorum) whileOursLeads(what string, do func() bool) {
	q.t.Helper()
	resign := func() {
		if leader, err := q.WaitLeader(q.ctx); err == nil && q.isOurs(leader.Node) {
			must(q.t, q.Restart(q.ctx, leader.Node))
			q.leadsAbove(false, leader.Epoch)
		}
		q.registered()
	}
	until(q.ctx, q.t, func() (any, bool) {
		resign()
		lead := q.oursMustLead()
		began := time.Now()
		ok := do()
		now, err := q.WaitLeader(q.ctx)
		must(q.t, err)
		ok = ok && lead.Node == now.Node && lead.Epoch == now.Epoch
		if ok {
			q.t.Logf("%s while ours leads epoch %d, in %v", what, lead.Epoch, time.Since(began).Round(time.Millisecond))
		}
		return []kafka.Elected{lead, now}, ok
	})
	resign()
}

// moves restarts a node at another port: its entry among the voters follows.
func (q *quorum) moves(id kraft.NodeID) (d quorumInfo) {
	t := q.t
	t.Helper()
	ports, err := kafka.TakePorts(1)
	must(t, err)
	address := "CONTROLLER://127.0.0.1:" + itoa(ports[0])
	must(t, q.Stop(q.ctx, id))
	q.edit(id, "listeners", address)
	q.edit(id, "advertised.listeners", address)
	q.MoveTo(id, "127.0.0.1:"+itoa(ports[0]))
	must(t, q.Start(q.ctx, id))
	until(q.ctx, t, func() (any, bool) {
		d = q.ask()
		return d, int(d.ports[id]) == ports[0]
	})
	return d
}

const autoJoin = "controller.quorum.auto.join.enable"

// joinsItself takes a node out and restarts it with auto-join.
func (q *quorum) joinsItself(id kraft.NodeID) (d quorumInfo) {
	t := q.t
	t.Helper()
	others := slices.DeleteFunc(q.Controllers(), func(other kraft.NodeID) bool { return other == id })
	if slices.Contains(q.ask().voters, q.keys(id)[0]) {
		q.edit(id, autoJoin, "false") // it would join before it is seen to have gone
		must(t, q.Restart(q.ctx, id))
		q.removed(id, others...)
	}
	must(t, q.Stop(q.ctx, id))
	q.edit(id, autoJoin, "true")
	must(t, q.Start(q.ctx, id))
	return q.become(q.Controllers()...)
}

// TestMatrix_KRaftVersionIsRaisedWithOurs: Kafka's tool turns a static quorum into a dynamic one; ours has told the leader who it is. A leader of
// ours does not do it, since it is no active controller: the tool finds none.
func TestMatrix_KRaftVersionIsRaisedWithOurs(t *testing.T) {
	t.Parallel()
	for _, release := range cases(t, nil, nil, []string{"4.4.0", "4.1.2"}) {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			q := stays(t, 10*time.Minute, kafka.Config{Release: kafka.MustRelease(release), Voters: kafka.Static, Timeouts: calm})
			must(t, q.startsBeside())
			q.whileOursLeads("kraft.version is not raised", func() bool {
				r := ask[*kmsg.UpdateFeaturesResponse](q.ctx, t, q.Node(ours), kmsg.NewPtrUpdateFeaturesRequest(), 1)
				return r.ErrorCode == int16(kraft.NotController) // on which the tool asks again until it gives up
			})
			until(q.ctx, t, func() (any, bool) {
				leader := q.registered()
				if q.isOurs(leader.Node) {
					must(t, q.Restart(q.ctx, ours)) // it resigns
				}
				limit, cancel := context.WithTimeout(q.ctx, toolTime)
				defer cancel()
				err := q.UpgradeKRaftVersion(limit)
				after, gone := q.WaitLeader(q.ctx)
				must(t, gone)
				if err != nil && after == leader && !strings.Contains(err.Error(), "support") { // a voter has not said yet what it supports
					t.Fatalf("Kafka's tool fails, and %v has led all the time: %v", leader, err)
				}
				return err, err == nil
			})
			q.become(1, 2, ours)
			q.toolAgrees(1, 2, ours)
			must(t, q.Err())
		})
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
