package interact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// What only the machine knows (why a process ends, why a call is refused) stands in braces. Kafka says the same in Java.

// Node is the name of a node, "nobody" for an absent id.
func Node(id kraft.NodeID) string {
	if id < 0 {
		return "nobody"
	}
	return "n" + id.String()
}

// Key names a replica. The directory id counts only if it is not the one that the node was made with.
func Key(k kraft.ReplicaKey) string {
	switch k.DirectoryID {
	case Directory(k.ID, ""):
		return Node(k.ID)
	case kraft.DirectoryID{}:
		return Node(k.ID) + "/none"
	}
	return Node(k.ID) + "/" + string(k.DirectoryID[0])
}

// Directory is the directory id of a node: the one that it was made with, or another one that has a letter as its name.
func Directory(id kraft.NodeID, letter string) kraft.DirectoryID {
	d := kraft.DirectoryID{15: byte(100 + id)}
	if letter != "" {
		d[0] = letter[0]
	}
	return d
}

// Address is where a node's controller listener can be reached.
func Address(id kraft.NodeID) kraft.Address {
	return kraft.Address{Host: fmt.Sprintf("h%d", id), Port: 9093}
}

// names lists nodes.
func names[T any](list []T, name func(T) string) string {
	var all []string
	for _, v := range list {
		all = append(all, name(v))
	}
	return strings.Join(all, " ")
}

// Voters lists a voter set; a voter at another address than the usual one is told with it.
func Voters(set kraft.VoterSet) string {
	var all []string
	for i := range set.Len() {
		v := set.At(i)
		text := Known(v.Key)
		if a, ok := v.Endpoints.Address(Channel); ok && a != Address(v.Key.ID) {
			text += " at " + a.String()
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return "nobody"
	}
	return strings.Join(all, ", ")
}

// Known names a voter. That a static voter has no directory id goes without saying.
func Known(k kraft.ReplicaKey) string {
	if k.DirectoryID.IsZero() {
		return Node(k.ID)
	}
	return Key(k)
}

// Persists tells what is written to the quorum-state file.
func Persists(epoch kraft.Epoch, leader, voted kraft.NodeID) string {
	text := fmt.Sprintf("persists epoch %d", epoch)
	if leader >= 0 {
		text += ", leader " + Node(leader)
	}
	if voted >= 0 {
		text += ", vote for " + Node(voted)
	}
	return text
}

// Batch tells what a batch holds.
func Batch(b kraft.Batch) string {
	text := fmt.Sprintf("%d..%d of epoch %d", b.Base, b.Last, b.Epoch)
	if b.Base == b.Last {
		text = fmt.Sprintf("%d of epoch %d", b.Base, b.Epoch)
	}
	for i, c := range b.Control {
		if i == 0 {
			text += ":"
		}
		text += " " + control(c)
	}
	return text
}

func control(c kraft.ControlRecord) string {
	switch c.Type {
	case kraft.LeaderChangeRecord:
		granting := slices.Clone(c.Granting)
		slices.Sort(granting)
		return fmt.Sprintf("LeaderChange(%s, granted by %s)", Node(c.Leader), names(granting, Node))
	case kraft.KRaftVersionRecord:
		return fmt.Sprintf("KRaftVersion(%d)", c.KRaftVersion)
	case kraft.VotersRecord:
		return "Voters(" + Voters(c.Voters) + ")"
	case kraft.OtherControlRecord:
	}
	return c.String()
}

// Words says in one line what a message says. more adds what most readers do not need.
func Words(p *Packet, more bool) string {
	if p.Content == nil {
		return fmt.Sprintf("%v, which cannot be encoded in version %d", p.API, p.Version)
	}
	name := named(p)
	var parts []string
	if p.Answer {
		parts = answerWords(p.Content, more)
	} else {
		parts = requestWords(p.Content, more)
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}

func requestWords(content any, more bool) []string {
	w := words{}
	switch e := content.(type) {
	case *kraft.ReceiveVoteRequest:
		w.add("epoch %d", e.CandidateEpoch)
		w.add("log end %v", e.CandidateLogEnd)
	case *kraft.ReceiveBeginQuorumEpoch:
		w.add("epoch %d", e.LeaderEpoch)
		w.when(more, "%d listeners", e.LeaderEndpoints.Len())
	case *kraft.ReceiveEndQuorumEpoch:
		w.add("epoch %d", e.LeaderEpoch)
		if len(e.Successors) == 0 {
			w.add("no successors")
		} else {
			w.add("successors %s", names(e.Successors, func(k kraft.ReplicaKey) string { return Node(k.ID) }))
		}
	case *kraft.ReceiveFetch:
		w.add("epoch %d", e.FetchEpoch)
		w.add("from %d", e.FetchOffset)
		w.add("last epoch %d", e.LastFetchedEpoch)
		w.when(more && e.HighWatermark < 1<<62, "high watermark %d", e.HighWatermark)
		w.when(more, "at most %d bytes", e.MaxBytes)
	case *kraft.ReceiveFetchSnapshot:
		w.add("epoch %d", e.FetchEpoch)
		w.add("%v", e.SnapshotID)
		w.add("from byte %d", e.Position)
		w.when(more, "at most %d bytes", e.MaxBytes)
	case *kraft.ReceiveAddRaftVoter:
		w.add("%s", Key(e.Voter))
		w.when(!e.AckWhenCommitted, "answered before the commit")
	case *kraft.ReceiveRemoveRaftVoter:
		w.add("%s", Key(e.Voter))
	case *kraft.ReceiveUpdateRaftVoter:
		w.add("epoch %d", e.FetchEpoch)
		w.add("%s", Key(e.Voter))
		if a, ok := e.Endpoints.Address(Channel); ok && a != Address(e.Voter.ID) {
			w.add("at %v", a)
		}
		w.add("kraft.version %d-%d", e.Versions.Min, e.Versions.Max)
	}
	return w
}

// words is a list of phrases.
type words []string

func (w *words) add(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

func (w *words) when(condition bool, format string, args ...any) {
	if condition {
		w.add(format, args...)
	}
}

// leader adds what an answer says about the leader.
func (w *words) leader(a *kraft.PartitionAnswer, more bool) {
	w.when(a.Error != kraft.None, "%v", a.Error)
	w.add("epoch %d", a.LeaderEpoch)
	w.when(a.LeaderID >= 0, "leader %s", Node(a.LeaderID))
	w.when(more && a.HasEndpoint, "at %v", a.LeaderEndpoint)
}

// failed adds the top-level error, if there is one, and reports whether there is nothing else in the answer.
func (w *words) failed(r *kraft.Response) bool {
	switch {
	case r.Error != kraft.None:
		w.add("%v", r.Error)
	case r.WrongPartition:
		w.add("names no partition")
	default:
		return false
	}
	return true
}

func answerWords(content any, more bool) []string {
	w := words{}
	switch e := content.(type) {
	case *kraft.ReceiveVoteResponse:
		if !w.failed(&e.Response) {
			w.add("%s", map[bool]string{true: "granted", false: "refused"}[e.VoteGranted])
			w.leader(&e.PartitionAnswer, more)
		}
	case *kraft.ReceiveBeginQuorumEpochResponse:
		if !w.failed(&e.Response) {
			w.leader(&e.PartitionAnswer, more)
		}
	case *kraft.ReceiveEndQuorumEpochResponse:
		if !w.failed(&e.Response) {
			w.leader(&e.PartitionAnswer, more)
		}
	case *kraft.ReceiveFetchResponse:
		if !w.failed(&e.Response) {
			w.leader(&e.PartitionAnswer, more)
			w.fetched(e)
		}
	case *kraft.ReceiveFetchSnapshotResponse:
		if !w.failed(&e.Response) {
			w.leader(&e.PartitionAnswer, more)
			w.when(e.PartitionAnswer.Error == kraft.None, "%v bytes %d to %d of %d", e.SnapshotID, e.Position, e.Position+int64(e.Bytes), e.Size)
		}
	case *kraft.ReceiveAddRaftVoterResponse:
		w.add("%v", e.Error)
	case *kraft.ReceiveRemoveRaftVoterResponse:
		w.add("%v", e.Error)
	case *kraft.ReceiveUpdateRaftVoterResponse:
		w.add("%v", e.Error)
		w.when(e.LeaderID >= 0, "leader %s", Node(e.LeaderID))
		w.when(e.LeaderEpoch >= 0, "epoch %d", e.LeaderEpoch)
		w.when(more && e.LeaderEndpoint.Host != "", "at %v", e.LeaderEndpoint)
	case *kraft.ReceiveAPIVersionsResponse:
		w.add("%v", e.Error)
		w.when(e.HasKRaftVersion, "kraft.version %d-%d", e.KRaftVersions.Min, e.KRaftVersions.Max)
	case *kraft.ReplyAddRaftVoter:
		w.change(e.Error, e.Message, more)
	case *kraft.ReplyRemoveRaftVoter:
		w.change(e.Error, e.Message, more)
	case *kraft.ReplyDescribeQuorum:
		w.described(e, more)
	}
	return w
}

func (w *words) fetched(e *kraft.ReceiveFetchResponse) {
	w.when(e.HighWatermark >= 0, "high watermark %d", e.HighWatermark)
	switch {
	case e.PartitionAnswer.Error != kraft.None:
	case e.Diverging.Epoch >= 0:
		w.add("diverges: epoch %d ends at %d", e.Diverging.Epoch, e.Diverging.Offset)
	case e.Snapshot.Offset >= 0 || e.Snapshot.Epoch >= 0:
		w.add("fetch snapshot %v", e.Snapshot)
	case len(e.Batches) > 0:
		w.add("records %s", names(e.Batches, func(b kraft.Batch) string {
			return fmt.Sprintf("%d..%d@%d", b.Base, b.Last, b.Epoch)
		}))
	case e.Fault != kraft.RecordsFine:
		w.add("corrupt records")
	default:
		w.add("no records")
	}
}

func (w *words) change(code kraft.ErrorCode, m kraft.Message, more bool) {
	w.add("%v", code)
	if more {
		w.add("%s", map[kraft.Message]string{
			kraft.NullMessage: "message null", kraft.EmptyMessage: "message empty", kraft.DefaultMessage: "a message", kraft.TextMessage: "a message",
		}[m])
	}
}

func (w *words) described(e *kraft.ReplyDescribeQuorum, more bool) {
	switch {
	case e.UnknownPartition:
		w.add("%v", kraft.UnknownTopicOrPartition)
		return
	case e.Error != kraft.None || e.PartitionError != kraft.None:
		w.add("%v", max(e.Error, e.PartitionError))
		w.when(more, "leader %d, epoch %d, high watermark %d", e.LeaderID, e.LeaderEpoch, e.HighWatermark)
		return
	}
	w.add("leader %s", Node(e.LeaderID))
	w.add("epoch %d", e.LeaderEpoch)
	w.add("high watermark %d", e.HighWatermark)
	for _, group := range []struct {
		name string
		list []kraft.ReplicaStatus
	}{{"voters", e.Voters}, {"observers", e.Observers}} {
		list := slices.Clone(group.list)
		slices.SortFunc(list, func(a, b kraft.ReplicaStatus) int { return strings.Compare(Key(a.Key), Key(b.Key)) })
		w.when(len(list) > 0, "%s %s", group.name, names(list, func(s kraft.ReplicaStatus) string {
			if more {
				return fmt.Sprintf("%s:%d (fetched %d, caught up %d)", Key(s.Key), s.LogEnd, s.LastFetch, s.LastCaughtUp)
			}
			return fmt.Sprintf("%s:%d", Key(s.Key), s.LogEnd)
		}))
	}
	w.when(more && len(e.Nodes) > 0, "endpoints of %s", names(e.Nodes, func(v kraft.Voter) string { return Node(v.Key.ID) }))
}
