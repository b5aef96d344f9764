package conform

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// win lets the target be elected: its pre-votes and votes are granted.
func (w *own) win() error {
	w.peers.set(func(p *peers) { p.vote = func(kraft.NodeID, *kmsg.VoteRequestTopicPartition) bool { return true } })
	r, err := w.heard("announce itself as leader", 2*arrival, w.announcement)
	if err != nil {
		return err
	}
	w.facts["epoch"] = int64(r.message.(*kmsg.BeginQuorumEpochRequest).Topics[0].Partitions[0].LeaderEpoch)
	w.facts["leader"] = w.facts["node"]
	w.peers.setLeader(kraft.NoNode, kraft.Epoch(w.facts["epoch"].(int64)))
	return nil
}

// announcement matches the target's announcements that it leads an epoch at or above the current one.
func (w *own) announcement(r *request) bool {
	b, ok := r.message.(*kmsg.BeginQuorumEpochRequest)
	return ok && len(b.Topics) == 1 && int64(b.Topics[0].Partitions[0].LeaderEpoch) >= w.facts["epoch"].(int64)
}

// fetchAs is a voter's or observer's Fetch of the leading target.
func (w *own) fetchAs(id, edits string) (*kmsg.FetchResponse, error) {
	directory := ""
	if id == "$a" || id == "$b" || id == "$c" {
		directory = " p.replicaDirectoryId=" + id + "Directory "
	}
	resp, err := w.ask(wire.KeyFetch, 17, "replicaState.id="+id+" p.currentLeaderEpoch=$epoch"+directory+" "+edits)
	if err != nil {
		return nil, err
	}
	f, ok := resp.(*kmsg.FetchResponse)
	if !ok || len(f.Topics) != 1 || len(f.Topics[0].Partitions) != 1 {
		return nil, errors.New("a Fetch is answered without a partition")
	}
	return f, nil
}

// firstBatch is what a leader begins its epoch with, as assertions see it.
type firstBatch struct {
	Control                         bool
	BaseOffset, Epoch, Type, Leader int64
	Voters, Granting                []int64
}

// readFirst reads the batch at the log end that the target had before it led.
func (w *own) readFirst() (*firstBatch, *kmsg.FetchResponse, error) {
	f, err := w.fetchAs("$a", "p.fetchOffset=$end p.lastFetchedEpoch=$endEpoch")
	if err != nil {
		return nil, nil, err
	}
	batch, _, err := wire.NextBatch(f.Topics[0].Partitions[0].RecordBatches)
	if err != nil {
		return nil, f, fmt.Errorf("the first batch of the epoch: %w", err)
	}
	first := &firstBatch{Control: batch.Control(), BaseOffset: int64(batch.BaseOffset), Epoch: int64(batch.Epoch)}
	err = batch.Each(func(r wire.Record) error {
		control, err := wire.DecodeControl(r.Key, r.Value)
		if err != nil {
			return err
		}
		if change, ok := control.(wire.LeaderChange); ok {
			first.Type, first.Leader = int64(control.Type()), int64(change.Leader)
			for _, v := range change.Voters {
				first.Voters = append(first.Voters, int64(v.ID))
			}
			for _, v := range change.Granting {
				first.Granting = append(first.Granting, int64(v.ID))
			}
		}
		return nil
	})
	return first, f, err
}

// logPosition is how far a replica of the suite has fetched; the zero value is where the log was when the target was elected.
type logPosition struct {
	offset, epoch int64
	known         bool
}

// fetchFrom fetches once as a replica, and returns how far it has got.
func (w *own) fetchFrom(id string, at logPosition, waitMs int, edits ...string) (logPosition, error) {
	if !at.known {
		at = logPosition{w.facts["end"].(int64), w.facts["endEpoch"].(int64), true}
	}
	f, err := w.fetchAs(id, fmt.Sprintf("p.fetchOffset=%d p.lastFetchedEpoch=%d maxWaitMs=%d ", at.offset, at.epoch, waitMs)+strings.Join(edits, " "))
	if err != nil {
		return at, err
	}
	if code := f.Topics[0].Partitions[0].ErrorCode; code != 0 {
		return at, fmt.Errorf("a Fetch as a replica is answered with %s", wire.ErrorName(kraft.ErrorCode(code)))
	}
	for records := f.Topics[0].Partitions[0].RecordBatches; len(records) > 0; {
		batch, rest, err := wire.NextBatch(records)
		if err != nil {
			break
		}
		records = rest
		at.offset, at.epoch = int64(batch.LastOffset())+1, int64(batch.Epoch)
	}
	return at, nil
}

// replicateAs fetches as a replica, from where the log was when the target was elected, until it has everything.
func (w *own) replicateAs(id string) error {
	at := logPosition{}
	for range 50 {
		before := at
		var err error
		if at, err = w.fetchFrom(id, at, 200); err != nil {
			return err
		}
		w.facts["at"], w.facts["atEpoch"] = at.offset, at.epoch
		if before.known && before == at {
			return nil
		}
	}
	return errors.New("the target's log grows for ever")
}

// leaderScenarios are about a node that has won an election.
func leaderScenarios(compat.Profile) []Scenario {
	const source = "KIP-595, KIP-853; Kafka: KafkaRaftClient.onBecomeLeader, pollLeader, LeaderState"
	leader := func(id, says, does string, play func(*own) error) Scenario {
		return scenario("leader/"+id, says, does, source, after((*own).win, play))
	}
	mine := "p.errorCode=NONE p.voteGranted=false p.leaderId=$node p.leaderEpoch=$epoch"
	talk := func(id, says string, steps ...exchangeStep) Scenario {
		return leader(id, says, asWords(steps), talks(steps...))
	}
	announced := func(peer string) func(*own) error {
		return func(w *own) error {
			r, err := w.heard("announce itself to voter "+peer, arrival, func(r *request) bool { return int64(r.peer) == w.facts[peer] && w.announcement(r) })
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "clusterId=$cluster v1+:voterId=$"+peer+" topics.len=1 topics[0].topicName=__cluster_metadata "+
				"topics[0].partitions.len=1 p.partitionIndex=0 p.leaderId=$node p.leaderEpoch=$epoch v1+:leaderEndpoints.len=1 v1+:leaderEndpoints[0].port>=1")
		}
	}
	list := []Scenario{
		leader("announces-itself", "a new leader announces itself to every voter, and says where it is", "wait for BeginQuorumEpoch at both voters", after(announced("a"), announced("b"))),
		leader("announces-itself-again", "a leader goes on announcing itself to a voter that does not fetch", "wait for a second BeginQuorumEpoch", after(announced("a"), announced("a"))),
		talk("grants-no-vote", "a leader grants no vote in its epoch", vote("p.lastOffset=$max p.lastOffsetEpoch=$endEpoch", mine)),
		talk("grants-no-pre-vote", "a leader grants no pre-vote in its epoch", vote("p.preVote=true p.lastOffset=$max p.lastOffsetEpoch=$epoch", mine)),
		talk("hears-its-own-announcement", "an announcement in the leader's own name changes nothing", exchangeStep{wire.KeyBeginQuorumEpoch, 1, "p.leaderId=$node p.leaderEpoch=$epoch", one + "p.errorCode=NONE p.leaderId=$node p.leaderEpoch=$epoch"}),
		talk("hears-its-own-resignation", "a resignation in the leader's own name changes nothing", exchangeStep{wire.KeyEndQuorumEpoch, 1, "p.leaderId=$node p.leaderEpoch=$epoch", one + "p.errorCode=NONE p.leaderId=$node p.leaderEpoch=$epoch"}),
		talk("gives-up-for-a-newer-epoch", "a leader gives up for a newer epoch, even if it refuses the vote",
			exchangeStep{wire.KeyVote, 2, "p.replicaId=$a p.replicaEpoch=$epoch+1 p.lastOffset=0 p.lastOffsetEpoch=0", one + "p.errorCode=NONE p.voteGranted=false p.leaderId=-1 p.leaderEpoch=$epoch+1"},
			exchangeStep{wire.KeyFetch, 17, "p.currentLeaderEpoch=$epoch", "p.errorCode=FENCED_LEADER_EPOCH p.currentLeader.leaderId=-1 p.currentLeader.leaderEpoch=$epoch+1"}),
		talk("gives-up-for-a-newer-leader", "a leader follows one of a newer epoch",
			exchangeStep{wire.KeyBeginQuorumEpoch, 1, "p.leaderId=$b p.leaderEpoch=$epoch+1", one + "p.errorCode=NONE p.leaderId=$b p.leaderEpoch=$epoch+1"},
			exchangeStep{wire.KeyFetch, 17, "p.currentLeaderEpoch=$epoch+1", "p.errorCode=NOT_LEADER_OR_FOLLOWER p.currentLeader.leaderId=$b p.currentLeader.leaderEpoch=$epoch+1"}),
		leader("keeps-its-epoch-against-older-logs", "a vote that a former leader refused moves the epoch, and it may be elected again", "ask for a vote of the next epoch with an empty log, then elect the target again", func(w *own) error {
			w.facts["was"] = w.facts["epoch"]
			if err := w.asks(wire.KeyVote, 2, "p.replicaId=$a p.replicaEpoch=$epoch+1 p.lastOffset=0 p.lastOffsetEpoch=0", one+"p.voteGranted=false p.leaderEpoch=$epoch+1"); err != nil {
				return err
			}
			w.facts["epoch"] = w.facts["epoch"].(int64) + 1
			if err := w.win(); err != nil {
				return err
			}
			return w.expect(&struct{ Epoch int64 }{w.facts["epoch"].(int64)}, 0, "epoch>=$was+2")
		}),
		leader("answers-held-back-fetches-when-it-follows", "Fetches that are held back are refused when the leader follows another", "hold back a Fetch, then announce another leader", heldBack),
		leader("resigns-without-a-majority", "a leader from which no majority fetches resigns, and says so to every voter", "fetch nothing", func(w *own) error {
			r, err := w.heard("resign", 2*arrival, func(r *request) bool { return r.message.Key() == wire.KeyEndQuorumEpoch })
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "clusterId=$cluster topics.len=1 topics[0].topicName=__cluster_metadata p.leaderId=$node p.leaderEpoch=$epoch "+
				"v0-:p.preferredSuccessors.len=2 v1+:p.preferredCandidates.len=2")
		}),
	}
	return append(list, logOfLeaderScenarios(leader)...)
}

// logOfLeaderScenarios are about a leader's log and its high watermark.
func logOfLeaderScenarios(leader func(id, says, does string, play func(*own) error) Scenario) []Scenario {
	return []Scenario{
		leader("begins-with-a-leader-change", "an epoch begins with a control record that says who leads, who votes and who granted the vote", "fetch the first batch", func(w *own) error {
			first, _, err := w.readFirst()
			if err != nil {
				return err
			}
			return w.expect(first, 0, "control=true baseOffset=$end epoch=$epoch type=2 leader=$node voters.len=3 granting.len>=2")
		}),
		leader("high-watermark-waits-for-a-majority", "nothing of an epoch is committed before a majority has its first record", "fetch as a voter that lacks it, then as one that has it", func(w *own) error {
			_, f, err := w.readFirst()
			if err != nil {
				return err
			}
			if err := w.expect(f, 17, "p.errorCode=NONE p.highWatermark=-1 p.records=some p.currentLeader.leaderId=$node p.currentLeader.leaderEpoch=$epoch"); err != nil {
				return err
			}
			if err := w.replicateAs("$a"); err != nil {
				return err
			}
			f, err = w.fetchAs("$a", "p.fetchOffset=$at p.lastFetchedEpoch=$atEpoch")
			if err != nil {
				return err
			}
			return w.expect(f, 17, "p.errorCode=NONE p.highWatermark>=$at")
		}),
		leader("observers-count-for-no-majority", "what an observer has fetched is not committed by it", "fetch everything as an observer", func(w *own) error {
			if err := w.replicateAs("2000000004"); err != nil {
				return err
			}
			f, err := w.fetchAs("2000000004", "p.fetchOffset=$at p.lastFetchedEpoch=$atEpoch")
			if err != nil {
				return err
			}
			return w.expect(f, 17, "p.errorCode=NONE p.highWatermark=-1")
		}),
		leader("keeps-account-of-voters", "a leader knows how far voters and observers have fetched", "fetch as a voter and as an observer, then describe the quorum", func(w *own) error {
			for _, id := range []string{"$a", "2000000004"} {
				if err := w.replicateAs(id); err != nil {
					return err
				}
			}
			resp, err := w.ask(wire.KeyDescribeQuorum, 2, "")
			if err != nil {
				return err
			}
			if err := w.expect(resp, 2, "errorCode=NONE p.errorCode=NONE p.leaderId=$node p.leaderEpoch=$epoch p.currentVoters.len=3 p.observers.len=1 nodes.len=3 "+
				"p.observers[0].replicaId=2000000004 p.observers[0].logEndOffset>=$at p.observers[0].lastFetchTimestamp>=1"); err != nil {
				return err
			}
			p, err := describedPartition(resp)
			if err != nil {
				return err
			}
			for _, v := range p.CurrentVoters {
				if int64(v.ReplicaID) == w.facts["b"] {
					return w.expect(&v, 2, "logEndOffset=-1 lastFetchTimestamp=-1 lastCaughtUpTimestamp=-1")
				}
			}
			return errors.New("a voter that has not fetched is not among the voters")
		}),
	}
}

// errAnswered says that the Fetch was answered before the leader lost its office. It may be: a record came.
var errAnswered = errors.New("a Fetch at the log end is not held back until the leader follows another")

// heldBack has a Fetch held back while the leader loses its office, and tries again where records came first.
func heldBack(w *own) error {
	for range 5 {
		err := heldBackOnce(w)
		if !errors.Is(err, errAnswered) {
			return err
		}
		if err := after((*own).fresh, (*own).win)(w); err != nil {
			return err
		}
	}
	return errAnswered
}

// heldBackOnce asks for records that are not there, and lets the leader lose its office meanwhile.
func heldBackOnce(w *own) error {
	if err := w.replicateAs("$a"); err != nil {
		return err
	}
	other, err := dial(w.ctx, &w.o.Options, w.o.Address)
	if err != nil {
		return err
	}
	defer other.close()
	req := baseline(wire.KeyFetch, 17)
	if err := w.facts.edit(req, "replicaState.id=$b p.currentLeaderEpoch=$epoch p.fetchOffset=$at p.lastFetchedEpoch=$atEpoch maxWaitMs=8000", 17); err != nil {
		return err
	}
	type answer struct {
		resp kmsg.Response
		err  error
	}
	held := make(chan answer, 1)
	go func() {
		resp, err := other.request(req)
		held <- answer{resp, err}
	}()
	select {
	case <-time.After(100 * time.Millisecond): // for it to arrive
	case x := <-held:
		if x.err != nil {
			return x.err
		}
		return errAnswered
	}
	begin := w.asks(wire.KeyBeginQuorumEpoch, 1, "p.leaderId=$a p.leaderEpoch=$epoch+1", one+"p.errorCode=NONE p.leaderId=$a p.leaderEpoch=$epoch+1")
	if begin != nil {
		other.close()
		<-held
		return begin
	}
	x := <-held
	if x.err != nil {
		return x.err
	}
	if f, ok := x.resp.(*kmsg.FetchResponse); ok && len(f.Topics) == 1 && len(f.Topics[0].Partitions) == 1 && f.Topics[0].Partitions[0].ErrorCode == 0 {
		return errAnswered
	}
	return w.expect(x.resp, 17, "p.errorCode=NOT_LEADER_OR_FOLLOWER p.currentLeader.leaderId=$a p.currentLeader.leaderEpoch=$epoch+1 p.highWatermark=-1 p.records.len=0")
}
