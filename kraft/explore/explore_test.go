package explore

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

var rewrite = flag.Bool("rewrite", false, "write the goldens anew")

func model(t *testing.T, name string) *Model {
	t.Helper()
	m, err := ModelByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pinned are the sizes of the models. A change of the engine, of a rule or of a model shows here first: look at what it was, then pin
// the new figures.
var pinned = map[string]struct{ states, transitions, depth int }{
	"replication":   {1537862, 6340093, 38},
	"pre-vote":      {1787083, 9820068, 28},
	"restart":       {736751, 2925229, 29},
	"two-voters":    {273961, 1154728, 29},
	"wiped-disk":    {708417, 2845438, 39},
	"add-voter":     {143275, 618592, 28},
	"remove-leader": {174315, 751322, 30},
	"snapshot":      {174596, 486234, 25},
	"resignation":   {170545, 746184, 25},
	"discovery":     {30288, 109090, 24},
}

// small are the models that a run beside all other tests, with the race detector, has the time for. make test-explore runs all.
const small = 50_000

func TestModels_HoldEverywhere(t *testing.T) {
	seen := map[string]int{}
	total := 0
	for _, m := range Models() {
		want, ok := pinned[m.Name]
		if !ok {
			t.Errorf("model %s has no pinned size", m.Name)
		}
		if testing.Short() && want.states > small {
			continue
		}
		r, err := Explore(m, Options{Limit: 20_000_000})
		if err != nil {
			t.Fatalf("model %s: %v", m.Name, err)
		}
		if r.Violation != nil {
			t.Fatalf("model %s: %v\n%s", m.Name, r.Violation, r.CounterExample)
		}
		t.Logf("%-14s %8d states, %9d transitions, depth %d, %6d states of nodes, %4d messages, %6d steps of the engine", m.Name,
			r.States, r.Transitions, r.Depth, r.Locals, r.Packets, r.Steps)
		if r.States != want.states || r.Transitions != want.transitions || r.Depth != want.depth {
			t.Errorf("model %s: the size has changed: {%d, %d, %d} where {%d, %d, %d} is pinned. If a rule was meant to change, pin it anew",
				m.Name, r.States, r.Transitions, r.Depth, want.states, want.transitions, want.depth)
		}
		for _, action := range m.Sometimes {
			if r.Actions[action] == 0 {
				t.Errorf("model %s never gets to %s, which it is there for", m.Name, action)
			}
		}
		total += r.States
		for action, n := range r.Actions {
			seen[action] += n
		}
		for in, n := range r.Inputs {
			seen["input "+in] += n
		}
	}
	t.Logf("%d states", total)
	if testing.Short() {
		return
	}
	if total < 2_000_000 {
		t.Errorf("%d states, want at least 2,000,000", total)
	}
	for _, action := range kinds(t) {
		if seen[action] == 0 && !slices.Contains(unexplored, action) {
			t.Errorf("no model ever gets to %s", action)
		}
		if seen[action] > 0 && slices.Contains(unexplored, action) {
			t.Errorf("%s is explored after all", action)
		}
	}
	for _, in := range inputNames {
		if in != inputNames[forget] && seen["input "+in] == 0 {
			t.Errorf("no model ever takes the step %s", in)
		}
	}
}

// unexplored are the actions that no model leads to: they change nothing that others could see.
var unexplored = []string{"ReplyDescribeQuorum", "ShutdownDone", "Refused"}

// kinds are the actions of the engine, read from its source.
func kinds(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, file := range []string{"action.go", "action_send.go", "action_reply.go"} {
		source, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(source)) {
			if method, ok := strings.CutPrefix(line, "func (*"); ok && strings.Contains(method, ") action()") {
				kind, _, _ := strings.Cut(method, ")")
				list = append(list, kind)
			}
		}
	}
	if len(list) < 40 {
		t.Fatalf("only %d actions in the source: %v", len(list), list)
	}
	return list
}

// tiny are models in which every state can be looked at, symmetric or not.
func tiny(t *testing.T) []*Model {
	t.Helper()
	if testing.Short() {
		return []*Model{{Name: "three that crash", Nodes: 3, Voters: 3, Epochs: 1, Interrupt: true, Budget: Budget{Timeouts: 1, Crashes: 1}}}
	}
	return []*Model{
		{Name: "three", Nodes: 3, Voters: 3, Epochs: 1, Budget: Budget{Timeouts: 2}},
		{Name: "three with retries", Nodes: 3, Voters: 3, Epochs: 1, Budget: Budget{Timeouts: 1, Losses: 1, Retries: 1, Appends: 1}},
		{Name: "three that crash", Nodes: 3, Voters: 3, Epochs: 1, Interrupt: true, Budget: Budget{Timeouts: 1, Crashes: 1}},
		model(t, "discovery"),
	}
}

// If renaming nodes changes nothing, then each state that is kept stands for as many as it has different images, and together they are
// all the states that there are. A rule of the engine that looked at the order of ids would break the balance.
func TestSymmetry_StatesStandForTheirImages(t *testing.T) {
	for _, m := range tiny(t) {
		x, err := newExplorer(m, true)
		if err != nil {
			t.Fatal(err)
		}
		x.countImages = true
		merged, err := x.search(Options{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := Explore(m, Options{Asymmetric: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d states stand for %d", m.Name, merged.States, all.States)
		if merged.Images != all.States || merged.States >= all.States {
			t.Errorf("%s: %d states have %d images, but there are %d states", m.Name, merged.States, merged.Images, all.States)
		}
	}
}

// Packets that have lost their effect may be taken off the network: each node gets to the same states as with them.
func TestSpentPackets_AreMissedByNobody(t *testing.T) {
	for _, m := range tiny(t) {
		x, err := newExplorer(m, true)
		if err != nil {
			t.Fatal(err)
		}
		x.keepSpent = true
		with, err := x.search(Options{})
		if err != nil {
			t.Fatal(err)
		}
		without, err := Explore(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d states instead of %d", m.Name, without.States, with.States)
		if with.Locals != without.Locals || without.States >= with.States {
			t.Errorf("%s: %d states of nodes in %d states, with spent packets %d in %d", m.Name, without.Locals, without.States, with.Locals,
				with.States)
		}
	}
}

func TestExplore_LimitIsAnError(t *testing.T) {
	r, err := Explore(model(t, "replication"), Options{Limit: 1000})
	if !errors.Is(err, ErrLimit) || r.States < 1000 {
		t.Errorf("%v, %v", r, err)
	}
}

func TestModel_ThatCannotBeExplored(t *testing.T) {
	for name, m := range map[string]*Model{
		"too many nodes":        {Nodes: 9, Voters: 3, Epochs: 1},
		"no voter":              {Nodes: 3, Epochs: 1},
		"too many epochs":       {Nodes: 3, Voters: 3, Epochs: 90},
		"too large a budget":    {Nodes: 3, Voters: 3, Epochs: 1, Budget: Budget{Losses: 16}},
		"a wiped static voter":  {Nodes: 3, Voters: 3, Epochs: 1, Budget: Budget{Wipes: 1}},
		"an unknown release":    {Nodes: 3, Voters: 3, Epochs: 1, Release: "9.9"},
		"more voters than node": {Nodes: 1, Voters: 3, Epochs: 1},
	} {
		if _, err := Explore(m, Options{}); err == nil {
			t.Errorf("%s: explored", name)
		}
	}
	if _, err := ModelByName("nobody"); err == nil {
		t.Error("a model that does not exist is found")
	}
}

func TestModels_AreNamedAndExplained(t *testing.T) {
	names := map[string]bool{}
	for _, m := range Models() {
		if m.Name == "" || m.About == "" || names[m.Name] {
			t.Errorf("model %q: %q", m.Name, m.About)
		}
		names[m.Name] = true
	}
	for name := range maps.Keys(pinned) {
		if !names[name] {
			t.Errorf("a size is pinned for %s, which does not exist", name)
		}
	}
}

func TestPermutations_AreThoseOfTheFreeVoters(t *testing.T) {
	for _, c := range []struct {
		m    Model
		want int
	}{
		{Model{Nodes: 3, Voters: 3}, 6},
		{Model{Nodes: 4, Voters: 4}, 24},
		{Model{Nodes: 3, Voters: 2}, 2},
		{Model{Nodes: 3, Voters: 3, Remove: 1}, 2},
		{Model{Nodes: 1, Voters: 1}, 1},
	} {
		got := c.m.permutations(true)
		seen := map[[maxNodes]uint8]bool{}
		for _, p := range got {
			seen[p] = true
		}
		if len(got) != c.want || len(seen) != c.want || got[0] != [maxNodes]uint8{0, 1, 2, 3} {
			t.Errorf("%+v: %v, want %d", c.m, got, c.want)
		}
	}
}

func TestRequestID_SaysWhoWaits(t *testing.T) {
	for sender := range 16 {
		for slot := range slots {
			for _, live := range []bool{true, false} {
				if a, b, c := splitRequest(requestID(sender, slot, live)); a != sender || b != slot || c != live {
					t.Errorf("%d %d %t: %d %d %t", sender, slot, live, a, b, c)
				}
			}
		}
	}
	for _, record := range []kraft.NodeID{1, 2, 4, -2, -3, -5} {
		if got := recordOf(slotOf(record)); got != record {
			t.Errorf("record %v becomes %v", record, got)
		}
	}
}
