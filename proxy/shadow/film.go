package shadow

import (
	"bytes"
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html"

	"github.com/understudy-kafka/understudy/kraft"
)

// Film is a report with the steps that lead to it, to be looked at: what happened, and what each node was at that moment.
//
//	film := shadow.NewFilm()
//	c := shadow.New(shadow.Options{Events: film.Event})
//	film.Watch(c)
//	…
//	page, err := film.Page(c.Finish())
type Film struct {
	Title   string     `json:"title"`
	Steps   []FilmStep `json:"steps"`
	Dropped int        `json:"dropped"`
	Report  *Report    `json:"report"`
	Stories []string   `json:"stories"` // of the findings, what must hold and what it resembles

	c *Checker
}

// FilmStep is one event and the nodes at that moment.
type FilmStep struct {
	At    int64        `json:"at"` // nanoseconds since the Unix epoch
	Kind  EventKind    `json:"kind"`
	Node  kraft.NodeID `json:"node"`
	Other kraft.NodeID `json:"other"` // whom it is about as well; -1: nobody
	Text  string       `json:"text"`
	Nodes []FilmNode   `json:"nodes"`
}

// FilmNode is what a node was.
type FilmNode struct {
	ID        kraft.NodeID `json:"id"`
	Role      Role         `json:"role"`
	Epoch     kraft.Epoch  `json:"epoch"`
	LogEnd    kraft.Offset `json:"logEnd"`
	Watermark kraft.Offset `json:"highWatermark"`
}

// filmSteps bounds a page.
const filmSteps = 3000

// NewFilm makes an empty film.
func NewFilm() *Film { return &Film{Title: "understudy check"} }

// Watch says whose events are filmed.
func (f *Film) Watch(c *Checker) { f.c = c }

// Event takes in an event.
func (f *Film) Event(e Event) {
	if e.Kind == EventState || e.Kind == EventVerdict || f.c == nil {
		return
	}
	if len(f.Steps) >= filmSteps && e.Kind != EventFinding {
		f.Dropped++
		return
	}
	step := FilmStep{At: e.At, Kind: e.Kind, Node: e.Node, Other: kraft.NoNode, Text: e.Text}
	if e.Kind == EventVote {
		step.Other = e.Candidate
	}
	for _, n := range f.c.nodeList {
		v := n.view
		if v.Role == "" {
			v.init()
		}
		if v.Role == RoleFollower && !f.c.quorum.isVoter(n.id) {
			v.Role = RoleObserver
		}
		step.Nodes = append(step.Nodes, FilmNode{n.id, v.Role, v.Epoch, v.LogEnd, v.Watermark})
	}
	f.Steps = append(f.Steps, step)
}

//go:embed page.html
var page []byte

// Page is the film with its report as one file of HTML that needs nothing else.
func (f *Film) Page(r *Report) ([]byte, error) {
	f.Report = r
	f.Stories = f.Stories[:0]
	for i := range r.Findings {
		var b bytes.Buffer
		writeWhy(&textWriter{out: &b}, "", &r.Findings[i], r.rule(r.Findings[i].Rule))
		f.Stories = append(f.Stories, b.String())
	}
	data, err := json.Marshal(f) // it writes < and > as escapes, so that nothing in it ends the script
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	out := bytes.Replace(page, []byte("{{title}}"), []byte(html.EscapeString(f.Title)), 1)
	return bytes.Replace(out, []byte("{{film}}"), data, 1), nil
}
