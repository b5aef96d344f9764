package safety

import "github.com/understudy-kafka/understudy/kraft"

// History is what has happened in a quorum, as far as the invariants ask for it. A driver calls the method named for what a node has
// done, before anything that follows from it; the first violation ends the run. Nodes have small indices of the driver's choice: an
// index stands for a replica key, so a node with a new disk has a new one.
type History struct {
	leaders   []kraft.NodeID // by epoch; NoNode: none yet
	committed []Link         // by offset; a zero hash within a batch
	commits   []commit       // what each epoch's leader has committed, in order
	written   []written      // by the last offset of a batch: every (offset, epoch) that was ever written
	more      []written      // further epochs at an offset
	acked     []Link
	replicas  []replica
}

// written is the content of a log up to a batch.
type written struct {
	link Link
	next int32 // in more, plus 1
}

// commit says up to where the leaders of the epochs up to one have committed.
type commit struct {
	epoch kraft.Epoch
	end   kraft.Offset
}

// replica is what is remembered of a node.
type replica struct {
	epoch     kraft.Epoch
	votedIn   kraft.Epoch
	votedFor  kraft.NodeID
	watermark kraft.Offset // in this run
}

// Reset forgets everything and keeps the storage.
func (h *History) Reset() {
	h.leaders, h.committed, h.written, h.more = h.leaders[:0], h.committed[:0], h.written[:0], h.more[:0]
	h.acked, h.replicas, h.commits = h.acked[:0], h.replicas[:0], h.commits[:0]
}

func (h *History) replica(at int) *replica {
	for at >= len(h.replicas) {
		h.replicas = append(h.replicas, replica{votedIn: -1, votedFor: kraft.NoNode, watermark: -1})
	}
	return &h.replicas[at]
}

// Started says that a process has begun; what it knew of the high watermark is gone.
func (h *History) Started(at int) { h.replica(at).watermark = -1 }

// Committed is the offset up to which the log is known to be committed.
func (h *History) Committed() kraft.Offset { return kraft.Offset(len(h.committed)) }

// maxEpoch bounds what a table by epoch is grown to.
const maxEpoch = 1 << 22

// Named says that a message or a durable state names the leader of an epoch.
func (h *History) Named(node, leader kraft.NodeID, epoch kraft.Epoch) *Violation {
	if leader < 0 || epoch < 0 || epoch > maxEpoch {
		return nil
	}
	for int(epoch) >= len(h.leaders) {
		h.leaders = append(h.leaders, kraft.NoNode)
	}
	switch known := h.leaders[epoch]; known {
	case kraft.NoNode:
		h.leaders[epoch] = leader
	case leader:
	default:
		return broken(ElectionSafety, node, "names %v as the leader of epoch %d, and it is %v", leader, epoch, known)
	}
	return nil
}

// Elected says that a node has become the leader of an epoch, with that log. It must hold what the leaders of lower epochs have committed; the last
// answer that elects it may come when a higher epoch has a leader already that commits.
func (h *History) Elected(node kraft.NodeID, epoch kraft.Epoch, log *Chain) *Violation {
	if v := h.Named(node, node, epoch); v != nil {
		return v
	}
	end := h.committedUpTo(epoch - 1)
	if end == 0 {
		return nil
	}
	if link, ok := log.Before(end); ok && link.Hash == h.committed[end-1].Hash {
		return nil
	}
	if link, ok := log.Holding(end); ok && log.before.Last >= end-1 && link.Last < h.Committed() && h.committed[link.Last].Hash == link.Hash {
		return nil // its log begins behind it
	}
	return broken(LeaderCompleteness, node, "leads epoch %d, lacks what was committed up to %d: its log ends %v", epoch, end-1, log.Last())
}

// committedUpTo is what the leaders of the epochs up to one have committed.
func (h *History) committedUpTo(epoch kraft.Epoch) kraft.Offset {
	for i := len(h.commits) - 1; i >= 0; i-- {
		if h.commits[i].epoch <= epoch {
			return h.commits[i].end
		}
	}
	return 0
}

// Appended says that a node has written a batch.
func (h *History) Appended(node kraft.NodeID, l Link) *Violation {
	for int(l.Last) >= len(h.written) {
		h.written = append(h.written, written{})
	}
	w := &h.written[l.Last]
	if w.link.Hash == 0 {
		w.link = l
		return nil
	}
	for {
		if w.link.Epoch == l.Epoch {
			if w.link.Hash != l.Hash {
				return broken(LogMatching, node, "writes a batch up to %d of epoch %d behind another log than the one it was written to before",
					l.Last, l.Epoch)
			}
			return nil
		}
		if w.next == 0 {
			break
		}
		w = &h.more[w.next-1]
	}
	w.next = int32(len(h.more) + 1)
	h.more = append(h.more, written{link: l})
	return nil
}

// Truncates says that a node in an epoch is about to cut its log off at the offset. What the leaders of higher epochs have committed meanwhile, it
// may lose: a majority has it without this node, which does not know of them yet.
func (h *History) Truncates(node kraft.NodeID, epoch kraft.Epoch, offset kraft.Offset, log *Chain) *Violation {
	end := h.committedUpTo(epoch)
	if offset >= end {
		return nil
	}
	if l, ok := log.Holding(offset); ok && l.Last < end && h.committed[l.Last].Hash == l.Hash {
		return broken(TruncationBound, node, "cuts its log off at %d in epoch %d, %d is committed", offset, epoch, end)
	}
	return nil
}

// Watermark says that a node counts everything below the offset as committed. Only a leader is the first to do so.
func (h *History) Watermark(at int, node kraft.NodeID, offset kraft.Offset, leads bool, epoch kraft.Epoch, log *Chain) *Violation {
	r := h.replica(at)
	if offset < r.watermark {
		return broken(MonotoneWatermark, node, "the high watermark falls from %d to %d", r.watermark, offset)
	}
	r.watermark = offset
	if offset == 0 {
		return nil
	}
	l, ok := log.Before(offset)
	if !ok {
		return broken(MonotoneWatermark, node, "the high watermark %d is no end of a batch of its log, which ends %v", offset, log.Last())
	}
	end := h.Committed()
	if offset <= end {
		if h.committed[offset-1].Hash != l.Hash {
			return broken(StateMachineSafety, node, "counts other records as committed up to %d than were committed there before", offset)
		}
		return nil
	}
	if !leads {
		return broken(StateMachineSafety, node, "counts %d as committed, leaders have committed %d", offset, end)
	}
	return h.commit(node, offset, epoch, log)
}

// commit adds what a leader has committed. The part that was committed before must be in its log as it was.
func (h *History) commit(node kraft.NodeID, offset kraft.Offset, epoch kraft.Epoch, log *Chain) *Violation {
	end := h.Committed()
	if end > 0 {
		if l, ok := log.Before(end); !ok || l.Hash != h.committed[end-1].Hash {
			return broken(StateMachineSafety, node, "commits %d behind other records than were committed up to %d before", offset, end)
		}
	}
	first := len(log.links)
	for first > 0 && log.links[first-1].Last >= end {
		first--
	}
	for _, l := range log.links[first:] {
		if l.Last >= offset {
			break
		}
		for kraft.Offset(len(h.committed)) < l.Last {
			h.committed = append(h.committed, Link{Last: -1})
		}
		h.committed = append(h.committed, l)
	}
	if n := len(h.commits); n > 0 && h.commits[n-1].epoch == epoch {
		h.commits[n-1].end = h.Committed()
	} else {
		h.commits = append(h.commits, commit{epoch, h.Committed()})
	}
	return nil
}

// Snapshot says that a node holds a snapshot that ends at the offset and stands for what the link says.
func (h *History) Snapshot(node kraft.NodeID, offset kraft.Offset, l Link) *Violation {
	switch {
	case offset == 0:
		return nil
	case offset > h.Committed():
		return broken(SnapshotIsPrefix, node, "a snapshot up to %d, committed are %d", offset, h.Committed())
	case h.committed[offset-1].Hash != l.Hash:
		return broken(SnapshotIsPrefix, node, "the snapshot up to %d stands for other records than the committed ones", offset)
	}
	return nil
}

// Acknowledged says that a writer was told that the batch that it wrote is committed.
func (h *History) Acknowledged(l Link) { h.acked = append(h.acked, l) }

// Acks is the number of acknowledgements.
func (h *History) Acks() int { return len(h.acked) }

// Kept checks that every acknowledged record is where it was acknowledged, in the log of a leader that has committed.
func (h *History) Kept(node kraft.NodeID) *Violation {
	for _, l := range h.acked {
		if l.Last >= h.Committed() || h.committed[l.Last].Hash != l.Hash {
			return broken(AcknowledgedKept, node, "the record at %d, written in epoch %d, was acknowledged and is not in the committed log",
				l.Last, l.Epoch)
		}
	}
	return nil
}

// Persisted says that a node has written its election state.
func (h *History) Persisted(at int, node kraft.NodeID, s kraft.QuorumState) *Violation {
	r := h.replica(at)
	if s.Epoch < r.epoch {
		return broken(MonotoneEpoch, node, "goes from epoch %d to %v", r.epoch, s)
	}
	r.epoch = s.Epoch
	return h.Named(node, s.Leader, s.Epoch)
}

// Told says that a message of a node says that it is in an epoch, led by that node.
func (h *History) Told(at int, node kraft.NodeID, epoch kraft.Epoch, leader kraft.NodeID, durable *kraft.QuorumState) *Violation {
	if epoch > durable.Epoch {
		return broken(PersistBeforeSend, node, "tells of epoch %d, durable is %v", epoch, *durable)
	}
	if r := h.replica(at); epoch < r.epoch {
		return broken(MonotoneEpoch, node, "tells of epoch %d after epoch %d", epoch, r.epoch)
	}
	return h.Named(node, leader, epoch)
}

// Voted says that a node tells a candidate that it has its vote in an epoch, or asks for votes itself.
func (h *History) Voted(at int, node, candidate kraft.NodeID, epoch kraft.Epoch, durable *kraft.QuorumState) *Violation {
	r := h.replica(at)
	switch {
	case epoch == r.votedIn && candidate != r.votedFor:
		return broken(OneVote, node, "votes for %v in epoch %d, and has voted for %v", candidate, epoch, r.votedFor)
	case epoch < r.votedIn:
		return broken(OneVote, node, "votes in epoch %d after it has voted in epoch %d", epoch, r.votedIn)
	case durable.Epoch != epoch || durable.Voted.ID != candidate:
		return broken(PersistBeforeSend, node, "votes for %v in epoch %d, durable is %v", candidate, epoch, *durable)
	}
	r.votedIn, r.votedFor = epoch, candidate
	return nil
}
