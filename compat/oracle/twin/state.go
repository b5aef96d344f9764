package twin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
)

// state is our node's state in the oracle's words. Of the oracle's own it takes what a machine does not keep.
func (n *node) state(kafka *oracle.State) *oracle.State {
	q, log, known := n.m.QuorumState(), n.log.View(), n.m.Inspect()
	s := &oracle.State{
		Role: n.m.Role().Kind().String(), Epoch: int32(q.Epoch), Leader: int32(q.Leader), LeaderEndpoints: "{}", Voted: key(q.Voted),
		HighWatermark: -1, Start: int64(log.Start), End: int64(log.End), LogHW: int64(log.HighWatermark), Flushed: int64(n.log.Flushed()),
		KRaft: known.KRaftVersion, Parked: len(known.Parked), Finished: n.finished, Cleaner: int64(n.cleaner),
		Timers: map[string]int64{},
	}
	s.LastEpoch = -1
	if last, ok := log.LastEpoch(); ok {
		s.LastEpoch = int32(last)
	}
	for _, e := range log.Epochs {
		s.Epochs = append(s.Epochs, [2]int64{int64(e.Epoch), int64(e.Start)})
	}
	for _, snapshot := range log.Snapshots {
		s.Snapshots = append(s.Snapshots, [3]int64{int64(snapshot.ID.Offset), int64(snapshot.ID.Epoch), snapshot.Size})
	}
	s.Voters, s.VotersOffset = voterStates(known.Voters), max(-1, int64(known.VotersOffset))
	copy(s.Stored[:], n.storedList())
	n.connectionStates(s, known.Connections)
	n.roleState(s)
	if kafka != nil {
		s.ListenerNext, s.HeldReaders = kafka.ListenerNext, kafka.HeldReaders
	}
	return s
}

func key(k kraft.ReplicaKey) string {
	if k.ID < 0 {
		return ""
	}
	return k.String()
}

// endpointText is Kafka's TreeMap of listeners as text.
func endpointText(e kraft.Endpoints) string {
	var list []string
	for i := range e.Len() {
		list = append(list, e.At(i).Name+"="+e.At(i).String())
	}
	return "{" + strings.Join(list, ", ") + "}"
}

func voterStates(set kraft.VoterSet) []oracle.VoterState {
	var list []oracle.VoterState
	for i := range set.Len() {
		v := set.At(i)
		list = append(list, oracle.VoterState{Key: key(v.Key), Endpoints: endpointText(v.Endpoints), Min: v.Versions.Min, Max: v.Versions.Max})
	}
	return list
}

func (n *node) connectionStates(s *oracle.State, connections []kraft.Connection) {
	t := timeouts(n.init.Config)
	for _, c := range connections {
		state := oracle.ConnState{ID: int32(c.ID), State: "AWAITING_RESPONSE"}
		if c.BackingOff {
			state.State, state.Failed = "BACKING_OFF", int64(n.timers[kraft.PeerTimer(kraft.BackoffTimer, c.ID)])-int64(t.RetryBackoffMs)
		} else {
			state.Sent = int64(n.timers[kraft.PeerTimer(kraft.RequestTimer, c.ID)]) - int64(t.RequestMs)
			for number, f := range n.inFlight {
				if f.to.Record == c.ID && f.to.CorrelationID == c.CorrelationID {
					state.Corr = &number
				}
			}
		}
		s.Conns = append(s.Conns, state)
	}
	slices.SortFunc(s.Conns, func(a, b oracle.ConnState) int { return cmp.Compare(a.ID, b.ID) })
}

func (n *node) timer(s *oracle.State, name string, kind kraft.TimerKind) {
	if at, ok := n.timers[kraft.Timer{Kind: kind}]; ok {
		s.Timers[name] = int64(at)
	}
}

func (n *node) roleState(s *oracle.State) {
	retries := func(v int32) {
		if n.profile.Rules.ElectionBackoff != kraft.WaitForTimer {
			s.Retries = &v
		}
	}
	switch r := n.m.Role().(type) {
	case *kraft.Unattached:
		s.HighWatermark = int64(r.HighWatermark)
		n.timer(s, "election", kraft.ElectionTimer)
	case *kraft.Prospective:
		s.HighWatermark, s.LeaderEndpoints, s.Tally = int64(r.HighWatermark), endpointText(r.LeaderEndpoints), tally(r.Tally)
		n.timer(s, "election", kraft.ElectionTimer)
		retries(r.Retries)
	case *kraft.Candidate:
		s.HighWatermark, s.Tally = int64(r.HighWatermark), tally(r.Tally)
		n.timer(s, "election", kraft.ElectionTimer)
		retries(r.Retries)
		if s.Retries != nil {
			s.BackingOff = &r.BackingOff
		}
		if r.BackingOff {
			n.timer(s, "backoff", kraft.ElectionBackoffTimer)
		}
	case *kraft.Follower:
		s.HighWatermark, s.LeaderEndpoints, s.HasFetched = int64(r.HighWatermark), endpointText(r.LeaderEndpoints), r.FetchedFromLeader
		if n.profile.Rules.UpgradeKRaftVersion {
			s.HasUpdatedLeader = &r.UpdatedLeader
		}
		if r.Fetching {
			s.FetchingSnapshot = &[3]int64{int64(r.FetchingSnapshot.Offset), int64(r.FetchingSnapshot.Epoch), r.FetchedBytes}
		}
		n.timer(s, "fetch", kraft.FetchTimer)
		n.timer(s, "updateVoter", kraft.UpdateVoterTimer)
	case *kraft.Resigned:
		s.LeaderEndpoints, s.Unacked = endpointText(endpoints(n.init.Endpoints)), ids(r.Unacked)
		for _, k := range r.Successors {
			s.Successors = append(s.Successors, key(k))
		}
		n.timer(s, "election", kraft.ElectionTimer)
	case *kraft.Leader:
		n.leaderState(s, r)
	}
}

func (n *node) leaderState(s *oracle.State, r *kraft.Leader) {
	s.HighWatermark, s.LeaderEndpoints, s.EpochStart = int64(r.HighWatermark), endpointText(endpoints(n.init.Endpoints)), int64(r.EpochStart)
	s.Granting, s.Fetched = ids(r.Granting), ids(r.FetchedVoters)
	s.Replicas, s.Observers = replicaStates(r.Voters), replicaStates(r.Observers)
	s.NextOffset, s.ResignRequested = int64(r.Accumulator.NextOffset), r.ResignRequested
	n.timer(s, "checkQuorum", kraft.CheckQuorumTimer)
	n.timer(s, "beginEpoch", kraft.BeginQuorumEpochTimer)
	if r.Accumulator.Lingering {
		n.timer(s, "linger", kraft.LingerTimer)
	}
	if r.Change.Kind != kraft.NoChange {
		s.PendingChange = &oracle.PendingChange{Kind: r.Change.Kind.String(), Offset: int64(r.Change.LastOffset), Deadline: int64(n.timers[kraft.Timer{Kind: kraft.VoterChangeTimer}])}
		if r.Change.Kind == kraft.AddChange { // Kafka keeps no key for a removal
			s.PendingChange.Voter = key(r.Change.Voter)
		}
	}
	if r.HasVolatileVoters {
		s.VolatileVoters = voterStates(r.VolatileVoters)
	}
	if r.RequestedVersion != 0 {
		s.RequestedKRaft = fmt.Sprintf("KRAFT_VERSION_%d", r.RequestedVersion)
	}
}

func ids(list []kraft.NodeID) []int32 {
	var out []int32
	for _, id := range list {
		out = append(out, int32(id))
	}
	slices.Sort(out)
	return out
}

func tally(t kraft.Tally) map[string]string {
	m := map[string]string{}
	for _, v := range t {
		m[strconv.Itoa(int(v.Voter.ID))] = [...]string{kraft.Unrecorded: "UNRECORDED", kraft.Granted: "GRANTED", kraft.Rejected: "REJECTED"}[v.State]
	}
	return m
}

func replicaStates(list []kraft.Replica) []oracle.ReplicaState {
	var out []oracle.ReplicaState
	for _, r := range list {
		out = append(out, oracle.ReplicaState{
			Key: key(r.Key), End: int64(r.End), LastFetch: int64(r.LastFetch), LeaderEnd: int64(r.LastFetchLeaderEnd), CaughtUp: int64(r.LastCaughtUp), Acked: r.Acknowledged,
		})
	}
	slices.SortFunc(out, func(a, b oracle.ReplicaState) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

const infinite = int64(1) << 60 // an observer's election timer never runs out

// stateLines shows a state line by line. Kafka bases an inherited timer that has run out on the present, so one that has
// run out counts as such, whenever that was. A record that is ready counts as no record.
func stateLines(s *oracle.State, now int64) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, "state "+fmt.Sprintf(format, args...)) }
	add("%s epoch %d leader %d at %s voted %q", s.Role, s.Epoch, s.Leader, s.LeaderEndpoints, s.Voted)
	add("high watermark %d, log %d..%d, last epoch %d, its high watermark %d, flushed %d", s.HighWatermark, s.Start, s.End, s.LastEpoch, s.LogHW, s.Flushed)
	add("epochs %v", s.Epochs)
	add("snapshots %v", s.Snapshots)
	add("kraft.version %d, voters of %d: %+v", s.KRaft, s.VotersOffset, s.Voters)
	add("stored %s", fmt.Sprint(normal(s.Stored[:])...))
	for _, name := range slices.Sorted(maps.Keys(s.Timers)) {
		if at := s.Timers[name]; at < infinite {
			add("timer %s %d", name, max(at, now))
		}
	}
	for _, c := range s.Conns {
		switch {
		case c.State == "AWAITING_RESPONSE" && c.Corr != nil:
			add("connection %d awaits #%d since %d", c.ID, *c.Corr, c.Sent)
		case c.State == "AWAITING_RESPONSE":
			add("connection %d awaits an answer that is in the queue, since %d", c.ID, c.Sent)
		case c.State == "BACKING_OFF":
			add("connection %d backs off since %d", c.ID, c.Failed)
		}
	}
	add("parked %d, finished %t, cleaner %d", s.Parked, s.Finished, s.Cleaner)
	if s.Tally != nil {
		add("tally %v retries %s backing off %s", s.Tally, pointed(s.Retries), pointed(s.BackingOff))
	}
	switch s.Role {
	case "Resigned":
		add("unacked %v successors %v", s.Unacked, s.Successors)
	case "Follower":
		add("has fetched %t, has updated leader %s, snapshot %s", s.HasFetched, pointed(s.HasUpdatedLeader), pointed(s.FetchingSnapshot))
	case "Leader":
		add("epoch start %d, granting %v, fetched %v, next offset %d, resign %t", s.EpochStart, s.Granting, s.Fetched, s.NextOffset, s.ResignRequested)
		for _, r := range s.Replicas {
			add("voter %+v", r)
		}
		for _, r := range s.Observers {
			add("observer %+v", r)
		}
		add("change %s, volatile voters %+v, requested %s", pointed(s.PendingChange), s.VolatileVoters, s.RequestedKRaft)
	}
	return list
}

func pointed[T any](p *T) string {
	if p == nil {
		return "none"
	}
	return fmt.Sprintf("%+v", *p)
}

// normal makes numbers that came from JSON equal to ours.
func normal(list []any) []any {
	var out []any
	for _, v := range list {
		if f, ok := v.(float64); ok {
			v = int64(f)
		}
		out = append(out, fmt.Sprintf("%v ", v))
	}
	return out
}
