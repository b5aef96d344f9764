package twin

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// Coverage counts what the schedules have reached: each event in each role, each kind of action, each error answered.
type Coverage struct {
	Cells   map[string]int64 // "Leader × ReceiveFetch"
	Actions map[string]int64
	Errors  map[string]int64 // given: "ReplyVote FENCED_LEADER_EPOCH"
	Answers map[string]int64 // received: "ReceiveVoteResponse FENCED_LEADER_EPOCH"
	Fatals  map[string]int64
}

// NewCoverage is an empty count.
func NewCoverage() *Coverage {
	return &Coverage{Cells: map[string]int64{}, Actions: map[string]int64{}, Errors: map[string]int64{}, Answers: map[string]int64{}, Fatals: map[string]int64{}}
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
	if code, ok := answerCode(ev); ok {
		c.Answers[name+" "+code.String()]++
	}
	c.Cells[m.Role().Kind().String()+" × "+name]++
}

// answerCode is the error that a response carries, at top level or for its partition.
func answerCode(ev kraft.Event) (kraft.ErrorCode, bool) {
	switch e := ev.(type) {
	case *kraft.ReceiveVoteResponse:
		return worst(e.Response.Error, e.PartitionAnswer.Error), true
	case *kraft.ReceiveBeginQuorumEpochResponse:
		return worst(e.Response.Error, e.PartitionAnswer.Error), true
	case *kraft.ReceiveEndQuorumEpochResponse:
		return worst(e.Response.Error, e.PartitionAnswer.Error), true
	case *kraft.ReceiveFetchResponse:
		return worst(e.Response.Error, e.PartitionAnswer.Error), true
	case *kraft.ReceiveFetchSnapshotResponse:
		return worst(e.Response.Error, e.PartitionAnswer.Error), true
	case *kraft.ReceiveAPIVersionsResponse:
		return e.Error, true
	case *kraft.ReceiveAddRaftVoterResponse:
		return e.Error, true
	case *kraft.ReceiveRemoveRaftVoterResponse:
		return e.Error, true
	case *kraft.ReceiveUpdateRaftVoterResponse:
		return e.Error, true
	}
	return kraft.None, false
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
		if a.Snapshot.Epoch >= 0 {
			c.Errors["ReplyFetch snapshot"]++
		}
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
	for _, p := range [][2]map[string]int64{{c.Cells, o.Cells}, {c.Actions, o.Actions}, {c.Errors, o.Errors}, {c.Answers, o.Answers}, {c.Fatals, o.Fatals}} {
		for k, n := range p[1] {
			p[0][k] += n
		}
	}
}

// Print shows all counts.
func (c *Coverage) Print(w io.Writer, p *compat.Profile) {
	for _, part := range []struct {
		name   string
		counts map[string]int64
	}{{"role and event", c.Cells}, {"action", c.Actions}, {"answer given", c.Errors}, {"answer received", c.Answers}, {"end of the process", c.Fatals}} {
		fmt.Fprintf(w, "%s:\n", part.name)
		for _, k := range slices.Sorted(maps.Keys(part.counts)) {
			fmt.Fprintf(w, "  %8d %s\n", part.counts[k], k)
		}
	}
	fmt.Fprintf(w, "not visited:\n")
	for _, k := range c.Unvisited(p) {
		fmt.Fprintf(w, "  %s\n", k)
	}
}
