package interact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// world is a quorum whose clock and network the script holds. Messages wait in net until they are delivered.
type world struct {
	profile   compat.Profile
	newPlayer NewPlayer
	now       kraft.Instant
	nodes     map[kraft.NodeID]*node
	net       []*Packet
	cut       map[[2]kraft.NodeID]bool
	held      []held
	quorum    quorum
	more      bool // messages with all their words
	draws     bool // random draws are told
	quiet     bool
	out       []string
}

// held are messages that stay on their way.
type held struct {
	from, to kraft.NodeID
	api      string
}

func (w *world) holds(p *Packet) bool {
	return slices.ContainsFunc(w.held, func(h held) bool { return h.from == p.From && h.to == p.To && h.api == p.API.String() })
}

// node is one node of the world.
type node struct {
	setup    Setup
	player   Player
	fatal    string
	finished bool
	last     View
	wait     int64
}

// begins is the time of a new world.
const begins kraft.Instant = 1000

func newWorld(p compat.Profile, f NewPlayer) *world {
	return &world{profile: p, newPlayer: f, now: begins, nodes: map[kraft.NodeID]*node{}, cut: map[[2]kraft.NodeID]bool{}}
}

func (n *node) alive() bool { return n != nil && n.player != nil && n.fatal == "" && !n.finished }

func (n *node) view() View {
	if n == nil || n.player == nil {
		return View{Role: "none", Leader: kraft.NoNode, Voted: kraft.NoNode}
	}
	return n.last
}

func (w *world) say(format string, args ...any) {
	if !w.quiet {
		w.out = append(w.out, fmt.Sprintf(format, args...))
	}
}

// ids are the nodes in order.
func (w *world) ids() []kraft.NodeID {
	var list []kraft.NodeID
	for id := range w.nodes {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// act lets a node do a step, tells about it, and takes what it sends into the network. It reports whether anything happened. The title
// is told first; one that begins with "?" only if something happens.
func (w *world) act(id kraft.NodeID, s Step, title string) (bool, error) {
	n := w.nodes[id]
	s.Now = w.now
	before := n.last
	result, err := n.player.Do(s)
	if err != nil {
		return false, fmt.Errorf("%s: %w", Node(id), err)
	}
	if s.Turns > 0 {
		n.wait = result.Wait
	}
	var lines []string
	answered := false
	for _, e := range result.Effects {
		switch p := e.Packet; {
		case p == nil:
			if w.draws || !strings.HasPrefix(e.Text, "draws ") {
				lines = append(lines, e.Text)
			}
		case p.Answer:
			answered = answered || p.Request == s.Packet
			lines = append(lines, w.answer(p))
		default:
			lines = append(lines, w.sent(p))
		}
	}
	n.finished = n.finished || result.Finished
	if result.Fatal != "" {
		n.fatal = result.Fatal
		lines = append(lines, "ENDS: {"+result.Fatal+"}")
	} else {
		n.last = n.player.View()
		lines = append(lines, changes(&before, &n.last)...)
	}
	if s.Kind == RequestStep && s.Packet.API == kraft.FetchAPI && !answered && n.alive() && s.Turns > 0 {
		lines = append(lines, "parks the Fetch")
	}
	w.tell(title, lines)
	return len(result.Effects) > 0 || len(lines) > 0, nil
}

func (w *world) tell(title string, lines []string) {
	conditional := strings.HasPrefix(title, "?")
	title = strings.TrimPrefix(title, "?")
	if title != "" && (!conditional || len(lines) > 0) {
		w.say("%s", title)
	}
	for _, l := range lines {
		w.say("  %s", l)
	}
}

// sent puts a request into the network.
func (w *world) sent(p *Packet) string {
	w.net = append(w.net, p)
	to := Node(p.To)
	if p.Record < 0 {
		to = "bootstrap server " + to
	}
	return "sends " + to + " " + w.words(p)
}

func (w *world) words(p *Packet) string {
	if p.Text == "" {
		p.Text = Words(p, w.more)
	}
	return p.Text
}

// answer puts an answer into the network, unless a client asked.
func (w *world) answer(p *Packet) string {
	if p.To < 0 {
		return "answers " + w.words(p)
	}
	w.net = append(w.net, p)
	return "answers " + Node(p.To) + " " + w.words(p)
}

// changes tells what has become of a node.
func changes(before, after *View) []string {
	var lines []string
	if before.Role != after.Role || before.Epoch != after.Epoch || before.Leader != after.Leader {
		lines = append(lines, "is "+role(after))
	}
	switch {
	case after.Fetching != "" && before.Fetching != after.Fetching:
		lines = append(lines, "fetches snapshot "+after.Fetching)
	case after.Fetching == "" && before.Fetching != "":
		lines = append(lines, "fetches the snapshot no more")
	}
	return lines
}

func role(v *View) string {
	text := fmt.Sprintf("%s in epoch %d", v.Role, v.Epoch)
	switch {
	case v.Role == "Follower":
		text = fmt.Sprintf("Follower of %s in epoch %d", Node(v.Leader), v.Epoch)
	case v.Leader >= 0 && v.Role != "Leader" && v.Role != "Resigned":
		text += ", knows leader " + Node(v.Leader)
	}
	return text
}

// step acts, and gives the node turns until nothing happens in one.
func (w *world) step(id kraft.NodeID, s Step, title string) error {
	s.Turns = 1
	for range 12 {
		had := len(w.out)
		did, err := w.act(id, s, title)
		if err != nil || !did && s.Kind == TurnStep || !w.nodes[id].alive() {
			return err
		}
		if len(w.out) > had {
			title = ""
		}
		s = Step{Turns: 1, Expire: s.Expire && s.Kind == TurnStep}
	}
	return nil
}

// single acts in one turn.
func (w *world) single(id kraft.NodeID, s Step, title string) error {
	s.Turns = 1
	_, err := w.act(id, s, title)
	return err
}

// poll lets the time that has passed count.
func (w *world) poll(id kraft.NodeID) error {
	if !w.nodes[id].alive() {
		return nil
	}
	return w.step(id, Step{Expire: true}, fmt.Sprintf("?%s at %d ms", Node(id), w.now))
}

// deliver hands a message over. A request that cannot reach its node, or that could not be encoded, fails at its sender.
func (w *world) deliver(p *Packet, once bool) error {
	run := w.step
	if once {
		run = w.single
	}
	name := named(p)
	if p.Answer {
		if !w.nodes[p.To].alive() || w.cut[[2]kraft.NodeID{p.From, p.To}] {
			w.say("%s never gets the %s answer of %s", Node(p.To), name, Node(p.From))
			return nil
		}
		return run(p.To, Step{Kind: ResponseStep, Packet: p}, fmt.Sprintf("%s gets the %s answer of %s", Node(p.To), name, Node(p.From)))
	}
	to := w.nodes[p.To]
	switch {
	case p.Content == nil:
		return w.fail(p, kraft.UnsupportedVersion, run)
	case !to.alive() || w.cut[[2]kraft.NodeID{p.From, p.To}]:
		return w.fail(p, kraft.BrokerNotAvailable, run)
	case p.API == kraft.APIVersionsAPI: // answered by the server above raft
		answer, err := w.craftAnswer(p, []string{fmt.Sprintf("max=%d", to.setup.MaxKRaft)})
		if err != nil {
			return err
		}
		return run(p.From, Step{Kind: ResponseStep, Packet: answer}, fmt.Sprintf("%s learns from %s %s", Node(p.From), Node(p.To), Words(answer, false)))
	}
	return run(p.To, Step{Kind: RequestStep, Packet: p}, fmt.Sprintf("%s gets the %s of %s", Node(p.To), name, Node(p.From)))
}

func (w *world) fail(p *Packet, code kraft.ErrorCode, run func(kraft.NodeID, Step, string) error) error {
	if !w.nodes[p.From].alive() {
		return nil
	}
	return run(p.From, Step{Kind: ResponseStep, Packet: p, Failure: code}, fmt.Sprintf("%s: the %s to %s fails with %v", Node(p.From), named(p), Node(p.To), code))
}

// named is the api of a message, as its sender sees it.
func named(p *Packet) string {
	q := p
	if p.Answer && p.Request != nil {
		q = p.Request
	}
	if v, ok := q.Content.(*kraft.ReceiveVoteRequest); ok && v.PreVote {
		return "PreVote"
	}
	return p.API.String()
}

// between takes the messages from one node to another out of the network. NoNode stands for any.
func (w *world) between(from, to kraft.NodeID, api string) []*Packet {
	var taken, rest []*Packet
	for _, p := range w.net {
		match := (from < 0 || p.From == from) && (to < 0 || p.To == to) && (api == "" && !w.holds(p) || api == named(p) || api == p.API.String())
		if match {
			taken = append(taken, p)
		} else {
			rest = append(rest, p)
		}
	}
	w.net = rest
	return taken
}

// pump delivers until the network is empty, at most as many messages as the limit says.
func (w *world) pump(limit int) error {
	for ; limit > 0; limit-- {
		i := slices.IndexFunc(w.net, func(p *Packet) bool { return !w.holds(p) })
		if i < 0 {
			return nil
		}
		p := w.net[i]
		w.net = slices.Delete(slices.Clone(w.net), i, i+1)
		if err := w.deliver(p, false); err != nil {
			return err
		}
	}
	return nil
}

// run lets time pass, and the network work, in steps of at most 100 ms.
func (w *world) run(ms int64) error {
	for ms > 0 {
		part := min(ms, 100)
		ms -= part
		w.now += kraft.Instant(part)
		for _, id := range w.ids() {
			if err := w.poll(id); err != nil {
				return err
			}
		}
		if err := w.pump(40); err != nil {
			return err
		}
	}
	return nil
}

// elect lets time pass until the node leads and has a high watermark.
func (w *world) elect(id kraft.NodeID) error {
	for range 100 {
		if v := w.nodes[id].view(); v.Role == "Leader" && v.HighWatermark >= 0 {
			return nil
		}
		if err := w.run(100); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s does not lead after 10 s", Node(id))
}
