package mixed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

// cases are those of a test that takes its time: all of them in make test-mixed, else what there is time for in make test, and in make
// test-matrix after it.
func cases[T any](t *testing.T, short, matrix, all []T) []T {
	t.Helper()
	kafkatest.NeedKafka(t)
	some := short
	switch {
	case os.Getenv("UNDERSTUDY_MIXED") != "":
		some = all
	case kafkatest.Matrix():
		some = matrix
	}
	if len(some) == 0 {
		t.Skip("make test-mixed runs it")
	}
	return some
}

// everyBuild is a quorum of each build; the others way round of kafkatest.Builds.
func everyBuild() []kafkatest.Build { return builds(kafka.Static, kafka.Dynamic) }

// otherWay is as many, where those of everyBuild that are static are dynamic.
func otherWay() []kafkatest.Build { return builds(kafka.Dynamic, kafka.Static) }

func builds(first, second kafka.Voters) (all []kafkatest.Build) {
	for i, release := range []string{"4.4.0", "4.0.0", "4.0.2", "4.1.2", "4.2.1", "4.3.1"} {
		all = append(all, kafkatest.Build{Release: release, Voters: []kafka.Voters{first, second}[i%2]})
	}
	return all
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An election may come at any time: a JVM that starts takes the processors, and a machine that is busy takes them for as long. So these tests take
// for granted of an election only that its epoch is greater than the last one, and bring about what they need until it is so.

// quick fails over in two to three seconds. A leader of ours writes no NoOp records, so Fetches stay parked for their 500 ms, and the fetch
// timeout must be well above.
var quick = kafka.Timeouts{ElectionMs: 500, FetchMs: 1500, RequestMs: 1500, BackoffMaxMs: 300, IdleIntervalMs: 100}

const (
	ours     kraft.NodeID = 3
	observer              = kafka.FirstBroker // of ours, too
)

// quorum is a quorum of both kinds.
type quorum struct {
	*kafka.Quorum
	t    *testing.T
	ctx  context.Context
	ours []kraft.NodeID
	stay bool // ours keep the leadership
}

// ready waits until all controllers that run know a leader and have what it has committed.
func (q *quorum) ready() {
	q.t.Helper()
	must(q.t, q.WaitReady(q.ctx, slices.DeleteFunc(q.Controllers(), func(id kraft.NodeID) bool { return !q.Running(id) })...))
}

func (q *quorum) isOurs(id kraft.NodeID) bool { return slices.Contains(q.ours, id) }

// leads waits for a leader that is one of ours, or a controller of Kafka.
func (q *quorum) leads(wantOurs bool) kafka.Elected {
	q.t.Helper()
	return q.leadsAbove(wantOurs, -1)
}

// leadsAbove is leads for an epoch above.
func (q *quorum) leadsAbove(wantOurs bool, above kraft.Epoch) kafka.Elected {
	q.t.Helper()
	for {
		e, err := q.WaitEpochAbove(q.ctx, above)
		must(q.t, err)
		if q.isOurs(e.Node) == wantOurs {
			return e
		}
		above = e.Epoch
	}
}

// loses takes the office from a controller of Kafka: it does what ends a leadership, waits for the next leader, undoes it and waits for everyone.
func (q *quorum) loses(do, undo func(leader kraft.NodeID) error) {
	q.t.Helper()
	leader := q.leads(false)
	must(q.t, do(leader.Node))
	_, err := q.WaitEpochAbove(q.ctx, leader.Epoch)
	must(q.t, err)
	must(q.t, undo(leader.Node))
	q.ready()
}

// oursMustLead leaves ours as the only one that can be elected: of two controllers of Kafka one is gone, and the other one lacks records that are
// committed. It returns when everyone is back. One of ours that stays and leads already is left alone.
func (q *quorum) oursMustLead() kafka.Elected {
	q.t.Helper()
	for {
		leader, err := q.WaitLeader(q.ctx)
		must(q.t, err)
		switch {
		case q.isOurs(leader.Node) && q.stay:
			return leader
		case q.isOurs(leader.Node):
			leader = q.leadsAbove(false, leader.Epoch)
		}
		behind := 3 - leader.Node
		must(q.t, q.Pause(behind))
		missed := true
		for i := range 2 { // what its Fetch is answered with waits in its socket
			missed = missed && q.writes(fmt.Sprintf("missed-%d-%d", leader.Epoch, i), 5)
		}
		if !missed {
			must(q.t, q.Resume(behind))
			continue
		}
		must(q.t, q.Kill(leader.Node))
		must(q.t, q.Resume(behind))
		led := q.oursLead(leader.Epoch)
		must(q.t, q.Restart(q.ctx, leader.Node))
		q.ready()
		return led
	}
}

// oursLead waits until one of ours has been the leader of an epoch above.
func (q *quorum) oursLead(above kraft.Epoch) (led kafka.Elected) {
	q.t.Helper()
	must(q.t, q.Wait(q.ctx, "one of ours to lead", func(truth kafka.Truth) bool {
		i := slices.IndexFunc(truth.Leaders(), func(e kafka.Elected) bool { return e.Epoch > above && q.isOurs(e.Node) })
		if i >= 0 {
			led = truth.Leaders()[i]
		}
		return i >= 0
	}))
	return led
}

// writes has an active controller write records, and gives up after a while: there may be none.
func (q *quorum) writes(prefix string, n int) bool {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(q.ctx, 10*time.Second)
	defer cancel()
	err := q.WriteMetadata(ctx, prefix, n)
	if err != nil && ctx.Err() == nil {
		q.t.Fatal(err)
	}
	return err == nil
}

// until asks again until it is so, and tells what has been seen last when the time is up.
func until(ctx context.Context, t *testing.T, what func() (seen any, ok bool)) {
	t.Helper()
	for {
		seen, ok := what()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the last that was seen: %v: %v", seen, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// registered waits until every controller that runs tells Kafka's tools where the leader is. Before that they are told that there is no
// controller, ask nobody else, and fail after a minute.
func (q *quorum) registered() (leader kafka.Elected) {
	q.t.Helper()
	began := time.Now()
	until(q.ctx, q.t, func() (any, bool) {
		var err error
		leader, err = q.WaitLeader(q.ctx)
		must(q.t, err)
		unknown := q.notToldOf(leader.Node)
		switch {
		case len(unknown) == 0:
			return nil, true
		case q.isOurs(leader.Node) && time.Since(began) > 5*time.Second:
			// It has moved or come to office before it was registered, and registers nobody, itself neither.
			q.t.Logf("ours leads and is not registered where it is: it resigns")
			must(q.t, q.Restart(q.ctx, leader.Node))
			began = time.Now()
		case q.gaveUpRegistering(leader.Node):
			q.t.Logf("KNOWN FAULT OF KAFKA: node %v has given its registration up for good (docs/NON_OBVIOUS.md): restarted", leader.Node)
			must(q.t, q.Restart(q.ctx, leader.Node))
			q.ready()
		}
		return fmt.Sprintf("%v is not known to %v", leader, unknown), false
	})
	return leader
}

// notToldOf are the controllers that run and do not name a leader, at its address, to those who ask for the controllers.
func (q *quorum) notToldOf(leader kraft.NodeID) (unknown []kraft.NodeID) {
	for _, id := range q.Controllers() {
		if q.Running(id) && !tellsOf(q.ctx, q.Node(id), q.Node(leader)) {
			unknown = append(unknown, id)
		}
	}
	return unknown
}

func tellsOf(ctx context.Context, n, leader kafka.Node) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	a, err := kafka.DialAdmin(ctx, n.Listener, "test")
	if err != nil {
		return false
	}
	defer func() { _ = a.Close() }()
	req := kmsg.NewPtrDescribeClusterRequest()
	req.Version, req.EndpointType = 1, 2
	resp, err := a.Request(ctx, req)
	if err != nil {
		return false
	}
	r := resp.(*kmsg.DescribeClusterResponse)
	return r.ErrorCode == 0 && kraft.NodeID(r.ControllerID) == leader.ID && slices.ContainsFunc(r.Brokers, func(b kmsg.DescribeClusterResponseBroker) bool {
		return kraft.NodeID(b.NodeID) == leader.ID && fmt.Sprintf("%s:%d", b.Host, b.Port) == leader.Advertised
	})
}

// gaveUpRegistering: a controller of Kafka that starts and finds no active controller for some seconds says that its registration timed out before it
// was sent. One with the fault then goes on waiting for it and never sends another (KAFKA-20247); others do within a second.
func (q *quorum) gaveUpRegistering(id kraft.NodeID) bool {
	q.t.Helper()
	text := nodeLog(q.t, q.Node(id))
	if i := bytes.LastIndex(text, []byte("Starting controller")); i >= 0 {
		text = text[i:] // of its last start
	}
	i := bytes.LastIndex(text, []byte("timed out before sending the request"))
	if i < 0 || q.isOurs(id) || bytes.Contains(text[i:], []byte("attempting to send ControllerRegistration")) {
		return false
	}
	var at int64 // when the line was written
	_, err := fmt.Sscan(string(text[bytes.LastIndexByte(text[:i], '\n')+1:i]), &at)
	must(q.t, err)
	return time.Since(time.UnixMilli(at)) > 10*time.Second
}

// toolTime is for one of Kafka's tools. One that asks a node between two leaders would wait for a minute and fail.
const toolTime = 45 * time.Second

// described is what Kafka's tool says of a quorum whose leader is the same before and after.
func (q *quorum) described(through ...kraft.NodeID) (d kafka.Description, leader kafka.Elected) {
	q.t.Helper()
	until(q.ctx, q.t, func() (any, bool) {
		leader = q.registered()
		limit, cancel := context.WithTimeout(q.ctx, toolTime)
		defer cancel()
		var err error
		d, err = q.Describe(limit, through...)
		after, gone := q.WaitLeader(q.ctx)
		must(q.t, gone)
		if err != nil && leader == after {
			q.t.Fatalf("Kafka's tool does not describe the quorum of %v: %v", leader, err)
		}
		return []kafka.Elected{leader, after}, leader == after
	})
	return d, leader
}
