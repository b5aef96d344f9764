package kafka

import (
	"bytes"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// logReader turns a node's log into a Truth, line by line. The texts are those of KafkaRaftClient, QuorumState,
// LeaderState, FollowerState, KRaftControlRecordStateMachine and MetadataLoader from 3.9 to 4.4.
type logReader struct {
	node  kraft.NodeID
	truth Truth

	// of the present run
	role     Role
	epoch    kraft.Epoch
	begun    bool // a first transition is there: the raft thread is about to run
	caughtUp bool // the metadata loader has reached the high watermark
	started  bool // "Kafka Server started"
	run      int
}

// newRun forgets what was true of the process before.
func (r *logReader) newRun() {
	r.role, r.epoch, r.begun, r.caughtUp, r.started = "", 0, false, false, false
}

// ready: the port opens long before a node knows its leader, so an open port says nothing.
func (r *logReader) ready(broker bool) bool {
	return (r.role == Leader || r.role == Follower) && r.caughtUp && (r.started || !broker)
}

func (r *logReader) feed(text string) {
	l, ok := parseLine(strings.TrimRight(text, "\r\n"))
	if !ok {
		return
	}
	r.truth.LinesRead++
	m := withoutPrefix(l.message)
	understood := true
	switch {
	case strings.HasPrefix(m, "Completed transition to "):
		understood = r.transition(l, m)
	case strings.HasPrefix(m, "Vote request "):
		understood = r.vote(l, m)
	case strings.HasPrefix(m, "High watermark set to ") && strings.Contains(m, " for the first time for epoch "):
		understood = r.firstHW(l, m)
	case strings.HasPrefix(m, "Sent outbound request"), strings.HasPrefix(m, "Received inbound message "), strings.HasPrefix(m, "Sent response "):
		understood = r.message(l, m)
	case strings.Contains(m, "he loader finished catching up to the current high water mark"):
		r.caughtUp = true
	case strings.HasPrefix(m, "Kafka Server started"):
		r.started = true
	case strings.Contains(m, "Encountered fatal fault: "), l.level == "FATAL":
		r.truth.Fatals = append(r.truth.Fatals, Fatal{l.at, r.node, m})
	case notable(m):
		r.truth.Notable = append(r.truth.Notable, l.at.Format("15:04:05.000")+" node "+r.node.String()+": "+m)
	}
	if !understood {
		r.truth.UnparsedLines++
	}
}

func notable(m string) bool {
	for _, prefix := range []string{
		"Truncated to offset ", "Fetching snapshot ", "Fully truncated the log ", "Loading snapshot ", "Successfully wrote snapshot ",
		"Latest set of voters is ", "Latest kraft.version is ", "Becoming the active controller ", "Transitioning to Prospective state due to ",
	} {
		if strings.HasPrefix(m, prefix) {
			return true
		}
	}
	return false
}

// transition reads "Completed transition to ROLE(… epoch=E …) from …".
func (r *logReader) transition(l line, m string) bool {
	m = strings.TrimPrefix(m, "Completed transition to ")
	to := bracketed(m)
	name, _, ok := strings.Cut(to, "(")
	if !ok {
		return false
	}
	role := Role(strings.TrimSuffix(name, "State"))
	epoch, ok := number(to, "epoch")
	if !ok {
		return false
	}
	t := Transition{At: l.at, Node: r.node, Role: role, Epoch: kraft.Epoch(epoch), Leader: kraft.NoNode}
	switch role {
	case Leader:
		t.Leader = r.node
	case Unattached, Voted, Prospective, Candidate, Follower:
		for _, name := range []string{"leaderId", "leader"} {
			if id, ok := number(to, name); ok {
				t.Leader = kraft.NodeID(id)
				break
			}
		}
	case Resigned: // leaderless, whatever it still prints
	default:
		return false
	}
	if strings.HasPrefix(m[len(to):], " from null") {
		r.run++
	}
	t.Run = r.run
	r.role, r.epoch, r.begun = t.Role, t.Epoch, true
	r.truth.Transitions = append(r.truth.Transitions, t)
	return true
}

// vote reads "Vote request VoteRequestData(…) with epoch E is granted|rejected". Up to 3.9 the fields are
// called candidateEpoch and so on, and there is no preVote.
func (r *logReader) vote(l line, m string) bool {
	v := Vote{At: l.at, Voter: r.node}
	switch {
	case strings.HasSuffix(m, " is granted"):
		v.Granted = true
	case strings.HasSuffix(m, " is rejected"):
	default:
		return false
	}
	either := func(names ...string) (int64, bool) {
		for _, name := range names {
			if n, ok := number(m, name); ok {
				return n, true
			}
		}
		return 0, false
	}
	epoch, ok1 := either("replicaEpoch", "candidateEpoch")
	candidate, ok2 := either("replicaId", "candidateId")
	lastEpoch, ok3 := either("lastOffsetEpoch")
	lastOffset, ok4 := either("lastOffset")
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return false
	}
	v.Epoch = kraft.Epoch(epoch)
	v.Candidate.ID = kraft.NodeID(candidate)
	v.LogEnd = kraft.LogEnd{LastEpoch: kraft.Epoch(lastEpoch), LastOffset: kraft.Offset(lastOffset)}
	directory := func(names ...string) kraft.DirectoryID {
		for _, name := range names {
			if text, ok := field(m, name); ok {
				id, _ := kraft.ParseDirectoryID(text) // absent in version 0
				return id
			}
		}
		return kraft.DirectoryID{}
	}
	v.Candidate.DirectoryID = directory("replicaDirectoryId", "candidateDirectoryId")
	v.VoterDirectory = directory("voterDirectoryId")
	pre, _ := field(m, "preVote")
	v.PreVote = pre == "true"
	r.truth.Votes = append(r.truth.Votes, v)
	return true
}

// firstHW reads "High watermark set to [Optional[]LogOffsetMetadata(offset=O, …) for the first time for epoch E".
func (r *logReader) firstHW(l line, m string) bool {
	offset, ok := number(m, "offset")
	_, rest, _ := strings.Cut(m, " for the first time for epoch ")
	epoch, ok2 := number("epoch="+strings.Replace(rest, " ", ",", 1), "epoch")
	if !ok || !ok2 {
		return false
	}
	r.truth.FirstHW = append(r.truth.FirstHW, HighWatermark{l.at, r.node, kraft.Epoch(epoch), kraft.Offset(offset)})
	return true
}

// message reads what KafkaRaftClient prints of each raft message at TRACE.
func (r *logReader) message(l line, m string) bool {
	x := Message{At: l.at, Node: r.node, Version: -1}
	switch {
	case strings.HasPrefix(m, "Sent outbound request"):
		x.Kind = SentRequest
	case strings.HasPrefix(m, "Sent response "):
		x.Kind = SentResponse
	case strings.HasPrefix(m, "Received inbound message InboundRequest"):
		x.Kind = ReceivedRequest
	default:
		x.Kind = ReceivedResponse
	}
	id, ok := number(m, "correlationId")
	_, data, ok2 := strings.Cut(m, "data=")
	if !ok || !ok2 {
		return false
	}
	x.CorrelationID = int32(id)
	x.Data = bracketed(data)
	class, _, ok := strings.Cut(x.Data, "(")
	name, isRequest := strings.CutSuffix(class, "RequestData")
	if !isRequest {
		name, _ = strings.CutSuffix(class, "ResponseData")
	}
	if !ok || name == class {
		return false
	}
	x.Name = name
	if version, ok := number(m, "apiVersion"); ok {
		x.Version = int16(version)
	}
	rest := data[len(x.Data):]
	for _, name := range []string{"destination", "source"} {
		if peer, ok := field(rest, name); ok {
			x.Peer, _, _ = strings.Cut(peer, " ")
		}
	}
	r.truth.Messages = append(r.truth.Messages, x)
	return true
}

// feedChunk feeds the whole lines of held+chunk and returns the unfinished rest.
func (r *logReader) feedChunk(held, chunk []byte) []byte {
	held = append(held, chunk...)
	for {
		i := bytes.IndexByte(held, '\n')
		if i < 0 {
			return held
		}
		r.feed(string(held[:i]))
		held = held[i+1:]
	}
}
