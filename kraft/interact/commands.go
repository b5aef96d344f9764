package interact

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// command carries out one line of a script.
func (w *world) command(line string) error {
	args := strings.Fields(line)
	if len(args) == 0 {
		return nil
	}
	if args[0] == "quietly" {
		w.quiet = true
		defer func() { w.quiet = false }()
		args = args[1:]
	}
	if run, ok := map[string]func([]string) error{
		"quorum": w.cmdQuorum, "start": w.cmdStart, "set": w.cmdSet, "advance": w.cmdAdvance, "turn": w.cmdTurn, "run": w.cmdRun, "pump": w.cmdPump,
		"elect": w.cmdElect, "deliver": w.cmdDeliver, "drop": w.cmdDrop, "fail": w.cmdFail, "cut": w.cmdCut, "heal": w.cmdHeal, "hold": w.cmdHold,
		"request": w.cmdRequest, "respond": w.cmdRespond, "show": w.cmdShow, "net": w.cmdNet, "draw": w.cmdDraw,
	}[args[0]]; ok {
		return run(args[1:])
	}
	return w.nodeCommand(args)
}

func (w *world) cmdQuorum(args []string) error {
	*w = world{
		profile: w.profile, newPlayer: w.newPlayer, now: begins, nodes: map[kraft.NodeID]*node{}, cut: map[[2]kraft.NodeID]bool{},
		quorum: quorum{kraft: 1, listeners: 1}, out: w.out, quiet: w.quiet,
	}
	for _, a := range args {
		switch {
		case a == "static":
			w.quorum.kraft = 0
		case a == "listeners=2":
			w.quorum.listeners = 2
		case strings.Contains(a, "="):
			w.quorum.options = append(w.quorum.options, a)
		default:
			id, err := parseNode(a)
			if err != nil {
				return err
			}
			w.quorum.voters = append(w.quorum.voters, id)
		}
	}
	return nil
}

// nodesOf splits arguments into the nodes in front and the rest. "all" stands for all.
func (w *world) nodesOf(args []string) ([]kraft.NodeID, []string) {
	if len(args) > 0 && args[0] == "all" {
		return w.ids(), args[1:]
	}
	var list []kraft.NodeID
	for i, a := range args {
		id, err := parseNode(a)
		if err != nil {
			return list, args[i:]
		}
		list = append(list, id)
	}
	return list, nil
}

func (w *world) cmdStart(args []string) error {
	ids, options := w.nodesOf(args)
	for _, id := range ids {
		s, err := w.quorum.setup(id, options)
		if err != nil {
			return err
		}
		p, err := w.newPlayer(w.profile, s)
		if err != nil {
			return err
		}
		w.nodes[id] = &node{setup: s, player: p, last: View{Role: "none", Leader: kraft.NoNode}}
		if _, err := w.act(id, Step{Kind: StartStep, Turns: 0}, Node(id)+" starts"); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) cmdSet(args []string) error {
	for _, a := range args {
		switch a {
		case "more":
			w.more = true
		case "less":
			w.more = false
		case "draws":
			w.draws = true
		default:
			return fmt.Errorf("set %s: unknown", a)
		}
	}
	return nil
}

func (w *world) cmdAdvance(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("advance by how many ms?")
	}
	ms, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	w.now += kraft.Instant(ms)
	ids, _ := w.nodesOf(args[1:])
	for _, id := range ids {
		if err := w.poll(id); err != nil {
			return err
		}
	}
	return nil
}

// cmdTurn gives single turns.
func (w *world) cmdTurn(args []string) error {
	ids, _ := w.nodesOf(args)
	for _, id := range ids {
		if _, err := w.act(id, Step{Turns: 1}, fmt.Sprintf("?%s at %d ms", Node(id), w.now)); err != nil {
			return err
		}
	}
	return nil
}

func number(args []string, otherwise int64) (int64, error) {
	if len(args) == 0 {
		return otherwise, nil
	}
	return strconv.ParseInt(args[0], 10, 64)
}

func (w *world) cmdRun(args []string) error {
	ms, err := number(args, 100)
	if err != nil {
		return err
	}
	return w.run(ms)
}

func (w *world) cmdPump(args []string) error {
	limit, err := number(args, 100)
	if err != nil {
		return err
	}
	return w.pump(int(limit))
}

func (w *world) cmdElect(args []string) error {
	ids, _ := w.nodesOf(args)
	if len(ids) != 1 {
		return fmt.Errorf("elect whom?")
	}
	was := w.quiet
	w.quiet = true
	if w.now == begins { // nobody runs for office before the election timeout is over
		w.now += 1000
	}
	err := w.elect(ids[0])
	if err == nil { // until everybody knows
		err = w.run(500)
	}
	w.quiet = was
	for _, id := range w.ids() {
		if n := w.nodes[id]; n.alive() {
			w.say("%s is %s, log end %d, high watermark %d", Node(id), role(&n.last), n.last.End, n.last.HighWatermark)
		}
	}
	return err
}

// pair reads "n1 n2 [API]"; "*" stands for any node, no node for any pair.
func pair(args []string) (from, to kraft.NodeID, api string, rest []string) {
	from, to = kraft.NoNode, kraft.NoNode
	for i, a := range args {
		if a == "*" && i < 2 {
			continue
		}
		id, e := parseNode(a)
		if e != nil || i >= 2 {
			rest = args[i:]
			break
		}
		if i == 0 {
			from = id
		} else {
			to = id
		}
	}
	if len(rest) > 0 && rest[0] != "once" && rest[0] != "first" && !strings.Contains(rest[0], "=") {
		api, rest = rest[0], rest[1:]
	}
	return from, to, api, rest
}

func (w *world) cmdDeliver(args []string) error {
	from, to, api, rest := pair(args)
	once := len(rest) > 0 && rest[0] == "once"
	list := w.between(from, to, api)
	if len(list) == 0 {
		w.say("there is nothing to deliver")
	}
	for _, p := range list {
		if err := w.deliver(p, once); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) cmdDrop(args []string) error {
	from, to, api, _ := pair(args)
	for _, p := range w.between(from, to, api) {
		what := named(p)
		if p.Answer {
			what += " answer"
		}
		w.say("the %s of %s to %s is lost", what, Node(p.From), Node(p.To))
	}
	return nil
}

func (w *world) cmdFail(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("fail from, to, how?")
	}
	codes := map[string]kraft.ErrorCode{"disconnect": kraft.BrokerNotAvailable, "auth": kraft.NetworkException, "unsupported": kraft.UnsupportedVersion}
	code, ok := codes[args[len(args)-1]]
	if !ok {
		return fmt.Errorf("%s is no way to fail", args[len(args)-1])
	}
	from, to, api, _ := pair(args[:len(args)-1])
	for _, p := range w.between(from, to, api) {
		if p.Answer {
			w.net = append(w.net, p)
			continue
		}
		if err := w.fail(p, code, w.step); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) cmdCut(args []string) error {
	ids, _ := w.nodesOf(args)
	switch len(ids) {
	case 1:
		for _, other := range w.ids() {
			if other != ids[0] {
				w.cut[[2]kraft.NodeID{ids[0], other}], w.cut[[2]kraft.NodeID{other, ids[0]}] = true, true
			}
		}
	case 2:
		w.cut[[2]kraft.NodeID{ids[0], ids[1]}], w.cut[[2]kraft.NodeID{ids[1], ids[0]}] = true, true
	default:
		return fmt.Errorf("cut which one, or which two?")
	}
	return nil
}

// cmdHold keeps messages from one node to another on their way until they are named: deliver n1 n2 API.
func (w *world) cmdHold(args []string) error {
	from, to, api, _ := pair(args)
	if api == "" {
		return fmt.Errorf("hold which api?")
	}
	w.held = append(w.held, held{from, to, api})
	return nil
}

func (w *world) cmdHeal([]string) error {
	w.cut = map[[2]kraft.NodeID]bool{}
	return nil
}

func (w *world) cmdRequest(args []string) error {
	ids, rest := w.nodesOf(args)
	if len(ids) != 1 || len(rest) == 0 {
		return fmt.Errorf("request of which node, which api?")
	}
	api, ok := apiOf(rest[0])
	if !ok {
		return fmt.Errorf("%s is no api", rest[0])
	}
	if !w.nodes[ids[0]].alive() {
		return fmt.Errorf("%s does not run", Node(ids[0]))
	}
	p, err := w.craftRequest(ids[0], api, rest[1:])
	if err != nil {
		return err
	}
	return w.step(ids[0], Step{Kind: RequestStep, Packet: p}, "?"+Node(ids[0]))
}

// cmdRespond answers the last request, or the first, in the place of the node that was asked.
func (w *world) cmdRespond(args []string) error {
	from, to, api, rest := pair(args)
	list := w.between(from, to, api)
	which, once := len(list)-1, false
	for len(rest) > 0 && (rest[0] == "once" || rest[0] == "first") {
		if once = once || rest[0] == "once"; rest[0] == "first" {
			which = 0
		}
		rest = rest[1:]
	}
	if len(list) == 0 || list[which].Answer {
		return fmt.Errorf("%s has not asked %s", Node(from), Node(to))
	}
	asked := list[which]
	w.net = append(w.net, slices.Delete(list, which, which+1)...)
	answer, err := w.craftAnswer(asked, rest)
	if err != nil {
		return err
	}
	run := w.step
	if once {
		run = w.single
	}
	return run(from, Step{Kind: ResponseStep, Packet: answer}, fmt.Sprintf("%s gets from %s %s", Node(from), Node(to), Words(answer, w.more)))
}

func (w *world) cmdNet([]string) error {
	for _, p := range w.net {
		w.say("%s to %s: %s", Node(p.From), Node(p.To), w.words(p))
	}
	if len(w.net) == 0 {
		w.say("nothing is on its way")
	}
	return nil
}
