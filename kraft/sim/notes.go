package sim

import (
	"fmt"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// NoteKind says what a note is about.
type NoteKind uint8

// The kinds of notes.
const (
	noteStart NoteKind = iota
	noteCrash
	noteStopped
	noteFatal
	noteWipe
	noteDiskFull
	notePause
	noteClog
	notePartition
	noteHeal
	noteResign
	noteShutdown
	noteSnapshot
	noteInstalled
	noteAdd
	noteRemove
	noteUpgrade
	noteCalm
	noteStale
	noteRole
	noteCommit
	noteTruncate
	noteSent
	noteLost
	noteArrived
	noteSay
	noteAppend
	noteCut
)

var noteNames = [...]string{
	"starts", "crashes", "has shut down", "ends:", "loses its disk", "finds its disk full", "stands still", "is clogged", "is cut off",
	"and the others are joined again", "is asked to resign", "is asked to shut down", "takes the snapshot", "installs the snapshot", "is asked to add",
	"is asked to remove", "is asked to raise kraft.version", "the faults end",
	"does not know the voters of its log", "", "", "", "", "", "", "", "is given records to write:", "is no longer heard by",
}

// Note is one thing that happens in a run.
type Note struct {
	At    int64 // microseconds
	Node  kraft.NodeID
	Kind  NoteKind
	Text  string
	From  kraft.NodeID // of a message
	Sent  int64        // of a message, microseconds
	Quiet bool         // a message that brings nothing new: a line of its own would only hide the others
}

func (x Note) String() string {
	switch x.Kind {
	case noteSay:
		return "-- " + x.Text
	case noteArrived:
		return fmt.Sprintf("%8d ms  %v <- %v  %s", x.At/1000, x.Node, x.From, x.Text)
	case noteLost:
		return fmt.Sprintf("%8d ms  %v x- %v  %s is lost", x.At/1000, x.Node, x.From, x.Text)
	}
	return fmt.Sprintf("%8d ms  %v %s", x.At/1000, x.Node, x.Text)
}

func (w *World) note(kind NoteKind, n *node, text string) {
	if w.notes == nil {
		return
	}
	if name := noteNames[kind]; name != "" && text != "" {
		text = name + " " + text
	} else if name != "" {
		text = name
	}
	w.notes(Note{At: w.now, Node: n.id, Kind: kind, Text: text})
}

func (w *World) noteRole(n *node, a *kraft.TransitionedTo) {
	text := fmt.Sprintf("%v in epoch %d", a.Role, a.Epoch)
	if a.Role == kraft.FollowerRole || a.Role == kraft.UnattachedRole && a.Leader >= 0 {
		text += fmt.Sprintf(" of %v", a.Leader)
	}
	w.note(noteRole, n, text)
}

func (w *World) noteCommit(n *node) {
	w.note(noteCommit, n, fmt.Sprintf("commits up to %d", n.log.HighWatermark))
}

func (w *World) noteTruncate(n *node, offset kraft.Offset) {
	w.note(noteTruncate, n, fmt.Sprintf("cuts its log off at %d, it ended at %d", offset, n.log.End))
}

func (w *World) noteMessage(kind NoteKind, m *message) {
	text, quiet := summary(m.event)
	if text == "" {
		return
	}
	if kind == noteLost {
		text += " "
	}
	if last := &w.told[m.to.index][m.from.index]; !quiet {
		quiet = *last == text // the same once more
		*last = text
	}
	w.notes(Note{At: w.now, Node: m.to.id, From: m.from.id, Sent: m.departs, Kind: kind, Text: strings.TrimSpace(text), Quiet: quiet})
}

func (w *World) noteLost(m *message)    { w.noteMessage(noteLost, m) }
func (w *World) noteArrived(m *message) { w.noteMessage(noteArrived, m) }

// summary is a message in a few words, and whether it is one of the many that keep a quorum going.
func summary(ev kraft.Event) (text string, quiet bool) {
	switch e := ev.(type) {
	case *kraft.ReceiveVoteRequest:
		name := "Vote"
		if e.PreVote {
			name = "PreVote"
		}
		return fmt.Sprintf("%s(epoch=%d candidate=%v log=%v)", name, e.CandidateEpoch, e.Candidate, e.CandidateLogEnd), false
	case *kraft.ReceiveVoteResponse:
		if e.VoteGranted {
			return fmt.Sprintf("granted(epoch=%d)", e.LeaderEpoch), false
		}
		return fmt.Sprintf("refused(%v)", &e.PartitionAnswer), false
	case *kraft.ReceiveBeginQuorumEpoch:
		return fmt.Sprintf("BeginQuorumEpoch(leader=%v epoch=%d)", e.LeaderID, e.LeaderEpoch), false
	case *kraft.ReceiveEndQuorumEpoch:
		ids := make([]kraft.NodeID, len(e.Successors))
		for i := range ids {
			ids[i] = e.Successors[i].ID
		}
		return fmt.Sprintf("EndQuorumEpoch(leader=%v epoch=%d successors=%v)", e.LeaderID, e.LeaderEpoch, ids), false
	case *kraft.ReceiveFetch:
		return fmt.Sprintf("Fetch(offset=%d epoch=%d)", e.FetchOffset, e.FetchEpoch), true
	case *kraft.ReceiveFetchResponse:
		return fetchSummary(e)
	case *kraft.ReceiveFetchSnapshot:
		return fmt.Sprintf("FetchSnapshot(%v position=%d)", e.SnapshotID, e.Position), true
	case *kraft.ReceiveFetchSnapshotResponse:
		return fmt.Sprintf("snapshot(%v bytes %d to %d of %d)", e.SnapshotID, e.Position, e.Position+int64(e.Bytes), e.Size), false
	case *kraft.ReceiveUpdateRaftVoter:
		return fmt.Sprintf("UpdateRaftVoter(%v)", e.Voter.ID), false
	case *kraft.ReceiveAddRaftVoter:
		return fmt.Sprintf("AddRaftVoter(%v)", e.Voter.ID), false
	case *kraft.ReceiveRemoveRaftVoter:
		return fmt.Sprintf("RemoveRaftVoter(%v)", e.Voter.ID), false
	case *kraft.ReceiveBeginQuorumEpochResponse:
		return fmt.Sprintf("begun(%v)", &e.PartitionAnswer), true
	case *kraft.ReceiveEndQuorumEpochResponse:
		return fmt.Sprintf("ended(%v)", &e.PartitionAnswer), true
	}
	return "", true
}

func fetchSummary(e *kraft.ReceiveFetchResponse) (text string, quiet bool) {
	switch {
	case e.Response.Error != kraft.None || e.PartitionAnswer.Error != kraft.None:
		return fmt.Sprintf("fetched(%v%v)", topLevel(e.Response.Error), &e.PartitionAnswer), false
	case e.Diverging.Epoch >= 0:
		return fmt.Sprintf("diverging(epoch %d ends at %d)", e.Diverging.Epoch, e.Diverging.Offset), false
	case e.Snapshot.Offset >= 0:
		return fmt.Sprintf("fetch the snapshot(%v)", e.Snapshot), false
	case len(e.Batches) > 0:
		first, last := e.Batches[0], e.Batches[len(e.Batches)-1]
		return fmt.Sprintf("records(%d to %d, epoch=%d high watermark=%d)", first.Base, last.Last, last.Epoch, e.HighWatermark), true
	}
	return fmt.Sprintf("nothing new(epoch=%d high watermark=%d)", e.LeaderEpoch, e.HighWatermark), true
}

func topLevel(code kraft.ErrorCode) string {
	if code == kraft.None {
		return ""
	}
	return code.String() + " "
}
