package sim

import (
	"bytes"
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html"

	"github.com/understudy-kafka/understudy/kraft"
)

// Film is a run step by step, to be looked at: what happened, and what each node was at that moment.
type Film struct {
	Title    string   `json:"title"`
	Explains string   `json:"explains"`
	Nodes    int      `json:"nodes"`
	Names    []string `json:"names"`
	Steps    []Step   `json:"steps"`
	Verdict  string   `json:"verdict"`
	Broken   bool     `json:"broken"`
}

// Step is one thing that happened.
type Step struct {
	At     float64 `json:"at"` // milliseconds
	Node   int     `json:"node"`
	From   int     `json:"from,omitempty"` // of a message
	Sent   float64 `json:"sent,omitempty"`
	Kind   string  `json:"kind"` // message, lost, say, event
	Text   string  `json:"text"`
	Quiet  bool    `json:"quiet,omitempty"`
	States []State `json:"states"`
}

// State is what a node is.
type State struct {
	Role  string       `json:"role"` // Down if it does not run
	Epoch kraft.Epoch  `json:"epoch"`
	End   kraft.Offset `json:"end"`
	HW    kraft.Offset `json:"hw"`
}

// mostSteps bounds a page: beyond it the quiet messages are left out, then everything.
const mostSteps = 5000

func (f *Film) add(w *World, x Note) {
	if len(f.Steps) >= mostSteps || x.Quiet && len(f.Steps) >= mostSteps/2 {
		return
	}
	s := Step{At: float64(x.At) / 1000, Node: int(x.Node), From: int(x.From), Sent: float64(x.Sent) / 1000, Text: x.Text, Quiet: x.Quiet}
	switch x.Kind {
	case noteArrived:
		s.Kind = "message"
	case noteLost:
		s.Kind = "lost"
	case noteSay:
		s.Kind = "say"
	default:
		s.Kind = "event"
	}
	for _, n := range w.nodes[:w.opt.nodes()] {
		s.States = append(s.States, n.state())
	}
	f.Steps = append(f.Steps, s)
}

func (n *node) state() State {
	s := State{Role: "Down", Epoch: n.stored.Epoch}
	if n.log != nil {
		s.End, s.HW = n.log.End, n.log.HighWatermark
	}
	if n.up() {
		s.Role, s.Epoch = n.machine.Role().Kind().String(), n.machine.QuorumState().Epoch
	}
	return s
}

func (f *Film) conclude(w *World, r Result) {
	f.Nodes, f.Verdict = w.opt.nodes(), "no invariant is broken"
	if r.Violation != nil {
		f.Verdict, f.Broken = r.Violation.Error(), true
	}
	for i := range f.Nodes {
		kind := "voter"
		switch {
		case i >= w.opt.Voters+w.opt.Spares:
			kind = "observer"
		case i >= w.opt.Voters:
			kind = "controller"
		}
		f.Names = append(f.Names, fmt.Sprintf("%d %s %s", i+1, kind, w.opt.Profiles[i].Build))
	}
}

// Film plays the scenario.
func (s Scenario) Film() *Film {
	f, w := &Film{Title: s.Name + ": " + s.Title, Explains: s.Explains}, New()
	f.conclude(w, w.Play(s, func(x Note) { f.add(w, x) }))
	return f
}

// Watch plays options and passes on what happens.
func (w *World) Watch(o Options, notes func(Note)) Result {
	w.notes, w.told = notes, [maxNodes][maxNodes]string{}
	defer func() { w.notes = nil }()
	return w.Run(o)
}

// Film plays options.
func (w *World) Film(o Options) *Film {
	f := &Film{Title: fmt.Sprintf("seed %d", o.Seed), Explains: o.String()}
	f.conclude(w, w.Watch(o, func(x Note) { f.add(w, x) }))
	return f
}

//go:embed page.html
var page []byte

// Page is the film as one file of HTML that needs nothing else.
func (f *Film) Page() ([]byte, error) {
	data, err := json.Marshal(f) // json.Marshal writes < and > as escapes, so that nothing in it ends the script
	if err != nil {
		return nil, fmt.Errorf("page of %s: %w", f.Title, err)
	}
	out := bytes.Replace(page, []byte("{{title}}"), []byte(html.EscapeString(f.Title)), 1)
	return bytes.Replace(out, []byte("{{film}}"), data, 1), nil
}
