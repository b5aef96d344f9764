package conform

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Scenarios are all cases of the own-quorum mode for a release, in the order in which they are played.
func Scenarios(p compat.Profile) []Scenario {
	var all []Scenario
	for _, group := range []func(compat.Profile) []Scenario{unattachedScenarios, followerScenarios, candidateScenarios, leaderScenarios, durabilityScenarios, dynamicScenarios, poisonScenarios} {
		all = append(all, group(p)...)
	}
	return all
}

// scenario makes one from its id, its rule, what is done, its source and the play.
func scenario(id, says, does, source string, play func(*own) error) Scenario {
	return Scenario{Case: Case{ID: id, Says: says, Does: does, Source: source, Level: Must}, play: play}
}

// quirk makes a scenario one of some releases only.
func (s Scenario) quirk(rule string) Scenario {
	s.Level, s.Rule = Quirk, rule
	return s
}

// exchangeStep is a request and what its answer must say.
type exchangeStep struct {
	key, version int16
	ask, want    string
}

// talks plays requests in order.
func talks(steps ...exchangeStep) func(*own) error {
	return func(w *own) error {
		for i, s := range steps {
			if err := w.asks(s.key, s.version, s.ask, s.want); err != nil {
				return fmt.Errorf("request %d: %w", i+1, err)
			}
		}
		return nil
	}
}

// asWords says the requests of a conversation.
func asWords(steps []exchangeStep) string {
	var words []string
	for _, s := range steps {
		words = append(words, fmt.Sprintf("%s v%d (%s) -> %s", apiName(s.key), s.version, s.ask, strings.ReplaceAll(s.want, one, "")))
	}
	return strings.Join(words, "; ")
}

// after plays something first.
func after(first, then func(*own) error) func(*own) error {
	return func(w *own) error {
		if err := first(w); err != nil {
			return err
		}
		return then(w)
	}
}

// vote is a Vote of voter a in the current epoch, changed by the edits.
func vote(edits, want string) exchangeStep {
	return exchangeStep{wire.KeyVote, 2, "p.replicaId=$a p.replicaEpoch=$epoch " + edits, one + want}
}

const (
	granted  = "p.errorCode=NONE p.voteGranted=true p.leaderId=-1 p.leaderEpoch=$epoch"
	refused  = "p.errorCode=NONE p.voteGranted=false p.leaderId=-1 p.leaderEpoch=$epoch"
	bestLog  = "p.lastOffset=$end p.lastOffsetEpoch=$endEpoch"
	shortLog = "p.lastOffset=$end-1 p.lastOffsetEpoch=$endEpoch"
	ofB      = "p.replicaId=$b "
	ofNobody = "p.replicaId=2000000003 "
)

// unattachedScenarios are about a node in an epoch without a leader.
func unattachedScenarios(compat.Profile) []Scenario {
	const source = "KIP-595, KIP-996; Kafka: KafkaRaftClient.handleVoteRequest, UnattachedState.canGrantVote"
	pre := "p.preVote=true "
	var list []Scenario
	add := func(id, says string, steps ...exchangeStep) {
		list = append(list, scenario("unattached/"+id, says, asWords(steps), source, talks(steps...)))
	}
	begin := func(id, epoch, want string) exchangeStep {
		return exchangeStep{wire.KeyBeginQuorumEpoch, 1, "p.leaderId=" + id + " p.leaderEpoch=" + epoch, one + want}
	}
	add("grants-an-equal-log", "a node without a leader grants its vote to a log as long as its own", vote(bestLog, granted))
	add("grants-a-longer-log", "a longer log gets the vote", vote("p.lastOffset=$end+5 p.lastOffsetEpoch=$endEpoch", granted))
	add("refuses-a-shorter-log", "a shorter log of the same epoch gets no vote", vote(shortLog, refused))
	add("refuses-an-older-log", "a log that ends in an older epoch gets no vote, however long", vote("p.lastOffset=$max p.lastOffsetEpoch=$endEpoch-1", refused))
	add("votes-once", "there is one vote in an epoch", vote(bestLog, granted), vote(ofB+bestLog, refused))
	add("votes-again-for-the-same", "the same candidate gets the same answer again", vote(bestLog, granted), vote(bestLog, granted))
	add("repeats-without-looking-at-the-log", "a vote that was given is confirmed whatever the log", vote(bestLog, granted), vote(shortLog, granted))
	add("refusal-is-no-vote", "who was refused has taken nothing: the next one gets the vote", vote(shortLog, refused), vote(ofB+bestLog, granted))
	add("directory-tells-candidates-apart", "a candidate with another directory id is another candidate",
		vote("p.replicaDirectoryId=strange "+bestLog, granted), vote("p.replicaDirectoryId=metadata "+bestLog, refused))
	add("grants-to-a-stranger", "who asks need not be a voter as far as the asked one knows", vote(ofNobody+bestLog, granted))
	add("newer-epoch-moves-it-even-if-refused", "a refused vote of a newer epoch moves the epoch",
		exchangeStep{wire.KeyVote, 2, "p.replicaId=$a p.replicaEpoch=$epoch+1 " + shortLog, one + "p.errorCode=NONE p.voteGranted=false p.leaderId=-1 p.leaderEpoch=$epoch+1"},
		vote(bestLog, "p.errorCode=FENCED_LEADER_EPOCH p.voteGranted=false p.leaderEpoch=$epoch+1"))
	add("newer-epoch-moves-it-even-for-another-voter", "a vote of a newer epoch moves the epoch even if it was meant for another voter",
		exchangeStep{wire.KeyVote, 2, "p.replicaId=$a p.replicaEpoch=$epoch+1 voterId=$b " + bestLog, one + "p.errorCode=INVALID_VOTER_KEY p.voteGranted=false p.leaderId=-1 p.leaderEpoch=$epoch+1"},
		vote(bestLog, "p.errorCode=FENCED_LEADER_EPOCH p.leaderEpoch=$epoch+1"))
	add("a-new-epoch-has-a-new-vote", "the vote of an epoch is not that of the next", vote(bestLog, granted),
		exchangeStep{wire.KeyVote, 2, "p.replicaId=$b p.replicaEpoch=$epoch+1 " + bestLog, one + "p.errorCode=NONE p.voteGranted=true p.leaderEpoch=$epoch+1"})
	add("invalid-request-moves-nothing", "an invalid vote of a newer epoch moves nothing",
		exchangeStep{wire.KeyVote, 2, "p.replicaId=$a p.replicaEpoch=$epoch+1 p.lastOffset=-1", one + "p.errorCode=INVALID_REQUEST p.leaderEpoch=$epoch"}, vote(bestLog, granted))
	add("other-cluster-moves-nothing", "a vote of another cluster moves nothing",
		exchangeStep{wire.KeyVote, 2, "clusterId=other p.replicaId=$a p.replicaEpoch=$epoch+5 " + bestLog, "errorCode=INCONSISTENT_CLUSTER_ID topics.len=0"}, vote(bestLog, granted))
	add("prevote-granted-to-several", "pre-votes may be granted to many", vote(pre+bestLog, granted), vote(pre+ofB+bestLog, granted), vote(pre+ofNobody+bestLog, granted))
	add("prevote-is-no-vote", "a pre-vote is no vote: another candidate gets that", vote(pre+bestLog, granted), vote(ofB+bestLog, granted))
	add("prevote-granted-after-a-vote", "who has voted grants pre-votes still", vote(bestLog, granted), vote(pre+ofB+bestLog, granted))
	add("prevote-refused-to-a-shorter-log", "a shorter log gets no pre-vote", vote(pre+shortLog, refused))
	add("prevote-of-a-newer-epoch-moves-it", "a pre-vote of a newer epoch moves the epoch",
		exchangeStep{wire.KeyVote, 2, pre + "p.replicaId=$a p.replicaEpoch=$epoch+1 " + bestLog, one + "p.errorCode=NONE p.voteGranted=true p.leaderId=-1 p.leaderEpoch=$epoch+1"})
	add("serves-no-fetch", "a node without a leader serves no Fetch, and names nobody",
		exchangeStep{wire.KeyFetch, 17, "p.currentLeaderEpoch=$epoch", "errorCode=NONE p.errorCode=NOT_LEADER_OR_FOLLOWER p.currentLeader.leaderId=-1 p.currentLeader.leaderEpoch=$epoch nodeEndpoints.len=0 p.highWatermark=-1"})
	add("describes-no-quorum", "a node without a leader describes no quorum",
		exchangeStep{wire.KeyDescribeQuorum, 2, "", "errorCode=NONE p.errorCode=NOT_LEADER_OR_FOLLOWER p.leaderId=0 p.leaderEpoch=0"})
	add("follows-who-announces-itself", "a leader of the epoch that announces itself is followed",
		begin("$a", "$epoch", "p.errorCode=NONE p.leaderId=$a p.leaderEpoch=$epoch"), vote(ofB+bestLog, "p.errorCode=NONE p.voteGranted=false p.leaderId=$a"))
	add("follows-whom-it-did-not-vote-for", "the leader need not be who got the vote", vote(bestLog, granted),
		begin("$b", "$epoch", "p.errorCode=NONE p.leaderId=$b p.leaderEpoch=$epoch"))
	add("follows-into-a-newer-epoch", "a leader of a newer epoch is followed at once",
		begin("$a", "$epoch+1", "p.errorCode=NONE p.leaderId=$a p.leaderEpoch=$epoch+1"))
	add("follows-even-if-the-voter-key-is-wrong", "an announcement moves the epoch even if it was meant for another voter",
		exchangeStep{wire.KeyBeginQuorumEpoch, 1, "p.leaderId=$a p.leaderEpoch=$epoch+1 voterId=$b", one + "p.errorCode=INVALID_VOTER_KEY p.leaderEpoch=$epoch+1"},
		exchangeStep{wire.KeyVote, 2, ofB + "p.replicaEpoch=$epoch+1 " + bestLog, one + "p.errorCode=NONE p.voteGranted=false p.leaderId=$a p.leaderEpoch=$epoch+1"})
	add("learns-the-leader-from-its-resignation", "who resigns was the leader, and is followed until the election",
		exchangeStep{wire.KeyEndQuorumEpoch, 1, "p.leaderId=$a p.leaderEpoch=$epoch", one + "p.errorCode=NONE p.leaderId=$a p.leaderEpoch=$epoch"})
	list = append(list, scenario("unattached/fetches-to-find-the-leader", "a node without a leader fetches from voters to find one", "wait for a Fetch of the epoch",
		"KIP-853, KAFKA-17030; Kafka: KafkaRaftClient.pollUnattached", func(w *own) error {
			r, err := w.heard("fetch", arrival, func(r *request) bool {
				f, ok := r.message.(*kmsg.FetchRequest)
				return ok && int64(f.Topics[0].Partitions[0].CurrentLeaderEpoch) == w.facts["epoch"]
			})
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "clusterId=$cluster v15+:replicaState.id=$node p.fetchOffset=$end p.lastFetchedEpoch=$endEpoch")
		}))
	list = append(list, scenario("unattached/keeps-its-vote-when-pre-votes-are-refused", "who has voted and then asks in vain for pre-votes has voted still", "grant, refuse pre-votes for two rounds, ask again",
		"KIP-595, KIP-996; Kafka: QuorumState.transitionToUnattached, KafkaRaftClient.prospectiveTransitionAfterElectionLoss",
		inOrder(talks(vote(bestLog, granted)), (*own).losesPreVotes, talks(vote(ofB+bestLog, refused), vote(bestLog, granted)))))
	return list
}

// prevoteOf matches the target's pre-votes (or votes) of an epoch at or above the current one.
func (w *own) voteRequest(pre bool) func(*request) bool {
	epoch := w.facts["epoch"].(int64)
	return func(r *request) bool {
		v, ok := r.message.(*kmsg.VoteRequest)
		return ok && len(v.Topics) == 1 && v.Topics[0].Partitions[0].PreVote == pre && int64(v.Topics[0].Partitions[0].CandidateEpoch) >= epoch
	}
}

// stand lets the target stand for election: its pre-votes are granted until it does, and nothing afterwards.
func (w *own) stand() (*request, error) {
	stood, epoch := false, w.facts["epoch"].(int64)
	w.peers.set(func(p *peers) {
		p.vote = func(_ kraft.NodeID, v *kmsg.VoteRequestTopicPartition) bool {
			stood = stood || !v.PreVote && int64(v.CandidateEpoch) >= epoch // an older one may be on its way
			return !stood && v.PreVote
		}
	})
	r, err := w.heard("stand for election", 2*arrival, w.voteRequest(false))
	if err == nil {
		w.facts["epoch"] = int64(r.message.(*kmsg.VoteRequest).Topics[0].Partitions[0].CandidateEpoch)
	}
	return r, err
}

// losesPreVotes waits for the target to have been refused pre-votes.
func (w *own) losesPreVotes() error {
	match := w.voteRequest(true)
	for range 2 { // the second follows the loss of the first
		r, err := w.heard("ask voter a for a pre-vote", 2*arrival, func(r *request) bool { return int64(r.peer) == w.facts["a"] && match(r) })
		if err != nil {
			return err
		}
		if err := w.expect(r.message, r.version, "p.replicaEpoch=$epoch"); err != nil {
			return err
		}
	}
	return nil
}

// candidateScenarios are about a node that wants to lead.
func candidateScenarios(compat.Profile) []Scenario {
	const source = "KIP-595, KIP-996; Kafka: KafkaRaftClient.pollProspective, pollCandidate, ProspectiveState, CandidateState"
	candidate := func(id, says, does string, play func(*own) error) Scenario {
		return scenario("candidate/"+id, says, does, source, play)
	}
	const asks = "clusterId=$cluster voterId>=$least topics.len=1 topics[0].topicName=__cluster_metadata topics[0].partitions.len=1 " +
		"p.partitionIndex=0 p.replicaId=$node p.lastOffset=$end p.lastOffsetEpoch=$endEpoch "
	standing := func(steps ...exchangeStep) func(*own) error {
		return func(w *own) error {
			if _, err := w.stand(); err != nil {
				return err
			}
			return talks(steps...)(w)
		}
	}
	return []Scenario{
		candidate("asks-for-pre-votes-first", "a node that wants to lead asks all voters for pre-votes in its own epoch", "wait for a Vote at each voter", func(w *own) error {
			w.facts["least"] = min(w.facts["a"].(int64), w.facts["b"].(int64))
			for _, peer := range []string{"a", "b"} {
				match := w.voteRequest(true)
				r, err := w.heard("ask voter "+peer+" for a pre-vote", arrival, func(r *request) bool { return int64(r.peer) == w.facts[peer] && match(r) })
				if err != nil {
					return err
				}
				if err := w.expect(r.message, r.version, asks+"p.preVote=true p.replicaEpoch=$epoch voterId=$"+peer); err != nil {
					return err
				}
			}
			return nil
		}),
		candidate("refused-pre-votes-raise-no-epoch", "a node that gets no pre-votes stays in its epoch", "refuse pre-votes for two rounds", func(w *own) error {
			if err := w.losesPreVotes(); err != nil {
				return err
			}
			return w.asks(wire.KeyFetch, 17, "p.currentLeaderEpoch=$epoch", "p.errorCode=NOT_LEADER_OR_FOLLOWER p.currentLeader.leaderEpoch=$epoch")
		}),
		candidate("stands-with-a-majority-of-pre-votes", "pre-votes of a majority make a candidate of the next epoch, which asks for votes", "grant pre-votes", func(w *own) error {
			was := w.facts["epoch"].(int64)
			r, err := w.stand()
			if err != nil {
				return err
			}
			w.facts["least"], w.facts["was"] = min(w.facts["a"].(int64), w.facts["b"].(int64)), was
			return w.expect(r.message, r.version, asks+"p.preVote=false p.replicaEpoch=$was+1")
		}),
		candidate("votes-for-itself", "a candidate has given its vote to itself", "grant pre-votes, then ask the candidate for its vote", standing(vote(bestLog, refused))),
		candidate("grants-pre-votes", "a candidate grants pre-votes", "grant pre-votes, then ask the candidate for one", standing(vote("p.preVote=true "+bestLog, granted))),
		candidate("refuses-pre-votes-to-a-shorter-log", "a candidate grants a shorter log no pre-vote", "grant pre-votes, then ask the candidate for one", standing(vote("p.preVote=true "+shortLog, refused))),
		candidate("serves-no-fetch", "a candidate serves no Fetch, and names nobody", "grant pre-votes, then fetch", standing(
			exchangeStep{wire.KeyFetch, 17, "p.currentLeaderEpoch=$epoch", "p.errorCode=NOT_LEADER_OR_FOLLOWER p.currentLeader.leaderId=-1 p.currentLeader.leaderEpoch=$epoch"})),
		candidate("follows-who-has-won", "a candidate follows another one that has won its epoch", "grant pre-votes, then announce a leader", func(w *own) error {
			if _, err := w.stand(); err != nil {
				return err
			}
			return w.follow("$b")
		}),
		candidate("gives-up-for-a-newer-epoch", "a candidate gives up for a newer epoch", "grant pre-votes, then ask for a vote in the next epoch", standing(
			exchangeStep{wire.KeyVote, 2, "p.replicaId=$a p.replicaEpoch=$epoch+1 " + bestLog, one + "p.errorCode=NONE p.voteGranted=true p.leaderEpoch=$epoch+1"})),
		candidate("loses-without-raising-the-epoch-further", "a candidate that has lost asks for pre-votes again before it stands again", "grant pre-votes, refuse votes, then refuse pre-votes", func(w *own) error {
			if _, err := w.stand(); err != nil {
				return err
			}
			w.peers.set(func(p *peers) { p.vote = nil })
			r, err := w.heard("ask for a pre-vote", 2*arrival, w.voteRequest(true))
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "p.replicaEpoch=$epoch")
		}),
	}
}
