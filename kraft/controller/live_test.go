package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// cutAt is the part of a log that lies before an offset.
func cutAt(t testing.TB, log []byte, upTo kraft.Offset) []byte {
	t.Helper()
	size := 0
	for size < len(log) {
		b, _, err := wire.NextBatch(log[size:])
		must(t, err)
		if b.BaseOffset >= upTo {
			break
		}
		size += len(b.Bytes)
	}
	return log[:size]
}

// values are the records of a log by their offsets.
func values(t testing.TB, log []byte) map[kraft.Offset]string {
	t.Helper()
	all := map[kraft.Offset]string{}
	for len(log) > 0 {
		b, rest, err := wire.NextBatch(log)
		must(t, err)
		if !b.Control() {
			must(t, b.Each(func(r wire.Record) error {
				all[r.Offset] = string(r.Value)
				return nil
			}))
		}
		log = rest
	}
	return all
}

// kept checks that each committed record is in the log of a node.
func (q *quorum) kept(id kraft.NodeID, committed ...map[kraft.Offset]string) {
	q.t.Helper()
	last := kraft.Offset(0)
	for _, some := range committed {
		for offset := range some {
			last = max(last, offset)
		}
	}
	q.wait(id, "it has all that was committed", func(s *Status) bool { return s.HighWatermark > last })
	held := values(q.t, q.read(id, last+1))
	for _, some := range committed {
		for offset, value := range some {
			if held[offset] != value {
				q.t.Errorf("node %v has %q at %d, committed is %q", id, held[offset], offset, value)
			}
		}
	}
}

func TestQuorum_ElectsAppendsAndCommits(t *testing.T) {
	q := newQuorum(t, 3, 3, nil)
	q.start(1, 2, 3)
	committed := q.write(20)
	for id := range q.nodes {
		q.kept(id, committed)
	}
	id, _ := q.leader(0)
	q.equalLogs(q.nodes[id].Status().HighWatermark)
}

func TestQuorum_GoesOnWithoutTheLeaderAndTakesItBack(t *testing.T) {
	q := newQuorum(t, 3, 3, nil)
	q.start(1, 2, 3)
	first, epoch := q.leader(0)
	before := q.write(5)
	q.kill(first)
	second, _ := q.leader(epoch)
	after := q.write(5)
	q.start(first)
	q.kept(first, before, after)
	q.equalLogs(q.nodes[second].Status().HighWatermark)
}

func TestQuorum_LeaderThatStopsResignsAtOnce(t *testing.T) {
	q := newQuorum(t, 3, 3, func(_ kraft.NodeID, c *Config) {
		c.Timeouts = kraft.QuorumTimeouts{ElectionMs: 500, FetchMs: 20_000, ElectionBackoffMaxMs: 200, RequestMs: 2000, RetryBackoffMs: 20}
	})
	q.start(1, 2, 3)
	first, epoch := q.leader(0)
	for id := range q.nodes { // a node that has never fetched is no successor
		q.wait(id, "it follows", func(s *Status) bool { return s.CaughtUp() && s.Epoch == epoch })
	}
	q.nodes[first].stop()
	q.join(first)
	start := time.Now()
	if second, _ := q.leader(epoch); second == first {
		t.Errorf("node %v leads again", second)
	}
	if d := time.Since(start); d > 15*time.Second { // without EndQuorumEpoch: a fetch timeout
		t.Errorf("the next leader took %v", d)
	}
}

func TestQuorum_RestartOfAllKeepsWhatWasCommitted(t *testing.T) {
	q := newQuorum(t, 3, 3, nil)
	q.start(1, 2, 3)
	before := q.write(10)
	q.closeAll()
	q.start(1, 2, 3)
	after := q.write(3)
	for id := range q.nodes {
		q.kept(id, before, after)
	}
}

func TestQuorum_ObserverFollows(t *testing.T) {
	q := newQuorum(t, 4, 3, func(id kraft.NodeID, c *Config) { c.Observer = id == 4 })
	q.start(1, 2, 3, 4)
	committed := q.write(10)
	q.kept(4, committed)
	if s := q.nodes[4].Status(); s.Role != kraft.FollowerRole {
		t.Errorf("the observer is %v", &s)
	}
}

// A follower whose disk is new gets the leader's snapshot, in many pieces, and then the log behind it.
func TestQuorum_WipedFollowerFetchesTheSnapshot(t *testing.T) {
	q := newQuorum(t, 3, 3, func(_ kraft.NodeID, c *Config) { c.SnapshotBytes = 1000 })
	q.start(1, 2, 3)
	q.write(20)
	leader, epoch := q.leader(0)
	snapshot := q.snapshot(leader, epoch)
	wiped := leader%3 + 1
	q.kill(wiped)
	q.wipe(wiped)
	q.start(wiped)
	after := q.write(2)
	q.wait(wiped, "it has the snapshot and what follows", func(s *Status) bool {
		return s.Snapshot == snapshot && s.LogStart == snapshot.Offset && s.HighWatermark >= snapshot.Offset+2
	})
	for offset, value := range after {
		records, err := q.nodes[wiped].Read(t.Context(), nil, offset, 1)
		must(t, err)
		if got := values(t, records)[offset]; got != value {
			t.Errorf("at %d: %q, want %q", offset, got, value)
		}
	}
}

// snapshot makes the leader have a snapshot of its log up to the high watermark, of more than one piece.
func (q *quorum) snapshot(leader kraft.NodeID, epoch kraft.Epoch) kraft.SnapshotID {
	q.t.Helper()
	id := kraft.SnapshotID{Offset: q.nodes[leader].Status().HighWatermark, Epoch: epoch}
	made := make(chan error, 1)
	must(q.t, q.nodes[leader].ask(q.t.Context(), func(l *loop) { made <- l.freezeForTest(id, q.set) }))
	must(q.t, <-made)
	return id
}

func (l *loop) freezeForTest(id kraft.SnapshotID, voters kraft.VoterSet) error {
	w, ok, err := l.log.CreateSnapshot(id)
	if err != nil || !ok {
		return fmt.Errorf("no snapshot %v: %w", id, err)
	}
	set, err := wire.ControlOf(kraft.ControlRecord{Type: kraft.VotersRecord, Voters: voters})
	if err != nil {
		return err
	}
	head := wire.NewBatch(0, 0, 1)
	head.Attributes = wire.AttrControl
	b := wire.AppendBatch(nil, head, wire.NewControl(wire.SnapshotHeader{Timestamp: 1}), wire.NewControl(wire.KRaftVersion{Level: 1}), wire.NewControl(set))
	b = wire.AppendDataBatch(b, 3, 0, 1, []byte(strings.Repeat("all that was before ", 500)))
	head.BaseOffset = 4
	b = wire.AppendBatch(b, head, wire.NewControl(wire.SnapshotFooter{}))
	if err := w.Append(b); err != nil {
		return err
	}
	if err := w.Freeze(); err != nil {
		return err
	}
	l.on(&kraft.SnapshotCreated{ID: id})
	return nil
}

// TestRead_HandsOutWholeBatches: Kafka's log cuts the last batch at the limit of a Fetch, which the replica asks for again. Who reads here does not.
func TestRead_HandsOutWholeBatches(t *testing.T) {
	q := newQuorum(t, 1, 1, nil)
	q.start(1)
	q.leader(0)
	first, last := kraft.Offset(1<<60), kraft.Offset(0)
	for offset := range q.write(20) {
		first, last = min(first, offset), max(last, offset)
	}
	for limit := int32(1); limit < 600; limit += 7 {
		var all []byte
		for at := first; at <= last; {
			before := len(all)
			var err error
			all, err = q.nodes[1].Read(t.Context(), all, at, limit)
			must(t, err)
			if len(all) == before || int32(len(all)-before) > limit && wholeBatches(all[before:]) > 120 {
				t.Fatalf("%d bytes at %d with a limit of %d", len(all)-before, at, limit)
			}
			for rest := all[before:]; len(rest) > 0; {
				var b wire.Batch
				b, rest, err = wire.NextBatch(rest)
				must(t, err)
				at = b.LastOffset() + 1
			}
		}
		if n := len(values(t, all)); n != 20 {
			t.Fatalf("%d records with a limit of %d", n, limit)
		}
	}
}

func TestAppend_FailsOnAFollower(t *testing.T) {
	q := newQuorum(t, 3, 3, nil)
	q.start(1, 2, 3)
	leader, _ := q.leader(0)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := q.nodes[leader%3+1].Append(ctx, []byte("x")); err == nil || !strings.Contains(err.Error(), "not the leader") {
		t.Errorf("append: %v", err)
	}
}
