package mixed

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

// needKafka ends a test that runs real Kafka in the short tier.
func needKafka(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real Kafka; make test-kafka runs it")
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

type build struct {
	release string
	voters  kafka.Voters
}

// builds are the quorums of the short tier, or one of each raft build of 4.x.
func builds() []build {
	short := []build{{"4.4.0", kafka.Dynamic}, {"4.0.0", kafka.Static}}
	if !kafkatest.Matrix() {
		return short
	}
	return append(short, build{"4.0.2", kafka.Dynamic}, build{"4.1.2", kafka.Static}, build{"4.2.1", kafka.Dynamic}, build{"4.3.1", kafka.Static})
}

const (
	ours     kraft.NodeID = 3
	observer              = kafka.FirstBroker
)

// TestKafka_OneOfThreeVotersIsOurs: two controllers of Kafka, one of ours and an observer of ours, under load. Leaders are killed; once
// ours is the only one that can lead, so it does, brings the other one up to date and hands over. Nothing that was acknowledged is lost,
// all logs are equal, Kafka's tool sees what is there, and the checker has nothing to say against anyone.
func TestKafka_OneOfThreeVotersIsOurs(t *testing.T) {
	needKafka(t)
	for _, b := range builds() {
		t.Run(b.release+" "+b.voters.String(), func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 3*time.Minute)
			q := kafkatest.New(t, kafka.Config{
				Release: kafka.MustRelease(b.release), Voters: b.voters, Brokers: 1, Proxied: true, Timeouts: quick, Source: source(t, ours, observer),
			})
			w := startWitness(t, q)
			must(t, q.Start(ctx, 1, 2, ours))
			must(t, q.Start(ctx, observer))
			must(t, q.WaitReady(ctx, 1, 2, ours))
			l := startLoad(ctx, q)
			defer l.end()

			leader := kafkaLeads(ctx, t, q, -1)
			must(t, q.Kill(leader.Node))
			next := kafkaLeads(ctx, t, q, leader.Epoch)
			must(t, q.Restart(ctx, leader.Node))
			must(t, q.WaitReady(ctx, 1, 2, ours))

			oursLeads(ctx, t, q, kafkaLeads(ctx, t, q, next.Epoch-1))
			must(t, q.WaitReady(ctx, 1, 2, ours))
			must(t, q.WriteMetadata(ctx, "last", 10))
			finish(ctx, t, q, w, l)
		})
	}
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

// oursLeads makes ours the only voter with the whole log, and expects that it leads until the other voter has it, too.
func oursLeads(ctx context.Context, t *testing.T, q *kafka.Quorum, leader kafka.Elected) {
	t.Helper()
	behind := 3 - leader.Node
	must(t, q.Pause(behind))
	must(t, q.WriteMetadata(ctx, "missed", 20))
	must(t, q.Kill(leader.Node))
	must(t, q.Resume(behind))
	led := kraft.Epoch(-1)
	must(t, q.Wait(ctx, "ours to lead and to hand over", func(truth kafka.Truth) bool {
		for _, x := range truth.Transitions {
			switch {
			case x.Role != kafka.Leader || x.Epoch <= leader.Epoch:
			case x.Node == ours:
				led = x.Epoch
			case x.Node == behind && led >= 0 && x.Epoch > led:
				return true
			}
		}
		return false
	}))
	t.Logf("ours led epoch %d", led)
	must(t, q.Restart(ctx, leader.Node))
}

// finish ends everything in order and compares.
func finish(ctx context.Context, t *testing.T, q *kafka.Quorum, w *witness, l *load) {
	t.Helper()
	acked := l.end()
	described, err := q.Describe(ctx, kafkas(q)...) // the tool begins with DescribeCluster, which is above the raft layer
	must(t, err)
	t.Logf("Kafka's tool: leader %v of epoch %d, high watermark %d, voters %v, observers %v",
		described.Leader, described.Epoch, described.HighWatermark, described.Voters, described.Observers)
	leader, err := q.WaitLeader(ctx)
	must(t, err)
	if described.Leader != leader.Node || described.Epoch != leader.Epoch || len(described.Voters) != 3 {
		t.Errorf("described is %+v, the logs say %v", described, leader)
	}
	must(t, followersReach(ctx, q, described.HighWatermark))
	must(t, q.Err())
	must(t, q.CloseInOrder())
	w.conforms(t)
	logsAgree(t, q, described.HighWatermark, acked)
}

// kafkas are the controllers of Kafka.
func kafkas(q *kafka.Quorum) (ids []kraft.NodeID) {
	for _, id := range q.Controllers() {
		if id != ours {
			ids = append(ids, id)
		}
	}
	return ids
}

// followersReach waits until all running nodes have the log up to an offset on their disks.
func followersReach(ctx context.Context, q *kafka.Quorum, offset kraft.Offset) error {
	for _, n := range q.Nodes() {
		for !holds(n, offset) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("node %v does not reach %d: %w", n.ID, offset, ctx.Err())
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}
