package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// Stepper carries out commands: an [Oracle], or a pair of an oracle and something that is compared with it.
type Stepper interface {
	Do(Command) (*Answer, error)
}

// The cluster id and the listener name of every cluster here.
const (
	ClusterID = "c1"
	Channel   = "CONTROLLER"
)

// Message is a request or response on its way between two nodes.
type Message struct {
	From, To int32
	Response bool
	Corr     int32 // of the request, as its sender numbers it
	API      int16
	Version  int16
	Body     []byte // nil: a request that could not be encoded
}

// Cluster is a quorum whose network and clock the caller holds. Messages wait in Net until they are delivered. The first
// error is kept in Err, and nothing happens after it.
type Cluster struct {
	Steps Stepper
	Now   int64
	Net   []Message
	Err   error

	Nodes   map[int32]*Node
	Replies map[int32]Message // to crafted requests, by their number
	Cut     func(from, to int32) bool
	Trace   func(format string, args ...any) // nil: no trace

	corr int32
	from map[int32]Message // requests by the number they were delivered under
}

// Node is one node of a cluster.
type Node struct {
	ID    int32
	Init  Init
	Last  *Answer
	State *State // the last one known
	Fatal string // what ended it
}

// NewCluster is an empty cluster at time 1000.
func NewCluster(s Stepper) *Cluster {
	return &Cluster{
		Steps: s, Now: 1000, Nodes: map[int32]*Node{}, Replies: map[int32]Message{}, from: map[int32]Message{},
		Cut: func(int32, int32) bool { return false },
	}
}

// DirectoryID is the directory id of a node that was never wiped.
func DirectoryID(id int32) kraft.DirectoryID { return kraft.DirectoryID{15: byte(100 + id)} }

// Host is the address of a node's controller listener.
func Host(id int32) string { return fmt.Sprintf("h%d:9093", id) }

// Name is a node's name in commands.
func Name(id int32) string { return "n" + strconv.Itoa(int(id)) }

// NewInit describes a node with default settings. kraftVersion 1 without voters is a node that knows nobody.
func NewInit(id int32, kraftVersion int, voters ...int32) Init {
	seed := int64(id)
	in := Init{
		ID: &id, Dir: DirectoryID(id).String(), Cluster: ClusterID, KRaft: kraftVersion, Seed: &seed,
		Endpoints: map[string]string{Channel: Host(id)}, FetchMaxWaitMs: 500,
		Config: map[string]any{"controller.quorum.append.linger.ms": 0},
	}
	for _, v := range voters {
		in.Voters = append(in.Voters, VoterSpec{
			ID: v, Dir: DirectoryID(v).String(), Endpoints: map[string]string{Channel: Host(v)}, MaxKRaft: 1,
		})
	}
	if kraftVersion == 1 {
		in.BootstrapServers = []string{Host(1), Host(2), Host(3)}
	}
	return in
}

// Start starts a node. The random draws queued in random come before those of its seed.
func (c *Cluster) Start(in Init, random map[string][]int32) *Answer {
	n := &Node{ID: *in.ID, Init: in}
	c.Nodes[n.ID] = n
	return c.Do(n.ID, Command{Cmd: "init", Init: &in, Random: random, State: true})
}

// Do carries out a command on a node at the cluster's time and takes what the node sends into the network.
func (c *Cluster) Do(id int32, cmd Command) *Answer {
	if c.Err != nil {
		return &Answer{}
	}
	cmd.Node, cmd.Now = Name(id), c.Now
	a, err := c.Steps.Do(cmd)
	if err != nil {
		c.Err = err
		return &Answer{}
	}
	c.absorb(id, a)
	return a
}

func (c *Cluster) absorb(id int32, a *Answer) {
	n := c.Nodes[id]
	n.Last = a
	c.Now = max(c.Now, a.Now)
	if a.State != nil {
		n.State = a.State
	}
	if a.Fatal != "" && n.Fatal == "" {
		n.Fatal = a.Fatal
		c.trace("n%d FATAL %s", id, a.Fatal)
	}
	for i := range a.Effects {
		e := &a.Effects[i]
		switch e.Kind {
		case "send":
			m := Message{From: id, To: NodeOf(e.Text(2)), Corr: int32(e.Int(0)), API: int16(e.Int(3)), Version: int16(e.Int(4)), Body: e.Body(5)}
			c.trace("n%d -> n%d %v v%d #%d", id, m.To, kmsg.Key(m.API).Name(), m.Version, m.Corr)
			c.Net = append(c.Net, m)
		case "reply":
			c.replied(id, e)
		default:
			c.trace("n%d %v", id, e)
		}
	}
}

func (c *Cluster) replied(id int32, e *Effect) {
	number := int32(e.Int(0))
	request := c.from[number]
	delete(c.from, number)
	m := Message{From: id, To: request.From, Response: true, Corr: request.Corr, API: int16(e.Int(1)), Version: int16(e.Int(2)), Body: e.Body(3)}
	c.trace("n%d => n%d %s", id, m.To, Describe(m))
	if request.From == 0 {
		c.Replies[number] = m
		return
	}
	c.Net = append(c.Net, m)
}

// NodeOf is the node that lives at an address.
func NodeOf(host string) int32 {
	name, _, _ := strings.Cut(host, ":")
	id, _ := strconv.Atoi(strings.TrimPrefix(name, "h"))
	return int32(id)
}

func (c *Cluster) trace(format string, args ...any) {
	if c.Trace != nil {
		c.Trace(format, args...)
	}
}

// Deliver hands a message over with the turns that the command asks for. A request that cannot reach its node, or that
// could not be encoded, fails at its sender.
func (c *Cluster) Deliver(m Message, turns Command) *Answer {
	if m.Response {
		turns.Cmd, turns.Corr, turns.Version, turns.Body = "response", m.Corr, m.Version, m.Body
		if m.Body == nil { // the server could not encode it: it answers with the error alone
			turns.Body = ErrorBody(m.API, m.Version, kraft.UnknownServerError)
		}
		return c.Do(m.To, turns)
	}
	to := c.Nodes[m.To]
	switch {
	case m.Body == nil:
		return c.Fail(m, "unsupported", turns)
	case to == nil || to.Fatal != "" || to.Last.Finished || c.Cut(m.From, m.To):
		return c.Fail(m, "disconnect", turns)
	case m.API == int16(kmsg.ApiVersions): // answered by the server above raft
		turns.Cmd, turns.Corr, turns.Version, turns.Body = "response", m.Corr, m.Version, APIVersionsBody(m.Version, 0, 1)
		return c.Do(m.From, turns)
	}
	return c.Request(m, turns)
}

// Request puts a request into its node's queue, whatever it is.
func (c *Cluster) Request(m Message, turns Command) *Answer {
	c.corr++
	c.from[c.corr] = m
	turns.Cmd, turns.Corr, turns.API, turns.Version, turns.Body = "request", c.corr, m.API, m.Version, m.Body
	return c.Do(m.To, turns)
}

// Fail lets a request fail in the transport: disconnect, auth or unsupported.
func (c *Cluster) Fail(m Message, how string, turns Command) *Answer {
	turns.Cmd, turns.Corr, turns.Error = "response", m.Corr, how
	return c.Do(m.From, turns)
}

// Craft sends a request of the test's own and lets the node settle. The reply, if it comes at once, is returned too.
func (c *Cluster) Craft(to int32, req kmsg.Request) (number int32, reply Message) {
	c.Request(Message{To: to, API: req.Key(), Version: req.GetVersion(), Body: req.AppendTo(nil)}, settle)
	return c.corr, c.Replies[c.corr]
}

// settle is what scripts do: turns until nothing happens, and the state.
var settle = Command{Settle: true, State: true}

// Pump delivers in order until the network is empty or the limit is reached.
func (c *Cluster) Pump(limit int) {
	for ; len(c.Net) > 0 && limit > 0 && c.Err == nil; limit-- {
		m := c.Take(0)
		if m.Response && (c.Cut(m.To, m.From) || c.Nodes[m.To].Fatal != "") {
			continue
		}
		c.Deliver(m, settle)
	}
}

// Take removes a message from the network.
func (c *Cluster) Take(i int) Message {
	m := c.Net[i]
	c.Net = append(slices.Clone(c.Net[:i]), c.Net[i+1:]...)
	return m
}

// Advance moves the clock and lets the nodes settle, all of them in the order of their ids if none is named.
func (c *Cluster) Advance(ms int64, order ...int32) {
	c.Now += ms
	if order == nil {
		order = c.IDs()
	}
	for _, id := range order {
		if c.Nodes[id].Fatal == "" {
			c.Do(id, Command{Cmd: "poll", Expire: true, Settle: true, State: true})
		}
	}
}

// Elect lets time pass until the node leads and knows its high watermark.
func (c *Cluster) Elect(id int32) {
	for i := 0; i < 40 && c.Err == nil && (c.State(id).Role != "Leader" || c.State(id).HighWatermark < 0); i++ {
		c.Pump(200)
		c.Advance(100)
	}
	c.Pump(200)
}

// Pass lets time pass in steps.
func (c *Cluster) Pass(steps int, ms int64) {
	for i := 0; i < steps && c.Err == nil; i++ {
		c.Pump(60)
		c.Advance(ms)
	}
}

// Append prepares records at the leader and lets it settle.
func (c *Cluster) Append(id int32, count int) *Answer {
	return c.Do(id, Command{Cmd: "append", Epoch: c.State(id).Epoch, Records: Records(count), Settle: true, State: true})
}

// Records are some data records.
func Records(count int) [][]byte {
	var list [][]byte
	for i := range count {
		list = append(list, fmt.Appendf(nil, "record-%d", i))
	}
	return list
}

// IDs lists the nodes.
func (c *Cluster) IDs() []int32 {
	return slices.SortedFunc(maps.Keys(c.Nodes), cmp.Compare[int32])
}

// State is the last known state of a node.
func (c *Cluster) State(id int32) *State {
	if n := c.Nodes[id]; n != nil && n.State != nil {
		return n.State
	}
	return &State{}
}

// String shows all nodes on one line.
func (c *Cluster) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "t=%d", c.Now)
	for _, id := range c.IDs() {
		s := c.State(id)
		fmt.Fprintf(&b, " n%d=%s(epoch %d, leader %d, hw %d, %d..%d)", id, s.Role, s.Epoch, s.Leader, s.HighWatermark, s.Start, s.End)
	}
	return b.String()
}
