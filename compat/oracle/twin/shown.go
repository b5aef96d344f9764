package twin

import (
	"fmt"

	"github.com/understudy-kafka/understudy/compat/oracle"
)

// shown is Kafka's side of the last answer, which may be compared with many machines.
type shown struct {
	effects, state       []string
	hasEffects, hasState bool
}

// lines are what a client did, and its state if that is asked for. They must not be changed.
func (s *shown) lines(c oracle.Command, a *oracle.Answer, servers int, withState bool) (effects, state []string) {
	if !s.hasEffects {
		s.hasEffects = true
		s.effects = append(lines(a.Effects, servers), fmt.Sprintf("waits %v", a.Waits), fmt.Sprintf("fatal %t, finished %t", a.Fatal != "", a.Finished))
		switch c.Cmd {
		case "append":
			s.effects = append(s.effects, fmt.Sprintf("refused %t, offset %d", a.Error != "", a.Offset))
		case "schedule", "resign", "upgrade":
			s.effects = append(s.effects, fmt.Sprintf("refused %t", a.Error != ""))
		case "deleteBefore":
			s.effects = append(s.effects, fmt.Sprintf("deleted %t", a.Deleted))
		}
	}
	if withState && !s.hasState {
		s.hasState = true
		s.state = stateLines(a.State, a.Now)
	}
	return s.effects, s.state
}
