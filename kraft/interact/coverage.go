package interact

import (
	"fmt"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// Coverage counts which events came in which roles: "Leader × ReceiveFetch".
type Coverage map[string]int

func (c *Coverage) event(m *kraft.QuorumStateMachine, ev kraft.Event, due kraft.TimerSet) {
	if m == nil || c == nil {
		return
	}
	role := m.Role().Kind().String()
	name := strings.TrimPrefix(fmt.Sprintf("%T", ev), "*kraft.")
	switch e := ev.(type) {
	case *kraft.ReceiveVoteRequest:
		if e.PreVote {
			name = "ReceivePreVoteRequest"
		}
	case *kraft.RoleAction:
		for kind, timeout := range map[kraft.TimerKind]string{
			kraft.ElectionTimer: "ElectionTimeout", kraft.FetchTimer: "FetchTimeout", kraft.CheckQuorumTimer: "CheckQuorumTimeout",
			kraft.UpdateVoterTimer: "UpdateVoterTimeout", kraft.BeginQuorumEpochTimer: "BeginQuorumEpochTimeout",
		} {
			if due.Has(kraft.Timer{Kind: kind}) {
				(*c)[role+" × "+timeout]++
			}
		}
	}
	(*c)[role+" × "+name]++
}
