package twin

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// Coverage counts what the schedules have reached: each event in each role, each kind of action, each error answered.
type Coverage struct {
	Cells   map[string]int64 // "Leader × ReceiveFetch"
	Actions map[string]int64
	Errors  map[string]int64 // "ReplyVote FENCED_LEADER_EPOCH"
	Fatals  map[string]int64
}

// NewCoverage is an empty count.
func NewCoverage() *Coverage {
	return &Coverage{Cells: map[string]int64{}, Actions: map[string]int64{}, Errors: map[string]int64{}, Fatals: map[string]int64{}}
}

func typeName(v any) string { return strings.TrimPrefix(fmt.Sprintf("%T", v), "*kraft.") }

func (c *Coverage) event(m *kraft.QuorumStateMachine, ev kraft.Event) {
	if m == nil {
		return
	}
	name := typeName(ev)
	switch e := ev.(type) {
	case *kraft.ReceiveVoteRequest:
		if e.PreVote {
			name = "ReceivePreVoteRequest"
		}
	case *kraft.RequestFailed:
		name += " " + e.API.String()
	}
	c.Cells[m.Role().Kind().String()+" × "+name]++
}

func (c *Coverage) action(a kraft.Action) {
	c.Actions[typeName(a)]++
	note := func(code kraft.ErrorCode) { c.Errors[typeName(a)+" "+code.String()]++ }
	switch a := a.(type) {
	case *kraft.ReplyVote:
		note(worst(a.Error, a.PartitionError))
	case *kraft.ReplyBeginQuorumEpoch:
		note(worst(a.Error, a.PartitionError))
	case *kraft.ReplyEndQuorumEpoch:
		note(worst(a.Error, a.PartitionError))
	case *kraft.ReplyFetch:
		note(worst(a.Error, a.PartitionError))
	case *kraft.ReplyFetchSnapshot:
		note(worst(a.Error, a.PartitionError))
	case *kraft.ReplyDescribeQuorum:
		if a.UnknownPartition {
			note(kraft.UnknownTopicOrPartition)
		} else {
			note(worst(a.Error, a.PartitionError))
		}
	case *kraft.ReplyAddRaftVoter:
		note(a.Error)
	case *kraft.ReplyRemoveRaftVoter:
		note(a.Error)
	case *kraft.ReplyUpdateRaftVoter:
		note(a.Error)
	case *kraft.Fatal:
		c.Fatals[a.Reason.String()]++
	}
}

func worst(top, partition kraft.ErrorCode) kraft.ErrorCode {
	if top != kraft.None {
		return top
	}
	return partition
}

// Add takes over the counts of another run.
func (c *Coverage) Add(o *Coverage) {
	for _, p := range [][2]map[string]int64{{c.Cells, o.Cells}, {c.Actions, o.Actions}, {c.Errors, o.Errors}, {c.Fatals, o.Fatals}} {
		for k, n := range p[1] {
			p[0][k] += n
		}
	}
}

// events and errors that a run should reach.
var (
	roles  = []kraft.RoleKind{kraft.UnattachedRole, kraft.ProspectiveRole, kraft.CandidateRole, kraft.LeaderRole, kraft.FollowerRole, kraft.ResignedRole}
	events = []string{
		"RoleAction", "ReceiveVoteRequest", "ReceivePreVoteRequest", "ReceiveBeginQuorumEpoch", "ReceiveEndQuorumEpoch", "ReceiveFetch", "ReceiveFetchSnapshot",
		"ReceiveDescribeQuorum", "ReceiveAddRaftVoter", "ReceiveRemoveRaftVoter", "ReceiveUpdateRaftVoter",
		"ReceiveVoteResponse", "ReceiveBeginQuorumEpochResponse", "ReceiveEndQuorumEpochResponse", "ReceiveFetchResponse",
		"ReceiveFetchSnapshotResponse", "ReceiveAPIVersionsResponse", "ReceiveUpdateRaftVoterResponse", "ReceiveAddRaftVoterResponse",
		"ReceiveRemoveRaftVoterResponse", "AppendRequested", "ScheduleAppend", "SnapshotCreated", "ParkedExpired", "Resign", "Shutdown", "UpgradeKRaftVersion",
	}
)

// Unvisited lists the cells of roles and events that no schedule has reached.
func (c *Coverage) Unvisited() []string {
	var list []string
	for _, r := range roles {
		for _, e := range events {
			if cell := r.String() + " × " + e; c.Cells[cell] == 0 {
				list = append(list, cell)
			}
		}
	}
	return list
}

// Print shows all counts.
func (c *Coverage) Print(w io.Writer) {
	for _, part := range []struct {
		name   string
		counts map[string]int64
	}{{"role and event", c.Cells}, {"action", c.Actions}, {"answer", c.Errors}, {"end of the process", c.Fatals}} {
		fmt.Fprintf(w, "%s:\n", part.name)
		for _, k := range slices.Sorted(maps.Keys(part.counts)) {
			fmt.Fprintf(w, "  %8d %s\n", part.counts[k], k)
		}
	}
}
