package shadow

import (
	"cmp"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// Finding is a divergence: a node did what no correct controller does.
type Finding struct {
	Rule  string       `json:"rule"`  // its id, as "M1"
	Name  string       `json:"name"`  // the rule's name, as "vote-once"
	Node  kraft.NodeID `json:"node"`  // who did it; -1 if it cannot be told
	Epoch kraft.Epoch  `json:"epoch"` // -1 if none is concerned
	Text  string       `json:"text"`  // what happened, one sentence
	Proof []Evidence   `json:"proof"` // the frames that prove it, oldest first
	Count uint64       `json:"count"` // how often the same was seen; the proof is of the first time
	Last  int64        `json:"last"`  // when it was seen last, nanoseconds since the Unix epoch

	key    findingKey
	across bool
	order  uint64 // the observation with which it was made
}

// findingKey tells repeats from news.
type findingKey struct {
	rule  string
	node  kraft.NodeID
	epoch kraft.Epoch
	about string
}

// maxFindings bounds the findings that are kept; more are counted.
const maxFindings = 1000

// findingList folds repeats.
type findingList struct {
	all     []Finding
	byKey   map[findingKey]int
	dropped uint64
}

func (l *findingList) add(f Finding) (news bool) {
	if i, ok := l.byKey[f.key]; ok {
		l.all[i].Count++
		l.all[i].Last = f.Last
		return false
	}
	if len(l.all) >= maxFindings {
		l.dropped++
		return false
	}
	if l.byKey == nil {
		l.byKey = map[findingKey]int{}
	}
	l.byKey[f.key] = len(l.all)
	l.all = append(l.all, f)
	return true
}

// list returns the findings, oldest first.
func (l *findingList) list() []Finding {
	out := append([]Finding{}, l.all...) // never nil: an empty list is [] in JSON
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(a.at(), b.at()) })
	return out
}

// at is when the finding was made.
func (f *Finding) at() int64 {
	if n := len(f.Proof); n > 0 {
		return f.Proof[n-1].At
	}
	return f.Last
}

// found makes a finding. about tells findings of one rule, node and epoch apart. The last frame of the proof is the one that
// completes it.
func (c *Checker) found(r *Rule, n kraft.NodeID, e kraft.Epoch, about, text string, proof ...Evidence) Finding {
	f := Finding{
		Rule: r.ID, Name: r.Name, Node: n, Epoch: e, Text: text, Proof: proof, Count: 1,
		key: findingKey{r.ID, n, e, about}, across: r.across,
	}
	f.Last = f.at()
	return f
}

// report files a finding: the node diverges.
func (c *Checker) report(f Finding) {
	if c.scouting {
		return
	}
	if f.across && c.tampered {
		c.note(f.Rule + " " + f.Name + " is not held against node " + nodeName(f.Node) + ", since frames were altered in flight: " + f.Text)
		return
	}
	if n := c.nodes[f.Node]; n != nil {
		i := n.interval(f.Last)
		if i.Verdict == Inconclusive {
			i = n.begin(f.Last, Diverges, "")
		}
		i.Verdict, i.To, i.Reason = Diverges, max(i.To, f.Last), f.Rule+" "+f.Name
	}
	f.order = c.order
	if c.findings.add(f) {
		c.emit(Event{Kind: EventFinding, At: f.Last, Node: f.Node, Epoch: f.Epoch, Finding: &f})
	}
}
