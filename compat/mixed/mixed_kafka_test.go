package mixed

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
)

// loaded is a quorum with a proxy in front of everyone and a load on it, and an observer of ours.
type loaded struct {
	*quorum
	witness *witness
	who     *cast // nil: the same nodes are ours all the time
	tiers   []string
	load    *load
}

// pauses takes the office from a controller of Kafka by a pause.
func (q *loaded) pauses(undo func(kraft.NodeID) error) {
	q.t.Helper()
	q.loses(q.Pause, undo)
}

// start runs three voters, of which these are ours, and an observer of ours.
func start(t *testing.T, cfg kafka.Config, ours ...kraft.NodeID) *loaded {
	t.Helper()
	q := &loaded{quorum: &quorum{t: t, ctx: kafkatest.Deadline(t, 10*time.Minute), ours: ours}, tiers: []string{"1"}}
	if long() { // on a busy machine the second tier takes minutes
		q.tiers = append(q.tiers, "2")
	}
	cfg.Brokers, cfg.Proxied, cfg.Timeouts = 1, true, quick
	if cfg.Source == nil {
		q.who = &cast{ours: map[kraft.NodeID][]string{observer: nil}}
		for _, id := range ours {
			q.who.give(id, true)
		}
		cfg.Source = q.who.over(source(t))
	}
	q.Quorum = kafkatest.New(t, cfg)
	q.witness = startWitness(t, q.Quorum)
	must(t, q.Start(q.ctx, append(q.Controllers(), observer)...))
	q.ready()
	q.load = startLoad(q.ctx, q.Quorum)
	t.Cleanup(func() { q.load.end() })
	return q
}

func of(b kafkatest.Build) kafka.Config {
	return kafka.Config{Release: kafka.MustRelease(b.Release), Voters: b.Voters}
}

// TestKafka_OursLeadsAndHandsOver: two controllers of Kafka, one of ours and an observer of ours, under load. A leader is paused, one is restarted in
// order, one is killed; then ours is the only one that can lead, so it does, brings the other one up to date and hands over. Then two are ours, and
// the only one of Kafka is gone for a while. Nothing that was acknowledged is lost, all logs are equal, Kafka's tools see what is there, and the
// checker has nothing to say against anyone.
func TestKafka_OursLeadsAndHandsOver(t *testing.T) {
	t.Parallel()
	everyKind := slices.Concat(everyBuild(), otherWay())
	for _, b := range cases(t, []kafkatest.Build{{Release: "4.4.0", Voters: kafka.Dynamic}}, everyKind, everyKind) {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			q := start(t, of(b), ours)
			q.pauses(q.Resume)
			q.restarts()
			for !q.handedOver() { // it may lose an election before
				q.oursMustLead() // by a SIGKILL of the leader
				q.leads(false)
			}
			q.twoOfThreeAreOurs()
			q.finish()
		})
	}
}

// restarts takes the office from a controller of Kafka by its end in order.
func (q *loaded) restarts() {
	q.t.Helper()
	q.loses(func(id kraft.NodeID) error { return q.Stop(q.ctx, id) }, func(id kraft.NodeID) error { return q.Start(q.ctx, id) })
}

// kills takes it by SIGKILL.
func (q *loaded) kills() {
	q.t.Helper()
	q.loses(q.Kill, func(id kraft.NodeID) error { return q.Start(q.ctx, id) })
}

// handedOver: ours has given the leadership to a controller of Kafka.
func (q *loaded) handedOver() bool {
	q.t.Helper()
	return bytes.Contains(nodeLog(q.t, q.Node(ours)), []byte("hands the leadership over"))
}

// twoOfThreeAreOurs: ours goes on as a second voter, on the directory of a controller of Kafka. While the only one of Kafka is gone, one of ours leads
// and keeps what there is; when it is back it leads again. Ours come and go, too.
func (q *loaded) twoOfThreeAreOurs() {
	t := q.t
	t.Helper()
	const second kraft.NodeID = 2
	must(t, q.Stop(q.ctx, second))
	q.who.give(second, true)
	q.ours = append(q.ours, second)
	must(t, q.Start(q.ctx, second))
	q.ready()
	q.leads(false)
	q.kills()
	q.leads(false)
	for _, id := range q.ours {
		must(t, q.Kill(id))
		must(t, q.WriteMetadata(q.ctx, "without "+id.String(), 20))
		must(t, q.Restart(q.ctx, id))
		q.ready()
	}
}

// TestKafka_OursNeverStands: a node that never campaigns is asked for its vote, gives it, and asks nobody for one, whoever goes. There may be no
// leader until the one that went is back: ours may have records that the other one lacks.
func TestKafka_OursNeverStands(t *testing.T) {
	t.Parallel()
	for _, b := range cases(t, nil, nil, everyBuild()[:2]) {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			cfg := of(b)
			cfg.Source = leading(controller.NeverCampaign, source(t, ours, observer))
			q := start(t, cfg, ours)
			for range 3 {
				leader := q.leads(false)
				must(t, q.Kill(leader.Node))
				limit, cancel := context.WithTimeout(q.ctx, 5*time.Second)
				next, err := q.WaitEpochAbove(limit, leader.Epoch)
				cancel()
				t.Logf("after %v: %v %v", leader, next, err == nil)
				must(t, q.Restart(q.ctx, leader.Node))
				q.leads(false)
				q.ready()
			}
			q.finish()
			truth := q.Truth()
			for _, e := range truth.Leaders() {
				if e.Node == ours {
					t.Errorf("ours has led: %v", e)
				}
			}
			for _, v := range truth.Votes {
				if v.Candidate.ID == ours {
					t.Errorf("ours has asked for a vote: %v", v)
				}
			}
		})
	}
}

// TestMatrix_ReleasesAreMixed: controllers of two releases of Kafka and one of ours, which follows the rules of either.
func TestMatrix_ReleasesAreMixed(t *testing.T) {
	t.Parallel()
	for _, as := range cases(t, nil, []string{"4.4.0"}, []string{"4.4.0", "4.0.0"}) {
		t.Run("4.0.0 and 4.4.0 with ours as "+as, func(t *testing.T) {
			t.Parallel()
			q := start(t, kafka.Config{
				Release:  kafka.MustRelease("4.0.0"),
				Releases: map[kraft.NodeID]kafka.Release{2: kafka.MustRelease("4.4.0"), ours: kafka.MustRelease(as)},
				Voters:   kafka.Dynamic,
			}, ours)
			for range 2 { // each of the two is likely to lead once
				q.kills()
			}
			q.oursMustLead()
			q.finish()
		})
	}
}

// finish ends everything in order and compares.
func (q *loaded) finish() {
	t := q.t
	t.Helper()
	q.leads(false)
	must(t, q.WriteMetadata(q.ctx, "last", 10))
	acked := q.load.end()
	if len(acked) == 0 {
		t.Error("nothing of the load was acknowledged")
	}
	d := q.describedRight()
	for _, n := range q.Nodes() {
		must(t, reaches(q.ctx, n, d.HighWatermark))
	}
	must(t, q.Err())
	must(t, q.CloseInOrder())
	q.witness.conforms(t, q.tiers...)
	logsAgree(t, q.Quorum, d.HighWatermark, acked)
	dumpsAgree(t, q.quorum, d.HighWatermark)
}

// reaches waits until a running node has the log up to an offset on its disk.
func reaches(ctx context.Context, n kafka.Node, offset kraft.Offset) error {
	for !holds(n, offset) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %v does not reach %d: %w", n.ID, offset, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
