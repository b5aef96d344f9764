package oracle_test

import (
	"os"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat/oracle/twin"
)

// marks is what the tests of this process have reached on a build.
type marks struct {
	coverage *twin.Coverage
	by       map[string]bool // what has been played
}

var allMarks = map[string]*marks{}

func reached(build string) *marks {
	if allMarks[build] == nil {
		allMarks[build] = &marks{twin.NewCoverage(), map[string]bool{}}
	}
	return allMarks[build]
}

func (m *marks) note(by string, tw *twin.Twin) {
	m.coverage.Add(tw.Coverage)
	m.by[by] = true
}

// TestKafka_MarksNotVisited: for each build, the conversations, the scripts and the random walks together come by every event in every role, every
// action, every error and every way to end the process that can be reached. It runs behind the tests that play them, and plays what has not been
// played.
func TestKafka_MarksNotVisited(t *testing.T) {
	for _, build := range versions(t) {
		for by, play := range map[string]func(*testing.T){"conversations": TestKafka_Golden, "scripts": TestKafka_ScriptedScenarios, "walks": TestKafka_RandomWalks} {
			if !reached(build).by[by] && (*flagBuild == "" || *flagBuild == build) {
				t.Run(by, play)
			}
		}
	}
	for build, m := range allMarks {
		p := twin.ProfileOf(build)
		left := m.coverage.Unvisited(&p)
		tell := t.Logf // a short walk need not come by everything
		if os.Getenv("UNDERSTUDY_MATRIX") != "" && len(left) > 0 {
			tell = t.Errorf
		}
		tell("Kafka %s: %d marks are not visited: %s", build, len(left), strings.Join(left, ", "))
		if len(m.coverage.Cells) == 0 {
			t.Errorf("Kafka %s: nothing is counted", build)
		}
	}
}
