package conform

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// following is the target as follower of voter a, that has fetched from it.
func following(then func(*own) error) func(*own) error {
	return after(func(w *own) error {
		if err := w.follow("$a"); err != nil {
			return err
		}
		_, err := w.fetches("$a") // so that an earlier one was answered
		return err
	}, then)
}

// followerScenarios are about a node that has a leader.
func followerScenarios(p compat.Profile) []Scenario {
	const source = "KIP-595; Kafka: KafkaRaftClient.pollFollower, handleFetchResponse, FollowerState"
	follower := func(id, says, does string, play func(*own) error) Scenario {
		return scenario("follower/"+id, says, does, source, following(play))
	}
	led := "p.errorCode=NONE p.voteGranted=false p.leaderId=$a p.leaderEpoch=$epoch"
	talk := func(id, says string, steps ...exchangeStep) Scenario {
		return follower(id, says, asWords(steps), talks(steps...))
	}
	list := []Scenario{
		follower("fetches-from-the-leader", "a follower fetches at its log end from its leader, in its epoch and name", "wait for a Fetch", func(w *own) error {
			r, err := w.fetches("$a")
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "clusterId=$cluster v14-:replicaId=$node v15+:replicaState.id=$node topics.len=1 v13+:topics[0].topicId=metadata "+
				"topics[0].partitions.len=1 p.partitionIndex=0 p.currentLeaderEpoch=$epoch p.fetchOffset=$end p.lastFetchedEpoch=$endEpoch maxWaitMs>=1 v17+:p.replicaDirectoryId!=zero")
		}),
		follower("uses-the-newest-fetch", "a follower fetches in the newest version that both know", "wait for a Fetch", func(w *own) error {
			r, err := w.fetches("$a")
			if err != nil {
				return err
			}
			api, _ := w.t.Profile.Range(kraft.FetchAPI)
			w.facts["newest"] = int64(api.Max)
			return w.expect(&struct{ Version int64 }{int64(r.version)}, 0, "version=$newest")
		}),
		follower("appends-what-it-gets", "a follower appends what it gets and fetches behind it", "give it two batches", func(w *own) error {
			w.facts["was"] = w.facts["end"]
			if err := w.replicate(2); err != nil {
				return err
			}
			r, err := w.fetches("$a")
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "p.fetchOffset=$was+2 p.lastFetchedEpoch=$epoch")
		}),
		talk("grants-no-vote", "a follower grants no vote in its epoch", vote(ofB+bestLog, led)),
		talk("refuses-pre-votes", "a follower that hears from its leader refuses pre-votes, however long the log", vote(ofB+"p.preVote=true p.lastOffset=$max p.lastOffsetEpoch=$epoch", led)),
		talk("serves-no-fetch", "a follower sends fetchers to its leader, with its endpoint",
			exchangeStep{wire.KeyFetch, 17, "p.currentLeaderEpoch=$epoch", "p.errorCode=NOT_LEADER_OR_FOLLOWER p.currentLeader.leaderId=$a p.currentLeader.leaderEpoch=$epoch nodeEndpoints.len=1 nodeEndpoints[0].nodeId=$a"}),
		talk("hears-its-leader-again", "the leader may announce itself again", exchangeStep{wire.KeyBeginQuorumEpoch, 1, "p.leaderId=$a p.leaderEpoch=$epoch", one + "p.errorCode=NONE p.leaderId=$a p.leaderEpoch=$epoch"}),
		talk("leaves-for-a-newer-leader", "a leader of a newer epoch is followed at once", exchangeStep{wire.KeyBeginQuorumEpoch, 1, "p.leaderId=$b p.leaderEpoch=$epoch+1", one + "p.errorCode=NONE p.leaderId=$b p.leaderEpoch=$epoch+1"}),
		talk("leaves-for-a-newer-candidate", "a vote of a newer epoch is granted if the log allows it",
			exchangeStep{wire.KeyVote, 2, ofB + "p.replicaEpoch=$epoch+1 " + bestLog, one + "p.errorCode=NONE p.voteGranted=true p.leaderId=-1 p.leaderEpoch=$epoch+1"}),
		follower("stands-when-its-leader-is-silent", "a follower whose leader does not answer asks for pre-votes in the same epoch", "answer nothing", func(w *own) error {
			w.peers.set(func(p *peers) { p.leader = kraft.NoNode })
			r, err := w.heard("ask for a pre-vote", arrival, w.voteRequest(true))
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "p.preVote=true p.replicaEpoch=$epoch p.replicaId=$node p.lastOffset=$end p.lastOffsetEpoch=$endEpoch")
		}),
		follower("stands-at-once-as-preferred-candidate", "the first of the preferred candidates of a leader that resigns does not wait for its fetch timeout", "resign and prefer the target", (*own).standsAsPreferred),
	}
	list = append(list, answeredScenarios(follower)...)
	return append(list, recordQuirks(p, follower)...)
}

// answeredScenarios are about what a follower makes of its leader's answers.
func answeredScenarios(follower func(id, says, does string, play func(*own) error) Scenario) []Scenario {
	return []Scenario{
		follower("truncates-where-it-diverges", "a follower truncates its log to where it diverges, and fetches from there", "give it two batches, then a diverging epoch", func(w *own) error {
			if err := w.replicate(2); err != nil {
				return err
			}
			return w.diverges(w.facts["endEpoch"].(int64), w.facts["end"].(int64)-1)
		}),
		follower("asks-for-the-snapshot", "a follower that is pointed to a snapshot asks for it from its start", "point it to a snapshot", func(w *own) error {
			snap, epoch := w.facts["end"].(int64)+100, w.facts["endEpoch"].(int64)
			w.facts["snap"], w.facts["snapEpoch"] = snap, epoch
			w.peers.set(func(p *peers) {
				p.fetch = func(_ *kmsg.FetchRequest, version int16) kmsg.Response {
					a, part := p.emptyFetch(version)
					part.SnapshotID.EndOffset, part.SnapshotID.Epoch = snap, int32(epoch)
					return a
				}
			})
			r, err := w.heard("ask for the snapshot", arrival, func(r *request) bool { return r.message.Key() == wire.KeyFetchSnapshot })
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "clusterId=$cluster replicaId=$node topics.len=1 topics[0].topicName=__cluster_metadata p.partitionIndex=0 p.currentLeaderEpoch=$epoch "+
				"p.snapshotId.endOffset=$snap p.snapshotId.epoch=$snapEpoch p.position=0")
		}),
		follower("believes-who-it-is-sent-to", "an answer that names a leader of a newer epoch is followed", "answer a Fetch with another leader", func(w *own) error {
			b, next := kraft.NodeID(w.facts["b"].(int64)), kraft.Epoch(w.facts["epoch"].(int64))+1
			w.peers.set(func(p *peers) {
				p.fetch = func(_ *kmsg.FetchRequest, version int16) kmsg.Response {
					p.setLeader(b, next)
					a, part := p.emptyFetch(version)
					part.ErrorCode = int16(kraft.FencedLeaderEpoch)
					return a
				}
			})
			r, err := w.heard("fetch from the new leader", arrival, func(r *request) bool {
				f, ok := r.message.(*kmsg.FetchRequest)
				return ok && int64(r.peer) == w.facts["b"] && int64(f.Topics[0].Partitions[0].CurrentLeaderEpoch) == w.facts["epoch"].(int64)+1
			})
			if err != nil {
				return err
			}
			err = w.expect(r.message, r.version, "p.currentLeaderEpoch=$epoch+1 p.fetchOffset=$end")
			w.facts["epoch"] = w.facts["epoch"].(int64) + 1
			return err
		}),
	}
}

// standsAsPreferred resigns in favour of the target, and waits for it to stand.
func (w *own) standsAsPreferred() error {
	w.peers.set(func(p *peers) { p.leader = kraft.NoNode })
	for range 2 { // who has resigned answers no Fetch well, or the target would take it for its leader still
		if _, err := w.fetches("$a"); err != nil {
			return err
		}
	}
	begin := time.Now()
	if err := w.asks(wire.KeyEndQuorumEpoch, 1, "p.leaderId=$a p.leaderEpoch=$epoch p.preferredCandidates.len=1 p.preferredCandidates[0].candidateId=$node", one+"p.errorCode=NONE p.leaderId=$a p.leaderEpoch=$epoch"); err != nil {
		return err
	}
	r, err := w.heard("ask for a pre-vote", arrival, w.voteRequest(true))
	if err != nil {
		return err
	}
	took := r.at.Sub(begin).Milliseconds()
	return w.expect(&struct{ PreVote, Millis int64 }{1, took}, 0, "preVote=1 millis<=1500")
}

// diverges answers the following target's next Fetch with where its log leaves the leader's, and waits for it to fetch from there.
func (w *own) diverges(epoch, end int64) error {
	w.facts["to"], w.facts["of"] = end, epoch
	w.peers.set(func(p *peers) {
		p.fetch = func(_ *kmsg.FetchRequest, version int16) kmsg.Response {
			a, part := p.emptyFetch(version)
			part.DivergingEpoch.Epoch, part.DivergingEpoch.EndOffset = int32(epoch), end
			return a
		}
	})
	r, err := w.heard("fetch from where it diverges", arrival, func(r *request) bool {
		f, ok := r.message.(*kmsg.FetchRequest)
		return ok && f.Topics[0].Partitions[0].FetchOffset == end
	})
	if err != nil {
		return err
	}
	return w.expect(r.message, r.version, "p.fetchOffset=$to p.lastFetchedEpoch=$of p.currentLeaderEpoch=$epoch")
}

// recordQuirks are about records that a follower should not take.
func recordQuirks(p compat.Profile, follower func(id, says, does string, play func(*own) error) Scenario) (list []Scenario) {
	if p.Rules.DropNewerEpochBatches {
		spoilt := func(spoil func(leader kraft.NodeID, batch []byte, f *kmsg.FetchRequest) []byte) func(*own) error {
			return func(w *own) error {
				w.facts["was"] = w.facts["end"]
				a := kraft.NodeID(w.facts["a"].(int64))
				w.peers.set(func(p *peers) {
					p.fetch = func(f *kmsg.FetchRequest, version int16) kmsg.Response {
						resp, part := p.emptyFetch(version)
						x := &f.Topics[0].Partitions[0]
						part.RecordBatches = spoil(a, appendLeaderBatch(nil, kraft.Offset(x.FetchOffset), kraft.Epoch(x.CurrentLeaderEpoch), a), f)
						return resp
					}
				})
				var r *request
				for range 3 { // the one that gets it may be on its way
					var err error
					if r, err = w.fetches("$a"); err != nil {
						return err
					}
				}
				return w.expect(r.message, r.version, "p.fetchOffset=$was p.currentLeaderEpoch=$epoch")
			}
		}
		list = append(list,
			follower("drops-corrupt-records", "records with a wrong checksum are not appended", "give it a batch with a wrong checksum", spoilt(func(_ kraft.NodeID, b []byte, _ *kmsg.FetchRequest) []byte {
				b[len(b)-1] ^= 0xff
				return b
			})).quirk("drop-newer-epoch-batches"),
			follower("drops-batches-of-a-newer-epoch", "a batch of a newer epoch than the leader's is not appended", "give it a batch of the next epoch", spoilt(func(leader kraft.NodeID, _ []byte, f *kmsg.FetchRequest) []byte {
				x := &f.Topics[0].Partitions[0]
				return appendLeaderBatch(nil, kraft.Offset(x.FetchOffset), kraft.Epoch(x.CurrentLeaderEpoch)+1, leader)
			})).quirk("drop-newer-epoch-batches"))
	}
	if p.Rules.FetchHighWatermark {
		list = append(list, follower("tells-its-high-watermark", "a follower tells its leader which high watermark it knows", "tell it a high watermark", func(w *own) error {
			w.facts["hw"] = int64(1)
			r, err := w.fetches("$a")
			if err != nil {
				return err
			}
			if f := r.message.(*kmsg.FetchRequest); f.Topics[0].Partitions[0].HighWatermark >= 1 { // a lower one than it knows would end it
				w.facts["hw"] = f.Topics[0].Partitions[0].HighWatermark
			}
			hw := w.facts["hw"].(int64)
			w.peers.set(func(p *peers) {
				p.fetch = func(_ *kmsg.FetchRequest, version int16) kmsg.Response {
					a, part := p.emptyFetch(version)
					part.HighWatermark = hw
					return a
				}
			})
			r, err = w.heard("tell its high watermark", arrival, func(r *request) bool {
				f, ok := r.message.(*kmsg.FetchRequest)
				return ok && f.Topics[0].Partitions[0].HighWatermark == w.facts["hw"]
			})
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "p.highWatermark=$hw")
		}).quirk("fetch-high-watermark"))
	}
	return list
}
