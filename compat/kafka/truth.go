package kafka

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

// Role is a role of Kafka's QuorumState.
type Role string

// The roles. Voted exists up to 3.9 only, Prospective from 4.0 on.
const (
	Unattached  Role = "Unattached"
	Voted       Role = "Voted"
	Prospective Role = "Prospective"
	Candidate   Role = "Candidate"
	Leader      Role = "Leader"
	Follower    Role = "Follower"
	Resigned    Role = "Resigned"
)

// Transition is a role change that a node has completed.
type Transition struct {
	At     time.Time
	Node   kraft.NodeID
	Run    int // which start of the node, from 1
	Role   Role
	Epoch  kraft.Epoch
	Leader kraft.NodeID // kraft.NoNode if the node knows none
}

func (t Transition) String() string {
	text := fmt.Sprintf("%s node %s: %s epoch %d", t.At.Format("15:04:05.000"), t.Node, t.Role, t.Epoch)
	if t.Leader != kraft.NoNode {
		text += " leader " + t.Leader.String()
	}
	return text
}

// Vote is a Vote request that a node has answered.
type Vote struct {
	At             time.Time
	Voter          kraft.NodeID      // who answered
	VoterDirectory kraft.DirectoryID // whom the candidate addressed; zero in a static quorum
	Candidate      kraft.ReplicaKey
	Epoch          kraft.Epoch // of the candidate
	LogEnd         kraft.LogEnd
	PreVote        bool
	Granted        bool
}

func (v Vote) String() string {
	kind, answer := "vote", "rejects"
	if v.PreVote {
		kind = "pre-vote"
	}
	if v.Granted {
		answer = "grants"
	}
	return fmt.Sprintf("%s node %s %s the %s of %s in epoch %d", v.At.Format("15:04:05.000"), v.Voter, answer, kind, v.Candidate.ID, v.Epoch)
}

// HighWatermark is the first high watermark that a node knows in an epoch.
type HighWatermark struct {
	At     time.Time
	Node   kraft.NodeID
	Epoch  kraft.Epoch
	Offset kraft.Offset
}

// MessageKind says what a node did with a raft message.
type MessageKind string

// The kinds of message.
const (
	SentRequest      MessageKind = "sent request"
	ReceivedRequest  MessageKind = "received request"
	SentResponse     MessageKind = "sent response"
	ReceivedResponse MessageKind = "received response"
)

// Message is a raft request or response as Kafka printed it; there are some at log level Trace only.
type Message struct {
	At            time.Time
	Node          kraft.NodeID // who logged it
	Kind          MessageKind
	CorrelationID int32
	Version       int16  // -1 where the line does not say
	Name          string // "Vote", "Fetch", …
	Data          string // "VoteRequestData(…)", Java's text
	Peer          string // the address sent to or received from; "" for requests received and their responses
}

// Fatal is a fault that ends the process.
type Fatal struct {
	At   time.Time
	Node kraft.NodeID
	Text string
}

// Truth is what nodes said about themselves in their logs: each list in the order of the log, or by time where
// several nodes are merged. It grows at its ends only.
type Truth struct {
	Transitions   []Transition
	Votes         []Vote
	FirstHW       []HighWatermark
	Messages      []Message
	Fatals        []Fatal
	Notable       []string // snapshots, truncations, voter sets, kraft.version: whole lines without their data
	LinesRead     int      // lines with a stamp: none means that logging does not work
	UnparsedLines int      // lines that look like a fact above and could not be read: a new release may print them differently
}

// ReadLog reads the log of a node.
func ReadLog(r io.Reader, node kraft.NodeID) (Truth, error) {
	p := logReader{node: node}
	b := bufio.NewReaderSize(r, 1<<16)
	for {
		text, err := b.ReadString('\n')
		if len(text) > 0 {
			p.feed(text)
		}
		if errors.Is(err, io.EOF) {
			return p.truth, nil
		}
		if err != nil {
			return p.truth, fmt.Errorf("log of node %s: %w", node, err)
		}
	}
}

// Merge puts the logs of several nodes into one, by time.
func Merge(logs ...Truth) Truth {
	var all Truth
	for _, t := range logs {
		all.Transitions = append(all.Transitions, t.Transitions...)
		all.Votes = append(all.Votes, t.Votes...)
		all.FirstHW = append(all.FirstHW, t.FirstHW...)
		all.Messages = append(all.Messages, t.Messages...)
		all.Fatals = append(all.Fatals, t.Fatals...)
		all.Notable = append(all.Notable, t.Notable...)
		all.LinesRead += t.LinesRead
		all.UnparsedLines += t.UnparsedLines
	}
	slices.SortStableFunc(all.Transitions, func(a, b Transition) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(all.Votes, func(a, b Vote) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(all.FirstHW, func(a, b HighWatermark) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(all.Messages, func(a, b Message) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(all.Fatals, func(a, b Fatal) int { return a.At.Compare(b.At) })
	slices.Sort(all.Notable)
	return all
}

// Elected is a leader that took office.
type Elected struct {
	Node  kraft.NodeID
	Epoch kraft.Epoch
	At    time.Time
}

func (e Elected) String() string {
	return fmt.Sprintf("leader %s in epoch %d at %s", e.Node, e.Epoch, e.At.Format("15:04:05.000"))
}

// Leaders lists who became leader, by epoch. Two in one epoch are both listed: that would be a fault of Kafka.
func (t Truth) Leaders() []Elected {
	var all []Elected
	for _, x := range t.Transitions {
		if x.Role == Leader {
			all = append(all, Elected{x.Node, x.Epoch, x.At})
		}
	}
	slices.SortStableFunc(all, func(a, b Elected) int { return cmp.Compare(a.Epoch, b.Epoch) })
	return all
}

// LastEpoch is the newest epoch that any transition names.
func (t Truth) LastEpoch() kraft.Epoch {
	var last kraft.Epoch
	for _, x := range t.Transitions {
		last = max(last, x.Epoch)
	}
	return last
}
