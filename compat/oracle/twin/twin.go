// Package twin runs the machine of package kraft in lock step with the real KafkaRaftClient: each command goes to a
// node of package oracle and, as events decoded from the same bytes, to a machine of ours. After each command all that is
// observable must be equal: every request and answer as bytes, the order of effects, the wait asked, and on request the
// whole state with timers as absolute deadlines.
//
// The machine is told only what nobody decides: the values of random draws and the bytes of snapshots that the state machine
// above made.
package twin

import (
	"fmt"
	"io"
	"slices"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
)

// Twin is an oracle.Stepper whose commands fail with a *Difference as soon as the two sides differ. It records the
// schedule, so that a failure can be replayed and shrunk.
type Twin struct {
	Oracle     oracle.Stepper
	Version    string // of Kafka
	Coverage   *Coverage
	StateEvery int64 // the whole state is compared after every n-th command; 0: only where the caller asks for it
	Steps      int64

	// SendsOurs says of which nodes the network gets our bytes; of the others it gets Kafka's. Nil: of none.
	SendsOurs func(node string) bool

	// Disk gives each node of ours a directory to keep its log in, on a file system that Crash cuts back to what is durable. Nil: in memory.
	Disk func() *Disk

	profile  compat.Profile
	nodes    map[string]*node
	schedule []oracle.Command
	shown    *shown
}

// New pairs an oracle with machines that have the rules of its release.
func New(o *oracle.Oracle) *Twin { return pair(o, o.Build.Version) }

func pair(o oracle.Stepper, version string) *Twin {
	return &Twin{
		Oracle: o, Version: version, profile: ProfileOf(version), nodes: map[string]*node{}, Coverage: NewCoverage(), StateEvery: 1,
		shown: &shown{},
	}
}

func (t *Twin) newLog() nodeLog {
	if t.Disk == nil {
		return newHostLog()
	}
	return newDiskLog(t.Disk())
}

// SetProfile gives the machines that are started from now on the rules of another release.
func (t *Twin) SetProfile(p compat.Profile) { t.profile = p }

// Profile is what the machines started from now on keep to.
func (t *Twin) Profile() compat.Profile { return t.profile }

// Schedule is every command since the last Reset.
func (t *Twin) Schedule() []oracle.Command { return t.schedule }

// Reset forgets all nodes and the schedule.
func (t *Twin) Reset() error {
	t.forget()
	_, err := t.Oracle.Do(oracle.Command{Cmd: "reset"})
	return err
}

func (t *Twin) forget() {
	for _, n := range t.nodes {
		n.log.close()
	}
	t.nodes, t.schedule = map[string]*node{}, nil
}

// Do carries out a command on both sides.
func (t *Twin) Do(c oracle.Command) (*oracle.Answer, error) {
	t.shown = &shown{}
	return t.do(c)
}

func (t *Twin) do(c oracle.Command) (*oracle.Answer, error) {
	t.Steps++
	t.schedule = append(t.schedule, c)
	ask := c
	compareState := c.State || t.StateEvery > 0 && t.Steps%t.StateEvery == 0
	ask.State = compareState
	a, err := t.Oracle.Do(ask)
	if err != nil {
		return nil, err
	}
	n := t.nodes[c.Node]
	if c.Cmd == "init" {
		n = newNode(t.profile, c, t.Coverage, t.newLog())
		t.nodes[c.Node] = n
		if err := t.seed(n, c); err != nil {
			return nil, err
		}
	}
	if n == nil {
		return a, nil
	}
	if a.Created {
		if n.made, err = t.snapshotBytes(c.Node, kraft.SnapshotID{Offset: kraft.Offset(c.Offset), Epoch: kraft.Epoch(c.Epoch)}); err != nil {
			return nil, err
		}
		if len(n.made) == 0 { // the same turn has installed a later one, and of this one only the size is known
			n.made = make([]byte, frozenSize(a, c.Offset, c.Epoch))
		}
	}
	o, panicked := t.step(n, c, a)
	if d := t.compare(n, c, a, o, panicked, compareState); d != nil {
		return a, d
	}
	if t.SendsOurs != nil && t.SendsOurs(c.Node) {
		takeBodies(a.Effects, o.effects)
	}
	if !n.dead && n.m != nil && a.State == nil {
		a.State = n.state(nil)
	}
	return a, nil
}

// frozenSize is the size in bytes of the snapshot that the client froze.
func frozenSize(a *oracle.Answer, offset int64, epoch int32) int64 {
	for i := range a.Effects {
		if e := &a.Effects[i]; e.Kind == "freeze" && e.Int(0) == offset && e.Int(1) == int64(epoch) {
			return e.Int(2)
		}
	}
	return 0
}

// takeBodies gives the network our requests and answers in place of Kafka's. Both have the same ones in the same order.
func takeBodies(kafka, ours []oracle.Effect) {
	i := 0
	for k := range kafka {
		if kafka[k].Kind != "send" && kafka[k].Kind != "reply" {
			continue
		}
		for i < len(ours) && ours[i].Kind != kafka[k].Kind {
			i++
		}
		if i == len(ours) {
			return
		}
		kafka[k].Args[len(kafka[k].Args)-1] = ours[i].Args[len(ours[i].Args)-1]
		i++
	}
}

// Deadlines are the instants at which a timer of the node runs out, or a parked request.
func (t *Twin) Deadlines(name string) []int64 {
	n := t.nodes[name]
	if n == nil {
		return nil
	}
	var all []int64
	for _, at := range n.timers {
		all = append(all, int64(at))
	}
	for _, p := range n.parked {
		all = append(all, int64(p.until))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// step lets our node do the command. A panic of the machine is a difference too.
func (t *Twin) step(n *node, c oracle.Command, a *oracle.Answer) (o outcome, panicked string) {
	defer func() {
		if r := recover(); r != nil {
			o, panicked = n.out, fmt.Sprint(r)
			n.dead = true
		}
	}()
	return n.do(c, a), ""
}

// seed fills the log that the node starts with: batches of its disk, or the bootstrap checkpoint.
func (t *Twin) seed(n *node, c oracle.Command) error {
	if len(n.init.Log) > 0 {
		if _, err := appendAll(n.log, n.init.Log, -1); err != nil {
			return fmt.Errorf("initial log of %s: %w", c.Node, err)
		}
		n.log.flush()
		return nil
	}
	if n.init.KRaft != 1 || len(n.init.Voters) == 0 {
		return nil
	}
	bytes, err := t.snapshotBytes(c.Node, kraft.BootstrapSnapshot)
	if err != nil {
		return err
	}
	n.log.addSnapshot(kraft.BootstrapSnapshot, bytes)
	return nil
}

// snapshotBytes copies what the state machine above has made.
func (t *Twin) snapshotBytes(name string, id kraft.SnapshotID) ([]byte, error) {
	a, err := t.Oracle.Do(oracle.Command{Cmd: "snapshotBytes", Node: name, Offset: int64(id.Offset), Epoch: int32(id.Epoch)})
	if err != nil {
		return nil, err
	}
	return slices.Clone(a.Bytes), nil
}

func (t *Twin) compare(n *node, c oracle.Command, a *oracle.Answer, o outcome, panicked string, withState bool) *Difference {
	withState = withState && a.State != nil && !n.dead
	kafka, state := t.shown.lines(c, a, n.servers(), withState)
	ours := append(lines(o.effects, n.servers()), fmt.Sprintf("waits %v", o.waits), fmt.Sprintf("fatal %t, finished %t", n.dead, n.finished))
	switch c.Cmd {
	case "append":
		ours = append(ours, fmt.Sprintf("refused %t, offset %d", o.refused, o.offset))
	case "schedule", "resign", "upgrade":
		ours = append(ours, fmt.Sprintf("refused %t", o.refused))
	case "deleteBefore":
		ours = append(ours, fmt.Sprintf("deleted %t", o.deleted))
	}
	for _, p := range o.problems {
		ours = append(ours, "PROBLEM "+p)
	}
	if panicked != "" {
		ours = append(ours, "PANIC "+panicked)
	}
	equal := slices.Equal(kafka, ours)
	if withState {
		kafka = slices.Concat(kafka, state)
		mine := stateLines(n.state(a.State), a.Now)
		equal = equal && slices.Equal(state, mine)
		ours = append(ours, mine...)
	}
	if equal {
		return nil
	}
	where := diff(kafka, ours)
	if a.Fatal != "" {
		kafka = append(slices.Clip(kafka), "because "+a.Fatal)
	}
	if o.fatal != "" {
		ours = append(ours, "because "+o.fatal)
	}
	if a.Error != "" {
		kafka = append(slices.Clip(kafka), "refused because "+a.Error)
	}
	d := &Difference{Version: t.Version, Step: t.Steps, Command: c, Kafka: kafka, Ours: ours, Where: where}
	if n.hand.event != nil {
		d.Event = n.hand.event.String()
	}
	return d
}

// Report shows what the schedules have reached.
func (t *Twin) Report(w io.Writer) { t.Coverage.Print(w, &t.profile) }
