package mixed

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

// needTime ends a test whose elections take as long as they take: make test-mixed waits for them, on all builds.
func needTime(t *testing.T) {
	t.Helper()
	kafkatest.NeedKafka(t)
	if os.Getenv("UNDERSTUDY_MIXED") == "" {
		t.Skip("make test-mixed runs it")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// quick fails over in about a second. A leader of ours writes no NoOp records, so Fetches stay parked for their 500 ms, and the fetch
// timeout must be well above.
var quick = kafka.Timeouts{ElectionMs: 300, FetchMs: 1200, RequestMs: 1500, BackoffMaxMs: 200, IdleIntervalMs: 100}

const (
	ours     kraft.NodeID = 3
	observer              = kafka.FirstBroker // of ours, too
)

// quorum is a quorum of both kinds, with a proxy in front of everyone and a load on it.
type quorum struct {
	*kafka.Quorum
	t       *testing.T
	ctx     context.Context
	ours    []kraft.NodeID
	witness *witness
	load    *load
}

// start runs three voters, of which these are ours, and an observer of ours.
func start(t *testing.T, b kafkatest.Build, ours ...kraft.NodeID) *quorum {
	t.Helper()
	q := &quorum{t: t, ctx: kafkatest.Deadline(t, 5*time.Minute), ours: ours}
	q.Quorum = kafkatest.New(t, kafka.Config{
		Release: kafka.MustRelease(b.Release), Voters: b.Voters, Brokers: 1, Proxied: true, Timeouts: quick,
		Source: source(t, append(ours, observer)...),
	})
	q.witness = startWitness(t, q.Quorum)
	must(t, q.Start(q.ctx, append(q.Controllers(), observer)...))
	q.ready()
	q.load = startLoad(q.ctx, q.Quorum)
	t.Cleanup(func() { q.load.end() })
	return q
}

func (q *quorum) ready() {
	q.t.Helper()
	must(q.t, q.WaitReady(q.ctx, q.Controllers()...))
}

// kafkaLeads waits until a controller of Kafka leads in an epoch above.
func kafkaLeads(ctx context.Context, t *testing.T, q *kafka.Quorum, above kraft.Epoch) kafka.Elected {
	t.Helper()
	for {
		e, err := q.WaitEpochAbove(ctx, above)
		must(t, err)
		if e.Node != ours {
			return e
		}
		above = e.Epoch
	}
}

// oursLed waits until one of ours has led an epoch above, and a controller of Kafka a later one.
func (q *quorum) oursLed(above kraft.Epoch) {
	q.t.Helper()
	led := kraft.Epoch(-1)
	must(q.t, q.Wait(q.ctx, "one of ours to lead and to hand over", func(truth kafka.Truth) bool {
		for _, x := range truth.Transitions {
			switch {
			case x.Role != kafka.Leader || x.Epoch <= above:
			case slices.Contains(q.ours, x.Node):
				led = x.Epoch
			case led >= 0 && x.Epoch > led:
				return true
			}
		}
		return false
	}))
	q.t.Logf("ours led epoch %d", led)
}

// TestKafka_OneOfThreeVotersIsOurs: two controllers of Kafka, one of ours and an observer of ours, under load. A leader is killed; once
// ours is the only one that can lead, so it does, brings the other one up to date and hands over. Nothing that was acknowledged is lost,
// all logs are equal, Kafka's tool sees what is there, and the checker has nothing to say against anyone.
func TestKafka_OneOfThreeVotersIsOurs(t *testing.T) {
	needTime(t)
	for _, b := range kafkatest.Builds() {
		t.Run(b.String(), func(t *testing.T) {
			q := start(t, b, ours)
			leader := kafkaLeads(q.ctx, t, q.Quorum, -1)
			must(t, q.Kill(leader.Node))
			next := kafkaLeads(q.ctx, t, q.Quorum, leader.Epoch)
			must(t, q.Restart(q.ctx, leader.Node))
			q.ready()

			leader = kafkaLeads(q.ctx, t, q.Quorum, next.Epoch-1)
			behind := 3 - leader.Node
			must(t, q.Pause(behind))
			must(t, q.WriteMetadata(q.ctx, "missed", 20))
			must(t, q.Kill(leader.Node))
			must(t, q.Resume(behind))
			q.oursLed(leader.Epoch)
			must(t, q.Restart(q.ctx, leader.Node))
			q.ready()
			q.finish()
		})
	}
}

// TestKafka_TwoOfThreeVotersAreOurs: while the only controller of Kafka is gone, one of ours leads and keeps what there is; when it is
// back it leads again. Ours come and go, too.
func TestKafka_TwoOfThreeVotersAreOurs(t *testing.T) {
	needTime(t)
	for _, b := range kafkatest.Builds()[:1] {
		t.Run(b.String(), func(t *testing.T) {
			q := start(t, b, 2, ours)
			must(t, q.WriteMetadata(q.ctx, "first", 50)) // by the controller of Kafka: only that one can
			leader, err := q.WaitLeader(q.ctx)
			must(t, err)
			must(t, q.Kill(1))
			_, err = q.WaitEpochAbove(q.ctx, leader.Epoch)
			must(t, err)
			must(t, q.Restart(q.ctx, 1))
			q.oursLed(leader.Epoch)
			for _, id := range q.ours {
				must(t, q.Kill(id))
				must(t, q.WriteMetadata(q.ctx, "without "+id.String(), 20))
				must(t, q.Restart(q.ctx, id))
				q.ready()
			}
			q.finish()
		})
	}
}

// finish ends everything in order and compares.
func (q *quorum) finish() {
	t := q.t
	t.Helper()
	must(t, q.WriteMetadata(q.ctx, "last", 10))
	acked := q.load.end()
	described, err := q.Describe(q.ctx)
	must(t, err)
	t.Logf("Kafka's tool: leader %v of epoch %d, high watermark %d, voters %v, observers %v",
		described.Leader, described.Epoch, described.HighWatermark, described.Voters, described.Observers)
	leader, err := q.WaitLeader(q.ctx)
	must(t, err)
	if described.Leader != leader.Node || described.Epoch != leader.Epoch || len(described.Voters) != 3 {
		t.Errorf("described is %+v, the logs say %v", described, leader)
	}
	for _, n := range q.Nodes() {
		must(t, reaches(q.ctx, n, described.HighWatermark))
	}
	must(t, q.Err())
	must(t, q.CloseInOrder())
	q.witness.conforms(t)
	logsAgree(t, q.Quorum, described.HighWatermark, acked)
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
