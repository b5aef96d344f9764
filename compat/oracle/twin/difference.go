package twin

import (
	"fmt"
	"strings"

	"github.com/understudy-kafka/understudy/compat/oracle"
)

// Difference is the first command after which the two sides were not equal.
type Difference struct {
	Version string // of Kafka
	Step    int64
	Command oracle.Command
	Event   string   // what the machine was given, if known
	Kafka   []string // what Kafka did, line by line
	Ours    []string
	Where   []string // the lines that differ, "< Kafka's" and "> ours"
}

func (d *Difference) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Kafka %s and the machine differ at step %d, command %s of %s\n", d.Version, d.Step, d.Command.Cmd, d.Command.Node)
	if d.Event != "" {
		fmt.Fprintf(&b, "  handled: %s\n", d.Event)
	}
	for _, w := range d.Where {
		fmt.Fprintf(&b, "  %s\n", readable(w))
	}
	b.WriteString("Kafka did:\n")
	for _, l := range d.Kafka {
		fmt.Fprintf(&b, "  %s\n", readable(l))
	}
	b.WriteString("the machine did:\n")
	for _, l := range d.Ours {
		fmt.Fprintf(&b, "  %s\n", readable(l))
	}
	return b.String()
}

// diff lists the lines that only one side has: a longest common subsequence is kept.
func diff(kafka, ours []string) []string {
	n, m := len(kafka), len(ours)
	common := make([][]int, n+1)
	for i := range common {
		common[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if kafka[i] == ours[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < n || j < m {
		switch {
		case i < n && j < m && kafka[i] == ours[j]:
			i, j = i+1, j+1
		case j == m || i < n && common[i+1][j] >= common[i][j+1]:
			out = append(out, "< "+kafka[i])
			i++
		default:
			out = append(out, "> "+ours[j])
			j++
		}
	}
	return out
}
