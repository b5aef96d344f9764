package interact

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// View is part of Player.
func (n *machine) View() View {
	if n.m == nil {
		return View{Role: "none", Leader: kraft.NoNode, Voted: kraft.NoNode, HighWatermark: -1}
	}
	known, log := n.m.Inspect(), n.log.View()
	q := n.m.QuorumState()
	last, _ := log.LastEpoch()
	v := View{
		Role: n.m.Role().Kind().String(), Epoch: q.Epoch, Leader: q.Leader, Voted: q.Voted.ID, HighWatermark: -1,
		Start: log.Start, End: log.End, LastEpoch: last, Epochs: log.Epochs, KRaftVersion: known.KRaftVersion,
		Voters: Voters(known.Voters), Stored: Stored(n.stored, n.version), Parked: len(known.Parked),
	}
	for _, s := range log.Snapshots {
		v.Snapshots = append(v.Snapshots, s.ID)
	}
	for _, c := range known.Connections {
		state := "awaits an answer"
		if c.BackingOff {
			state = "backs off"
		}
		v.Connections = append(v.Connections, fmt.Sprintf("%v %s", c.ID, state))
	}
	slices.Sort(v.Connections)
	n.viewRole(&v)
	return v
}

// Stored is the quorum-state file in words.
func Stored(s *kraft.QuorumState, version int16) string {
	if s == nil {
		return "nothing"
	}
	voted := s.Voted
	if version == 0 {
		voted.DirectoryID = Directory(voted.ID, "")
	}
	return fmt.Sprintf("epoch %d, leader %s, vote for %s, version %d", s.Epoch, Node(s.Leader), keyOrNobody(voted), version)
}

func keyOrNobody(k kraft.ReplicaKey) string {
	if k.ID < 0 {
		return "nobody"
	}
	return Key(k)
}

func (n *machine) viewRole(v *View) {
	timer := func(name string, kind kraft.TimerKind) {
		if at, ok := n.timers[kraft.Timer{Kind: kind}]; ok {
			v.Timers = append(v.Timers, Timer{name, at})
		}
	}
	switch r := n.m.Role().(type) {
	case *kraft.Unattached:
		v.HighWatermark = r.HighWatermark
		timer("election", kraft.ElectionTimer)
	case *kraft.Prospective:
		v.HighWatermark, v.Tally, v.Endpoints = r.HighWatermark, tally(r.Tally), r.LeaderEndpoints.Len()
		timer("election", kraft.ElectionTimer)
	case *kraft.Candidate:
		v.HighWatermark, v.Tally = r.HighWatermark, tally(r.Tally)
		timer("election", kraft.ElectionTimer)
		if r.BackingOff {
			timer("backoff", kraft.ElectionBackoffTimer)
		}
	case *kraft.Follower:
		v.HighWatermark, v.Endpoints = r.HighWatermark, r.LeaderEndpoints.Len()
		if r.Fetching {
			v.Fetching = fmt.Sprintf("%v, %d bytes held", r.FetchingSnapshot, r.FetchedBytes)
		}
		timer("fetch", kraft.FetchTimer)
		timer("update-voter", kraft.UpdateVoterTimer)
	case *kraft.Resigned:
		v.Successors = Successors(r.Successors)
		timer("election", kraft.ElectionTimer)
	case *kraft.Leader:
		v.HighWatermark = r.HighWatermark
		v.Progress = append(progress(r.Voters, Known), progress(r.Observers, Key)...)
		timer("check-quorum", kraft.CheckQuorumTimer)
		timer("begin-quorum-epoch", kraft.BeginQuorumEpochTimer)
		if r.Accumulator.Lingering {
			timer("linger", kraft.LingerTimer)
		}
	}
}

// Successors names whom a leader would like to see after it.
func Successors(keys []kraft.ReplicaKey) []string {
	var list []string
	for _, k := range keys {
		list = append(list, Known(k))
	}
	return list
}

func tally(t kraft.Tally) []string {
	var list []string
	for _, v := range t {
		list = append(list, Node(v.Voter.ID)+" "+[...]string{kraft.Unrecorded: "unrecorded", kraft.Granted: "granted", kraft.Rejected: "rejected"}[v.State])
	}
	slices.Sort(list)
	return list
}

func progress(list []kraft.Replica, name func(kraft.ReplicaKey) string) []string {
	var out []string
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b kraft.Replica) int { return cmp.Compare(a.Key.String(), b.Key.String()) })
	for _, r := range sorted {
		out = append(out, Progress(name(r.Key), r.End, r.LastFetch, r.LastCaughtUp))
	}
	return out
}

// Progress is what a leader knows of a replica, in words.
func Progress(name string, end kraft.Offset, fetched, caughtUp kraft.Instant) string {
	if end < 0 {
		return name + " unknown"
	}
	text := fmt.Sprintf("%s at %d", name, end)
	if fetched >= 0 {
		text += fmt.Sprintf(", fetched %d", fetched)
	}
	if caughtUp >= 0 {
		text += fmt.Sprintf(", caught up %d", caughtUp)
	}
	return text
}
