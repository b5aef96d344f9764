package main

import (
	"fmt"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
)

const (
	clusterID = "MkU3OEVBNTcwNTJENDM2Qg"
	listener  = "CONTROLLER"
)

// node is node 1 of some static voters, on Kafka 4.4.0.
type node struct {
	machine *kraft.QuorumStateMachine
	log     *memlog.Log
	actions kraft.Actions
}

func newNode(voterIDs kraft.NodeID) (*node, error) {
	profile, err := compat.ByRelease("4.4.0")
	if err != nil {
		return nil, err
	}
	var voters []kraft.Voter
	for id := kraft.NodeID(1); id <= voterIDs; id++ {
		voters = append(voters, kraft.Voter{Key: kraft.ReplicaKey{ID: id}, Endpoints: endpoints(id)})
	}
	machine, err := kraft.New(kraft.Config{
		ID: 1, DirectoryID: directory(1), ClusterID: clusterID, Rules: profile.Rules, Timeouts: kraft.DefaultTimeouts(),
		StaticVoters: kraft.NewVoterSet(voters...), Listener: listener, Endpoints: endpoints(1),
		KRaftVersions: kraft.VersionRange{Max: 1}, CanBecomeVoter: true,
		FetchMaxWaitMs: 500, FetchMaxBytes: 8 << 20, FetchSnapshotMaxBytes: 8 << 20,
	})
	if err != nil {
		return nil, err
	}
	n := &node{machine: machine, log: memlog.New()}
	return n, n.on(&kraft.Start{})
}

func directory(id kraft.NodeID) kraft.DirectoryID { return kraft.DirectoryID{1, byte(id)} }

func endpoints(id kraft.NodeID) kraft.Endpoints {
	return kraft.NewEndpoints(kraft.Endpoint{Name: listener, Address: kraft.Address{Host: "localhost", Port: 9090 + uint16(id)}})
}

// on hands an event in and carries out what concerns the log. The time stands still.
func (n *node) on(ev kraft.Event, due ...kraft.Timer) error {
	clock := kraft.Clock{Now: 1000, Due: kraft.Timers(due...)}
	return n.execute(ev, n.machine.OnEvent(ev, n.log.View(), clock, &n.actions))
}

func (n *node) execute(ev kraft.Event, actions []kraft.Action) error {
	for _, a := range actions {
		if _, err := n.log.Execute(a, ev); err != nil {
			return err
		}
	}
	return nil
}

func request(id kraft.RequestID, version int16) kraft.Request {
	return kraft.Request{ID: id, Version: version, Listener: listener, ClusterID: kraft.ClusterID{Value: clusterID, Present: true}}
}

// newLeader has committed the record that an epoch begins with.
func newLeader(voters kraft.NodeID) (*node, error) {
	n, err := newNode(voters)
	if err != nil {
		return nil, err
	}
	if err := n.on(&kraft.RoleAction{}, kraft.Timer{Kind: kraft.ElectionTimer}); err != nil {
		return nil, err
	}
	for range 2 { // the PreVotes, then the votes
		if err := n.grant(); err != nil {
			return nil, err
		}
	}
	if err := n.on(&kraft.RoleAction{}); err != nil {
		return nil, err
	}
	for id := kraft.NodeID(2); id <= voters; id++ {
		if err := n.on(n.fetch(id, n.log.End)); err != nil {
			return nil, err
		}
	}
	if hw := n.highWatermark(); hw != 1 {
		return nil, fmt.Errorf("a new leader has the high watermark %d", hw)
	}
	return n, nil
}

func (n *node) grant() error {
	if err := n.on(&kraft.RoleAction{}); err != nil {
		return err
	}
	var asked []kraft.Destination
	for _, a := range n.actions.List() {
		if send, ok := a.(*kraft.SendVoteRequest); ok {
			asked = append(asked, send.Destination)
		}
	}
	for _, to := range asked {
		err := n.on(&kraft.ReceiveVoteResponse{
			Response:        kraft.Response{From: to.Record, CorrelationID: to.CorrelationID},
			PartitionAnswer: kraft.PartitionAnswer{LeaderID: kraft.NoNode, LeaderEpoch: n.machine.QuorumState().Epoch},
			VoteGranted:     true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *node) highWatermark() kraft.Offset {
	if leader, ok := n.machine.Role().(*kraft.Leader); ok && !n.machine.Inspect().Stopped {
		return leader.HighWatermark
	}
	return -1
}

// fetch is a Fetch that knows the high watermark.
func (n *node) fetch(from kraft.NodeID, offset kraft.Offset) *kraft.ReceiveFetch {
	return &kraft.ReceiveFetch{
		Request: request(kraft.RequestID(from), 18), Replica: kraft.ReplicaKey{ID: from, DirectoryID: directory(from)},
		FetchEpoch: 1, FetchOffset: offset, LastFetchedEpoch: 1, HighWatermark: n.log.HighWatermark, MaxBytes: 8 << 20,
	}
}

// leaderAcknowledged appends count records and commits them one by one. The answers to the Fetches bring the records behind them.
func leaderAcknowledged(count int) (time.Duration, error) {
	n, err := newLeader(3)
	if err != nil {
		return 0, err
	}
	for range count {
		if err := n.on(&kraft.AppendRequested{Epoch: 1, Records: 1, Size: 64, Schedule: true}); err != nil {
			return 0, err
		}
		if err := n.on(&kraft.RoleAction{}, kraft.Timer{Kind: kraft.LingerTimer}); err != nil {
			return 0, err
		}
	}
	ev, view, clock := n.fetch(2, n.highWatermark()), n.log.View(), kraft.Clock{Now: 1000}
	want := ev.FetchOffset + kraft.Offset(count)
	start := time.Now()
	for range count {
		ev.FetchOffset++
		n.machine.OnEvent(ev, view, clock, &n.actions)
		view.HighWatermark = ev.FetchOffset
	}
	took := time.Since(start)
	if got := n.highWatermark(); got != want || view.End != want {
		return 0, fmt.Errorf("committed %d of %d, want %d", got, view.End, want)
	}
	return took, nil
}

// fetchAnswered asks for what is there already, and does not wait.
func fetchAnswered(count int) (time.Duration, error) {
	n, err := newLeader(3)
	if err != nil {
		return 0, err
	}
	ev, view, clock := n.fetch(2, n.log.End), n.log.View(), kraft.Clock{Now: 1000}
	answers := 0
	start := time.Now()
	for range count {
		n.machine.OnEvent(ev, view, clock, &n.actions)
		answers += len(n.actions.List())
	}
	took := time.Since(start)
	if answers < count {
		return 0, fmt.Errorf("%d actions for %d Fetches", answers, count)
	}
	return took, nil
}

// fetchParked asks for what is there already, waits, and is answered when its time is over: two events.
func fetchParked(count int) (time.Duration, error) {
	n, err := newLeader(3)
	if err != nil {
		return 0, err
	}
	ev, view, clock := n.fetch(2, n.log.End), n.log.View(), kraft.Clock{Now: 1000}
	ev.MaxWaitMs = 500
	expired := &kraft.ParkedExpired{Request: ev.ID}
	answers := 0
	start := time.Now()
	for range count {
		n.machine.OnEvent(ev, view, clock, &n.actions)
		n.machine.OnEvent(expired, view, clock, &n.actions)
		answers += len(n.actions.List())
	}
	took := time.Since(start)
	if answers != count {
		return 0, fmt.Errorf("%d answers to %d Fetches", answers, count)
	}
	return took, nil
}

func followerAppends(count int) (time.Duration, error) { return follow(count, false) }

func followerWrites(count int) (time.Duration, error) { return follow(count, true) }

// follow sends a Fetch and appends the one record that it gets, count times. The log is only a view of one, or kraft/memlog.
func follow(count int, write bool) (time.Duration, error) {
	n, err := newNode(3)
	if err != nil {
		return 0, err
	}
	err = n.on(&kraft.ReceiveBeginQuorumEpoch{
		Request: request(1, 1), VoterID: kraft.NoNode, LeaderID: 2, LeaderEpoch: 1, LeaderEndpoints: endpoints(2),
	})
	if err != nil {
		return 0, err
	}
	view, clock, role := n.log.View(), kraft.Clock{Now: 1000}, &kraft.RoleAction{}
	batches := []kraft.Batch{{Epoch: 1, Size: 64}}
	ev := &kraft.ReceiveFetchResponse{
		Response:        kraft.Response{From: 2},
		PartitionAnswer: kraft.PartitionAnswer{LeaderID: 2, LeaderEpoch: 1},
		Diverging:       kraft.OffsetAndEpoch{Offset: -1, Epoch: -1}, Snapshot: kraft.SnapshotID{Offset: -1, Epoch: -1},
		RecordsSize: 64, Batches: batches,
	}
	start := time.Now()
	for range count {
		for _, a := range n.machine.OnEvent(role, view, clock, &n.actions) {
			if fetch, ok := a.(*kraft.SendFetch); ok {
				ev.CorrelationID = fetch.CorrelationID
			}
		}
		batches[0].Base, batches[0].Last, ev.HighWatermark = view.End, view.End, view.End
		list := n.machine.OnEvent(ev, view, clock, &n.actions)
		if write {
			if err := n.execute(ev, list); err != nil {
				return 0, err
			}
			continue
		}
		view.HighWatermark, view.End = view.End, view.End+1
		view.Epochs = n.machine.View().Epochs
	}
	took := time.Since(start)
	if n.machine.Inspect().Stopped || view.End != kraft.Offset(count) || n.machine.Role().Kind() != kraft.FollowerRole {
		return 0, fmt.Errorf("appended %d of %d records as %v", view.End, count, n.machine.Role())
	}
	return took, nil
}
