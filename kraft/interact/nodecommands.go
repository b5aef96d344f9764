package interact

import (
	"fmt"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// nodeCommand carries out what concerns one node alone: "append n1 3".
func (w *world) nodeCommand(args []string) error {
	ids, rest := w.nodesOf(args[1:])
	if len(ids) != 1 || w.nodes[ids[0]] == nil {
		return fmt.Errorf("%q is no command, or names no node", strings.Join(args, " "))
	}
	id := ids[0]
	n := w.nodes[id]
	if !n.alive() && args[0] != "restart" {
		return fmt.Errorf("%s does not run", Node(id))
	}
	s := Step{Epoch: n.view().Epoch}
	var positional []string
	for len(rest) > 0 && !strings.Contains(rest[0], "=") && rest[0] != "hold" && rest[0] != "lose-unflushed" && rest[0] != "validate-only" {
		positional, rest = append(positional, rest[0]), rest[1:]
	}
	f := newFields(rest)
	s.Epoch = kraft.Epoch(f.number("epoch", int64(s.Epoch)))
	if err := w.fill(&s, args[0], positional, f); err != nil {
		return err
	}
	if err := f.unused(); err != nil {
		return err
	}
	if s.Kind == RestartStep {
		return w.restart(id, s)
	}
	return w.step(id, s, "?"+Node(id))
}

func (w *world) fill(s *Step, command string, positional []string, f *fields) error {
	need := map[string]int{"append": 1, "snapshot": 1, "clean": 1, "upgrade": 1}[command]
	if len(positional) != need {
		return fmt.Errorf("%s takes %d arguments", command, need)
	}
	v, err := int64(0), error(nil)
	if command == "append" || command == "upgrade" {
		v, err = number(positional, 0)
	}
	if command == "snapshot" || command == "clean" {
		s.ID, err = parsePosition(positional[0])
	}
	switch command {
	case "append":
		s.Kind, s.Records, s.Hold = AppendStep, int(v), f.flag("hold")
	case "schedule":
		s.Kind = ScheduleStep
	case "snapshot":
		s.Kind, s.Size, s.Records = SnapshotStep, f.number("size", 0), int(f.number("records", 1))
	case "clean":
		s.Kind = CleanStep
	case "resign":
		s.Kind = ResignStep
	case "shutdown":
		s.Kind, s.Ms = ShutdownStep, int32(f.number("ms", 5000))
	case "upgrade":
		s.Kind, s.Level, s.ValidateOnly = UpgradeStep, int16(v), f.flag("validate-only")
	case "restart":
		s.Kind, s.LoseUnflushed = RestartStep, f.flag("lose-unflushed")
	default:
		return fmt.Errorf("%s is no command", command)
	}
	return err
}

// restart begins a new process on what is on disk. Nothing that was asked before reaches it.
func (w *world) restart(id kraft.NodeID, s Step) error {
	n := w.nodes[id]
	n.fatal, n.finished = "", false
	n.last = View{Role: "none", Leader: kraft.NoNode}
	var rest []*Packet
	for _, p := range w.net {
		if p.Answer && p.To == id || p.From == id {
			continue
		}
		rest = append(rest, p)
	}
	w.net = rest
	_, err := w.act(id, s, Node(id)+" starts again")
	return err
}

// cmdDraw gives the values of random draws to come: draw n1 election=300,400 bootstrap=1 backoff=1.
func (w *world) cmdDraw(args []string) error {
	ids, rest := w.nodesOf(args)
	f := newFields(rest)
	s := Step{}
	for _, kind := range []struct {
		name string
		kind DrawKind
	}{{"election", ElectionDraw}, {"bootstrap", BootstrapDraw}, {"backoff", BackoffDraw}, {"jitter", JitterDraw}} {
		values, err := parseIDs(f.text(kind.name, ""))
		f.fail(kind.name, err)
		for _, v := range values {
			s.Draws = append(s.Draws, Draw{Kind: kind.kind, Value: int32(v), Retries: 1})
		}
	}
	if err := f.unused(); err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := w.act(id, s, ""); err != nil {
			return err
		}
	}
	return nil
}

// cmdShow tells what a node knows: show n1 timers voters ….
func (w *world) cmdShow(args []string) error {
	ids, rest := w.nodesOf(args)
	for _, id := range ids {
		n := w.nodes[id]
		if !n.alive() {
			w.say("%s does not run", Node(id))
			continue
		}
		v := &n.last
		w.say("%s is %s, log %d to %d, last epoch %d, high watermark %d", Node(id), role(v), v.Start, v.End, v.LastEpoch, v.HighWatermark)
		for _, what := range rest {
			if what == "wait" {
				w.say("  waits at most %d ms for a message", n.wait)
				continue
			}
			if err := w.show(v, what); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) show(v *View, what string) error {
	switch what {
	case "timers", "all-timers":
		var running []string
		for _, t := range v.Timers {
			if t.Name == "update-voter" && what == "timers" || t.At > 1<<60 {
				continue // 1<<60: an observer's election timer never runs out
			}
			running = append(running, fmt.Sprintf("%s in %d ms", t.Name, max(0, t.At-w.now)))
		}
		w.say("  timers: %s", list(running))
	case "tally":
		w.say("  tally: %s", strings.Join(v.Tally, ", "))
	case "stored":
		w.say("  quorum-state: %s", v.Stored)
	case "voters":
		w.say("  voters: %s; kraft.version %d", v.Voters, v.KRaftVersion)
	case "progress":
		for _, p := range v.Progress {
			w.say("  %s", p)
		}
	case "connections":
		w.say("  connections: %s", list(v.Connections))
	case "epochs":
		w.say("  epochs: %s", list(strings.Fields(strings.Trim(fmt.Sprint(v.Epochs), "[]"))))
	case "snapshots":
		w.say("  snapshots: %s", list(strings.Fields(strings.Trim(fmt.Sprint(v.Snapshots), "[]"))))
	case "parked":
		w.say("  parked: %d", v.Parked)
	case "successors":
		w.say("  successors: %s", list(v.Successors))
	case "endpoints":
		w.say("  knows %d listeners of its leader", v.Endpoints)
	default:
		return fmt.Errorf("show %s: unknown", what)
	}
	return nil
}

func list(all []string) string {
	if text := strings.Join(all, ", "); text != "" {
		return text
	}
	return "none"
}
