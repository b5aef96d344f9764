package twin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
)

// ErrUnforeseen ends a history in which Kafka has answered otherwise than foreseen. Whether that is a difference, the same
// history in lock step tells.
var ErrUnforeseen = errors.New("an answer of Kafka was not foreseen")

// Ahead is an oracle.Stepper that does not wait for Kafka: as both sides must do the same, the machine's outcome is
// the answer, the command is sent ahead, and what comes back is compared when it comes. All that Twin compares is compared
// here, the state by its digest.
//
// Where it foresaw something else than what came it only says so. The history is then played again in lock step, so that a
// difference, its schedule and how it shrinks are those of Twin. A history goes from one Begin to the next.
type Ahead struct {
	*Twin

	oracle  *oracle.Oracle
	history int
	line    []byte

	posted chan *expected // to the comparison
	free   chan *expected // from the comparison; as many as may be under way
	done   sync.WaitGroup
	under  sync.WaitGroup // commands under way

	checkpoints map[string][]byte // bootstrap checkpoints, which depend on the voters and the time alone

	mu     sync.Mutex
	failed int    // first history with an answer that was not foreseen; -1: none
	why    string // that answer and the one foreseen
	broken error
}

// underWay bounds the commands that have no answer yet.
const underWay = 512

// NewAhead sends commands ahead to the twin's oracle. Between Close and a new NewAhead the twin can be used alone.
func NewAhead(t *Twin, o *oracle.Oracle) *Ahead {
	a := &Ahead{
		Twin: t, oracle: o, posted: make(chan *expected, underWay), free: make(chan *expected, underWay), failed: -1,
		checkpoints: map[string][]byte{},
	}
	for range underWay {
		a.free <- &expected{}
	}
	a.done.Add(1)
	go a.compareAll()
	return a
}

// Close waits for all answers and ends the comparison.
func (a *Ahead) Close() error {
	err := a.Drain()
	close(a.posted)
	a.done.Wait()
	return err
}

// Begin starts the history with that number: all nodes are forgotten.
func (a *Ahead) Begin(history int) error {
	a.forget()
	a.history = history
	c := oracle.Command{Cmd: "reset", Brief: true}
	x, err := a.take()
	if err != nil {
		return err
	}
	x.head, x.effects, x.ends, x.list, x.refusal = append(x.head[:0], "ok "...), x.effects[:0], x.ends[:0], nil, true
	return a.post(&c, x)
}

// Failed is the first history with an answer that was not foreseen, -1 if there is none so far.
func (a *Ahead) Failed() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// Forgive forgets the failure, after all answers have come, and shows it.
func (a *Ahead) Forgive() string {
	a.failed = -1
	return a.why
}

// Drain waits for all answers.
func (a *Ahead) Drain() error {
	if err := a.oracle.Flush(); err != nil {
		return err
	}
	a.under.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken
}

// take is room for one more command under way.
func (a *Ahead) take() (*expected, error) {
	select {
	case x := <-a.free:
		return x, nil
	default:
	}
	if err := a.oracle.Flush(); err != nil { // the harness holds its answers back as long as it has half a line
		return nil, err
	}
	return <-a.free, nil
}

func (a *Ahead) post(c *oracle.Command, x *expected) error {
	var err error
	if a.line, err = c.AppendJSON(a.line[:0]); err != nil {
		return err
	}
	x.history = a.history
	a.under.Add(1)
	if err := a.oracle.Post(a.line); err != nil {
		a.under.Done()
		return err
	}
	a.posted <- x
	return nil
}

// compareAll takes the answers as they come.
func (a *Ahead) compareAll() {
	defer a.done.Done()
	for x := range a.posted {
		answer, err := a.oracle.Next()
		same := err == nil && x.matches(answer)
		if !same {
			a.mu.Lock()
			if a.failed < 0 {
				a.failed, a.why = x.history, fmt.Sprintf("answer   %s\nforeseen %s%s", answer, x.head, x.effects)
			}
			if a.broken == nil { // all later ones fail too
				a.broken = err
			}
			a.mu.Unlock()
		}
		x.list = nil
		a.free <- x
		a.under.Done()
	}
}

// Do carries out a command on our side and sends it ahead.
func (a *Ahead) Do(c oracle.Command) (*oracle.Answer, error) {
	if a.Failed() >= 0 {
		return nil, ErrUnforeseen
	}
	if c.Settle || len(c.Random) > 0 || c.Cmd == "snapshot" {
		return a.inStep(c)
	}
	a.Steps++
	digest := c.State || a.StateEvery > 0 && a.Steps%a.StateEvery == 0
	n := a.nodes[c.Node]
	if c.Cmd == "init" {
		n = newNode(a.profile, c, a.Coverage, a.newLog())
		a.nodes[c.Node] = n
		if err := a.seedAhead(n, c); err != nil {
			return nil, err
		}
	}
	if n == nil {
		return nil, fmt.Errorf("command %s of %s, which has not been started", c.Cmd, c.Node)
	}
	x, err := a.take()
	if err != nil {
		return nil, err
	}
	_, known := n.inFlight[c.Corr]
	var told oracle.Answer
	if refused := c.Cmd == "response" && !n.dead && !known; refused {
		told.Error = "no such request"
	}
	o, panicked := a.step(n, c, &told)
	if panicked != "" || len(o.problems) > 0 {
		a.free <- x
		return nil, ErrUnforeseen
	}
	answer := &oracle.Answer{Now: int64(n.now), Effects: o.effects, Finished: n.finished}
	var state *oracle.State
	if n.dead {
		answer.Fatal = cmp.Or(o.fatal, "ended before")
	} else if answer.State = n.state(nil); digest {
		state = answer.State
	}
	x.foresee(n, &c, &o, told.Error != "" || o.refused, state)
	c.State, c.Brief = digest, true
	if err := a.post(&c, x); err != nil {
		return nil, err
	}
	return answer, nil
}

// inStep does a command whose answer nobody can foresee, such as the bytes of a snapshot, in lock step.
func (a *Ahead) inStep(c oracle.Command) (*oracle.Answer, error) {
	if err := a.Drain(); err != nil {
		return nil, err
	}
	answer, err := a.Twin.Do(c)
	a.schedule = nil
	var d *Difference
	if errors.As(err, &d) {
		return nil, ErrUnforeseen
	}
	return answer, err
}

// seedAhead fills the log that the node starts with. The bootstrap checkpoint is made by Kafka once for each set of voters.
func (a *Ahead) seedAhead(n *node, c oracle.Command) error {
	if len(n.init.Log) > 0 || n.init.KRaft != 1 || len(n.init.Voters) == 0 {
		return a.seed(n, c)
	}
	key, err := json.Marshal(n.init.Voters)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d %s", c.Now, key)
	bytes, ok := a.checkpoints[name]
	if !ok {
		if err := a.Drain(); err != nil {
			return err
		}
		alone := c
		alone.Node, alone.MaxVersions = "checkpoint", nil
		if _, err := a.oracle.Do(alone); err != nil {
			return err
		}
		if bytes, err = a.snapshotBytes(alone.Node, kraft.BootstrapSnapshot); err != nil {
			return err
		}
		a.checkpoints[name] = bytes
	}
	n.log.addSnapshot(kraft.BootstrapSnapshot, bytes)
	return nil
}
