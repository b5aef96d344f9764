package twin

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/understudy-kafka/understudy/compat/oracle"
)

// digest is the node's state as one number, as the harness reckons it (OracleDigest): FNV-1a of its fields, each with a bar
// behind it, lists with a semicolon. It covers what stateLines shows.
func (n *node) digest(s *oracle.State) uint64 {
	n.text = appendState(n.text[:0], s, int64(n.now))
	h := uint64(0xcbf29ce484222325)
	for _, c := range n.text {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}

type digestText []byte

func (d digestText) num(list ...int64) digestText {
	for _, v := range list {
		d = append(strconv.AppendInt(d, v, 10), '|')
	}
	return d
}

func (d digestText) str(list ...string) digestText {
	for _, s := range list {
		d = append(append(d, s...), '|')
	}
	return d
}

func (d digestText) flag(v bool) digestText { return append(strconv.AppendBool(d, v), '|') }
func (d digestText) optional(v *bool) digestText {
	if v == nil {
		return d.str("")
	}
	return d.flag(*v)
}

func (d digestText) end() digestText { return append(d, ';') }

func (d digestText) ids(list []int32) digestText {
	for _, v := range list {
		d = d.num(int64(v))
	}
	return d.end()
}

func (d digestText) voters(list []oracle.VoterState) digestText {
	for i := range list {
		v := &list[i]
		d = d.str(v.Key, v.Endpoints).num(int64(v.Min), int64(v.Max))
	}
	return d.end()
}

func (d digestText) replicas(list []oracle.ReplicaState) digestText {
	for i := range list {
		r := &list[i]
		d = d.str(r.Key).num(r.End, r.LastFetch, r.LeaderEnd, r.CaughtUp).flag(r.Acked)
	}
	return d
}

// appendState writes the state in the order of OracleDigest.
func appendState(b []byte, s *oracle.State, now int64) []byte {
	d := digestText(b).str(s.Role).num(int64(s.Epoch), int64(s.Leader)).str(s.LeaderEndpoints, s.Voted)
	d = d.num(s.HighWatermark, s.Start, s.End, int64(s.LastEpoch), s.LogHW, s.Flushed, int64(s.KRaft), s.VotersOffset)
	for _, e := range s.Epochs {
		d = d.num(e[:]...).end()
	}
	d = d.end()
	for _, e := range s.Snapshots {
		d = d.num(e[:]...).end()
	}
	d = d.end().voters(s.Voters)
	if s.Stored[0] == nil {
		d = d.str("none")
	} else {
		for _, v := range s.Stored {
			switch v := v.(type) {
			case int64:
				d = d.num(v)
			case string:
				d = d.str(v)
			default:
				d = d.str("")
			}
		}
	}
	var names [8]string
	sorted := names[:0]
	for name, at := range s.Timers {
		if at < infinite {
			sorted = append(sorted, name)
		}
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		d = d.str(name).num(max(s.Timers[name], now))
	}
	for i := range s.Conns {
		switch c := &s.Conns[i]; {
		case c.State == "BACKING_OFF":
			d = d.num(int64(c.ID), c.Failed)
		case c.Corr != nil:
			d = d.num(int64(c.ID), int64(*c.Corr), c.Sent)
		default:
			d = d.num(int64(c.ID)).str("").num(c.Sent)
		}
	}
	d = d.num(int64(s.Parked))
	if s.Finished {
		d = d.str("true")
	} else {
		d = d.str("")
	}
	return appendRole(d.num(s.Cleaner), s)
}

func appendRole(d digestText, s *oracle.State) []byte {
	if s.Tally != nil {
		for _, id := range tallied(s.Tally) {
			d = d.str(id, s.Tally[id])
		}
		if s.Retries != nil {
			d = d.num(int64(*s.Retries))
		} else {
			d = d.str("")
		}
		d = d.optional(s.BackingOff)
	}
	switch s.Role {
	case "Resigned":
		d = d.ids(s.Unacked).str(s.Successors...).end()
	case "Follower":
		d = d.flag(s.HasFetched)
		d = d.optional(s.HasUpdatedLeader)
		if s.FetchingSnapshot != nil {
			d = d.num(s.FetchingSnapshot[:]...)
		}
		d = d.end()
	case "Leader":
		d = d.num(s.EpochStart, s.NextOffset).flag(s.ResignRequested).str(s.RequestedKRaft).ids(s.Granting).ids(s.Fetched)
		d = d.replicas(s.Replicas).replicas(s.Observers)
		if p := s.PendingChange; p != nil {
			d = d.str(p.Kind, p.Voter).num(p.Deadline, p.Offset)
		}
		d = d.voters(s.VolatileVoters)
	}
	return d
}

// tallied are the voters in the order of their ids.
func tallied(tally map[string]string) []string {
	return slices.SortedFunc(maps.Keys(tally), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
}
