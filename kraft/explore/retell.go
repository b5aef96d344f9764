package explore

import (
	"fmt"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/interact"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// retell takes a way through the model once more, with a voice: as a conversation in the manner of the goldens of kraft/interact. The last
// step is the one that breaks the invariant.
func (x *explorer) retell(path []int, broken *safety.Violation) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# %s: %v", x.model.Name, broken)
	s, _, err := x.initial()
	if err != nil {
		return err.Error()
	}
	if x.model.Prelude {
		say("# %s was elected, and everything had settled.", interact.Node(nodeID(0)))
	}
	for i := 0; ; i++ {
		choice := -1 // the one that breaks
		if i < len(path) {
			choice = path[i]
		}
		at, done := 0, false
		var next state
		x.expand(&s, func(h happening, after *state, v *safety.Violation) bool {
			if done = at == choice || choice < 0 && v != nil; done {
				x.tellStep(&s, h, say)
				next.copyFrom(after)
			}
			at++
			return !done
		})
		s.copyFrom(&next)
		if choice < 0 || !done {
			break
		}
	}
	say("# %v", broken)
	return b.String()
}

// tellStep says what a step does.
func (x *explorer) tellStep(s *state, h happening, say func(string, ...any)) {
	var what string
	p := &x.packets[h.packet]
	node := interact.Node(nodeID(h.node))
	switch {
	case h.lost:
		say("> lose %s %s %v", interact.Node(nodeID(p.from)), interact.Node(nodeID(p.to)), x.words(p))
		return
	case h.in.kind == deliver:
		what = fmt.Sprintf("deliver %s %s %v", node, interact.Node(nodeID(p.from)), x.words(p))
		if h.copied {
			what = "duplicate, and " + what
		}
	case h.in.kind == disconnect:
		what = fmt.Sprintf("disconnect %s on the way of %v", node, x.words(p))
	case h.in.kind == fire:
		what = fmt.Sprintf("timeout %s %v", node, timersOf(h.in.arg, x.locals[s.nodes[h.node]].machine))
	case h.in.kind == addVoter:
		what = fmt.Sprintf("add %s at %s", interact.Node(x.model.Add), node)
	case h.in.kind == remove:
		what = fmt.Sprintf("remove %s at %s", interact.Node(x.model.Remove), node)
	default:
		what = inputNames[h.in.kind] + " " + node
	}
	if h.in.cut > 0 {
		what += fmt.Sprintf(", and crash before barrier %d", h.in.cut)
	}
	say("> %s", what)
	say("%s", node)
	l, _ := x.run(x.locals[s.nodes[h.node]], h.in, say)
	say("  is %v in epoch %d, log %d to %d", l.machine.Role().Kind(), l.machine.QuorumState().Epoch, l.log.Start, l.log.End)
}

func (x *explorer) words(p *packet) string {
	return interact.Words(&interact.Packet{
		From: nodeID(p.from), To: nodeID(p.to), API: p.api, Version: version, Answer: !p.request, Content: p.event,
	}, false)
}

func (r *runner) tellSend(p *packet) {
	if r.tell == nil {
		return
	}
	if p.request {
		r.say("sends %s %s", interact.Node(nodeID(p.to)), r.x.words(p))
		return
	}
	if p.to == client {
		r.say("answers a client")
		return
	}
	r.say("answers %s %s", interact.Node(nodeID(p.to)), r.x.words(p))
}

// explain says what an action did to the node.
func (r *runner) explain(action kraft.Action) {
	if r.tell == nil {
		return
	}
	switch a := action.(type) {
	case *kraft.PersistQuorumState:
		r.say("%s", interact.Persists(a.State.Epoch, a.State.Leader, a.State.Voted.ID))
	case *kraft.AppendLeaderChange:
		r.say("appends %s", interact.Batch(a.Batch))
	case *kraft.AppendControl:
		r.say("appends %s", interact.Batch(a.Batch))
	case *kraft.AppendRecords:
		r.say("appends %s", interact.Batch(a.Batch))
	case *kraft.AppendFetched:
		if response, ok := r.event.(*kraft.ReceiveFetchResponse); ok {
			for _, b := range response.Batches[:a.Take] {
				r.say("appends %s", interact.Batch(b))
			}
		}
	case *kraft.FlushLog:
		r.say("flushes up to %d", r.l.log.End)
	case *kraft.TruncateTo:
		r.say("truncates to %d", a.Offset)
	case *kraft.AssignEpoch:
		r.say("notes that epoch %d starts at %d", a.Epoch, a.Start)
	case *kraft.AdvanceHighWatermark:
		r.say("high watermark %d", a.Offset)
	case *kraft.InstallSnapshot:
		r.say("freezes snapshot %v, and begins the log anew there", a.ID)
	case *kraft.TransitionedTo:
		r.say("becomes %v of epoch %d", a.Role, a.Epoch)
	}
}
