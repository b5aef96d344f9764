package doctor

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// compare looks for what contradicts itself between the directories.
func (r *Report) compare() {
	for i, a := range r.Directories {
		for _, b := range r.Directories[:i] {
			if !a.formatted || !b.formatted {
				continue
			}
			if a.ClusterID != b.ClusterID {
				r.find(Damage, "other-cluster", a, -1, "these directories do not belong together", "it belongs to cluster %s, %s to %s", a.ClusterID, b.Path, b.ClusterID)
				continue
			}
			if a.Key.ID == b.Key.ID {
				r.find(Damage, "same-node", a, -1, "name one directory of each node; two running nodes with one id ruin a quorum", "it and %s are both of node %v", b.Path, a.Key.ID)
			}
			if a.Key.DirectoryID == b.Key.DirectoryID && !a.Key.DirectoryID.IsZero() && a.Key.ID != b.Key.ID {
				r.find(Damage, "same-directory-id", a, -1, "the one that was copied needs an id of its own", "it and %s have directory id %v", b.Path, a.Key.DirectoryID)
			}
			r.compareLeaders(a, b)
			r.compareForgotten(a, b)
			r.compareForgotten(b, a)
			if equal := r.compareLogs(a, b); !equal || !a.isPrefixOf(b) && !b.isPrefixOf(a) { // else the log that is behind will learn
				r.compareVoters(a, b)
			}
		}
	}
	r.compareEpochs()
}

func (r *Report) find(s Severity, kind string, d *Directory, offset kraft.Offset, action, evidence string, args ...any) {
	r.Findings = append(r.Findings, Finding{s, kind, d.Path, offset, fmt.Sprintf(evidence, args...), action})
}

// compareLogs: equal offset and epoch must mean equal bytes; it is what Raft rests on.
func (r *Report) compareLogs(a, b *Directory) (equal bool) {
	for i, j := 0, 0; i < len(a.sums) && j < len(b.sums); {
		x, y := a.sums[i], b.sums[j]
		switch {
		case x.base < y.base:
			i++
		case x.base > y.base:
			j++
		default:
			if x.epoch == y.epoch && x.crc != y.crc {
				r.find(Damage, "logs-diverge", a, x.base, "keep both directories; Kafka truncates by epochs and would leave them different: the node whose log the majority does not share must fetch anew",
					"the batch at offset %d of epoch %d differs from that in %s", x.base, x.epoch, b.Path)
				return false
			}
			i, j = i+1, j+1
		}
	}
	return true
}

// compareLeaders: an epoch has one leader.
func (r *Report) compareLeaders(a, b *Directory) {
	for epoch, leader := range a.leaders {
		if other, ok := b.leaders[epoch]; ok && other != leader {
			r.find(Damage, "two-leaders", a, -1, "keep both directories as evidence", "epoch %d was led by %v here, by %v in %s", epoch, leader, other, b.Path)
		}
	}
}

// compareForgotten: a leader that has lost its disk ends each time another tells it that it leads (KafkaRaftClient.maybeTransition), and the
// others do so until they have elected somebody.
func (r *Report) compareForgotten(a, b *Directory) {
	if a.HasState || len(a.sums) > 0 || !b.HasState || b.State.Leader != a.Key.ID {
		return
	}
	r.find(Risk, "forgot-that-it-led", a, -1, "start the others first, and this node when one of them leads",
		"it holds nothing, but to %s node %v is the leader of epoch %d: when it is told so, its process ends", b.Path, a.Key.ID, b.State.Epoch)
}

// compareVoters: two sets of which both can have a majority without a common member can elect two leaders (KAFKA-19489).
func (r *Report) compareVoters(a, b *Directory) {
	if a.KRaftVersion != b.KRaftVersion && len(a.sums) > 0 && len(b.sums) > 0 {
		r.find(Risk, "kraft-versions-differ", a, a.votersAt, "if one log is behind, it will learn; if both were formatted, format them alike",
			"kraft.version %d with %d voters, in %s %d with %d", a.KRaftVersion, a.voters.Len(), b.Path, b.KRaftVersion, b.voters.Len())
		return
	}
	if a.voters.Len() == 0 || b.voters.Len() == 0 || a.voters.Equal(b.voters) {
		return
	}
	common := 0
	for i := range a.voters.Len() {
		if v := b.voters.Find(a.voters.At(i).Key.ID); v != nil && v.Key == a.voters.At(i).Key {
			common++
		}
	}
	fromCommon := max(0, majority(a.voters.Len())-(a.voters.Len()-common)) + max(0, majority(b.voters.Len())-(b.voters.Len()-common))
	if fromCommon <= common {
		r.find(Damage, "voter-sets-apart", a, a.votersAt, "do not start them together: two leaders could be elected; decide whose log counts and format the others without initial controllers",
			"its voters %v and those of %s, %v, have majorities without a common member", a.VoterIDs, b.Path, b.VoterIDs)
		return
	}
	r.find(Note, "voter-sets-differ", a, a.votersAt, "", "its voters are %v (offset %d), in %s %v (offset %d)", a.VoterIDs, a.votersAt, b.Path, b.VoterIDs, b.votersAt)
}

// compareEpochs: an epoch above what any leader wrote tells of elections without a winner.
func (r *Report) compareEpochs() {
	highest := kraft.Epoch(-1)
	for _, d := range r.Directories {
		highest = max(highest, d.End.LastEpoch)
	}
	for _, d := range r.Directories {
		if d.HasState && d.State.Epoch > highest+3 && highest >= 0 {
			r.Findings = append(r.Findings, Finding{
				Risk, "epoch-without-leader", filepath.Join(d.Path, storage.PartitionDir, storage.QuorumStateFile), -1,
				fmt.Sprintf("it says epoch %d, the last leader wrote in epoch %d", d.State.Epoch, highest),
				"look for voters that cannot reach each other, or whose keys are stale: elections were held and nobody won",
			})
		}
	}
}

// isPrefixOf reports whether the other log goes on where this one ends.
func (d *Directory) isPrefixOf(o *Directory) bool {
	return len(d.sums) > 0 && o.holds(d.sums[len(d.sums)-1])
}

func majority(n int) int { return n/2 + 1 }

// Election says what these directories can elect.
type Election struct {
	CanElect   bool        `json:"canElect"`
	Reason     string      `json:"reason"`
	Candidates []Candidate `json:"candidates,omitempty"` // who can win, the longest log first
	Missing    []string    `json:"missing,omitempty"`    // voters without a directory here, or whose start fails
}

// Candidate is a node that can win, and what the others would lose to it.
type Candidate struct {
	Node    kraft.ReplicaKey `json:"node"`
	End     kraft.LogEnd     `json:"end"`
	Votes   int              `json:"votes"`
	Of      int              `json:"of"`
	Loses   []Loss           `json:"loses,omitempty"`
	dir     *Directory
	granted []kraft.NodeID
}

// Loss are offsets that a directory holds and that would be truncated if the candidate won.
type Loss struct {
	Directory string       `json:"directory"`
	From      kraft.Offset `json:"from"`
	To        kraft.Offset `json:"to"` // not included
}

func (e *Election) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "election: %s\n", e.Reason)
	for _, c := range e.Candidates {
		fmt.Fprintf(&b, "  node %v can win with %d of %d votes; its log ends at %v", c.Node, c.Votes, c.Of, c.End)
		for _, l := range c.Loses {
			fmt.Fprintf(&b, "; %s would lose offsets %d to %d", l.Directory, l.From, l.To-1)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// elect plays the vote: a nominee needs a majority of the voters that it knows itself; a voter grants if the nominee's log is not behind
// its own (Kafka: KafkaRaftClient.handleVoteRequest). Whom it knows of as voters does not matter to it.
func (r *Report) elect() {
	e := &r.Election
	known := false
	for _, c := range r.Directories {
		voters := c.votersOf()
		if len(voters) == 0 || !c.formatted {
			continue
		}
		known = true
		own := Candidate{Node: c.Key, End: c.End, Of: len(voters), dir: c}
		isVoter := false
		for _, v := range voters {
			d := r.voter(v)
			if d == nil {
				e.miss(fmt.Sprintf("%v: no directory given", v))
				continue
			}
			if !d.Starts {
				e.miss(fmt.Sprintf("%v: %s does not start", v, d.Path))
				continue
			}
			isVoter = isVoter || d == c
			if c.End.Compare(d.End) >= 0 {
				own.Votes++
				own.granted = append(own.granted, v.ID)
			}
		}
		if isVoter && own.Votes >= majority(len(voters)) && c.Starts {
			own.Loses = r.losses(c)
			e.add(own)
		}
	}
	e.CanElect = len(e.Candidates) > 0
	switch {
	case !known:
		e.Reason = "the voters are not known: a static quorum has them in controller.quorum.voters, a node that never followed a leader not at all"
	case e.CanElect:
		e.Reason = "a leader can be elected"
	case len(e.Missing) > 0:
		e.Reason = "no leader can be elected from these directories: a majority is missing (" + strings.Join(e.Missing, "; ") + ")"
	default:
		e.Reason = "no leader can be elected from these directories: nobody's log satisfies a majority"
	}
}

func (e *Election) add(c Candidate) {
	at := len(e.Candidates)
	for at > 0 && e.Candidates[at-1].End.Compare(c.End) < 0 {
		at--
	}
	e.Candidates = append(e.Candidates, Candidate{})
	copy(e.Candidates[at+1:], e.Candidates[at:])
	e.Candidates[at] = c
}

func (e *Election) miss(text string) {
	for _, m := range e.Missing {
		if m == text {
			return
		}
	}
	e.Missing = append(e.Missing, text)
}

// votersOf are the voters that a node knows: of the last record, or, in a static quorum, those that quorum-state names.
func (d *Directory) votersOf() []kraft.ReplicaKey {
	if len(d.VoterIDs) > 0 {
		return d.VoterIDs
	}
	var list []kraft.ReplicaKey
	for _, id := range d.named {
		list = append(list, kraft.ReplicaKey{ID: id})
	}
	return list
}

// voter is the directory that a voter key stands for.
func (r *Report) voter(key kraft.ReplicaKey) *Directory {
	for _, d := range r.Directories {
		if d.formatted && d.Key.ID == key.ID && (key.DirectoryID.IsZero() || key.DirectoryID == d.Key.DirectoryID) {
			return d
		}
	}
	return nil
}

// losses are what the others hold behind the last batch that they share with the winner.
func (r *Report) losses(winner *Directory) (list []Loss) {
	for _, d := range r.Directories {
		if d == winner || !d.formatted || d.ClusterID != winner.ClusterID {
			continue
		}
		if from, to := d.view.End, d.view.End; len(d.sums) > 0 {
			for i := len(d.sums) - 1; i >= 0 && !winner.holds(d.sums[i]); i-- {
				from = d.sums[i].base
			}
			if from < to {
				list = append(list, Loss{filepath.Clean(d.Path), from, to})
			}
		}
	}
	return list
}

// holds reports whether the log has the batch, or a snapshot in its place.
func (d *Directory) holds(s sum) bool {
	if s.last < d.view.Start {
		last, _ := d.view.LatestSnapshot() // a snapshot stands for what was there
		return s.epoch <= last.Epoch
	}
	for i := len(d.sums) - 1; i >= 0 && d.sums[i].base >= s.base; i-- {
		if d.sums[i] == s {
			return true
		}
	}
	return false
}
