package conform

import (
	"errors"
	"fmt"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/wire"
)

// ending is how long a connection to a target may outlive the command that ends it: the command may not wait for the end.
const ending = arrival / 3

// restart ends the target and starts it again on the same data. A node that went on would keep its promises by what it remembers, so a
// connection that is held across the restart has to end.
func (w *own) restart() error {
	held, err := dial(w.ctx, &w.o.Options, w.o.Address)
	if err != nil {
		return fmt.Errorf("before its restart: %w", err)
	}
	defer held.close()
	if _, err := held.request(baseline(wire.KeyAPIVersions, 3)); err != nil { // the target has taken it, and not the kernel alone
		return fmt.Errorf("before its restart: %w", err)
	}
	if err := w.startAgain(held); err != nil {
		return fmt.Errorf("%w: %w", errNotBack, err)
	}
	return nil
}

// startAgain has the target ended, if it lives, and started. What is held is a connection that it must end; may be nil.
func (w *own) startAgain(held *client) error {
	w.conn.close()
	if err := w.o.Restart(w.ctx); err != nil {
		return err
	}
	for deadline := time.Now().Add(ending); held != nil; {
		_, closed, err := held.receive(deadline)
		switch {
		case closed:
			held = nil
		case err != nil:
			return fmt.Errorf("%s does not end it: a connection from before is still open %v afterwards, so nothing is known of what survives", w.o.restartName(), ending)
		}
	}
	limit := w.o.returning
	if limit == 0 {
		limit = 3 * arrival
	}
	if _, err := w.connectWithin(limit); err != nil {
		return fmt.Errorf("%s does not start it: no connection within %v: %w", w.o.restartName(), limit, err)
	}
	return nil
}

func (o *Options) restartName() string {
	if o.RestartName == "" {
		return "what restarts it"
	}
	return o.RestartName
}

// errNotBack is no fault of the target: whoever restarts it has failed.
var errNotBack = errors.New("the target did not come back from its restart")

// durabilityScenarios restart the target: what it has promised must hold afterwards.
func durabilityScenarios(compat.Profile) []Scenario {
	const source = "KIP-595; Kafka: FileQuorumStateStore, QuorumState.initialize"
	durable := func(id, says, does string, before, afterwards func(*own) error) Scenario {
		s := scenario("durability/"+id, says, does, source, after(before, after((*own).restart, afterwards)))
		s.restarts = true
		return s
	}
	return []Scenario{
		durable("vote-survives", "a vote survives a restart: no second candidate gets it, the first one does", "grant, restart, ask again",
			talks(vote(bestLog, granted)),
			talks(vote(ofB+bestLog, "p.errorCode=NONE p.voteGranted=false p.leaderEpoch=$epoch"), vote(bestLog, granted))),
		durable("epoch-survives", "an epoch survives a restart, even without a vote", "move the epoch, restart, ask in the older one",
			talks(exchangeStep{wire.KeyVote, 2, "p.replicaId=$a p.replicaEpoch=$epoch+1 " + shortLog, one + "p.voteGranted=false p.leaderEpoch=$epoch+1"}),
			talks(vote(bestLog, "p.errorCode=FENCED_LEADER_EPOCH p.voteGranted=false p.leaderEpoch=$epoch+1"))),
		durable("own-vote-survives", "who has stood for election grants no vote in that epoch after a restart", "grant pre-votes, refuse votes, restart, ask for a vote in the epoch of its candidacy",
			func(w *own) error {
				_, err := w.stand()
				return err
			},
			talks(vote(bestLog, "p.errorCode=NONE p.voteGranted=false p.leaderId=-1 p.leaderEpoch=$epoch"))),
		durable("leader-survives", "who has followed a leader grants no vote in its epoch after a restart", "follow, restart, ask for a vote",
			following(func(*own) error { return nil }),
			talks(vote(ofB+bestLog, "p.errorCode=NONE p.voteGranted=false p.leaderEpoch=$epoch"))),
		durable("log-survives", "what was fetched as a voter is there after a restart", "replicate, restart, follow again",
			following(func(w *own) error {
				if err := w.replicate(3); err != nil {
					return err
				}
				w.learn()
				w.facts["was"] = w.facts["end"]
				return nil
			}),
			func(w *own) error {
				if err := w.fresh(); err != nil {
					return err
				}
				if err := w.follow("$a"); err != nil {
					return err
				}
				r, err := w.fetches("$a")
				if err != nil {
					return err
				}
				return w.expect(r.message, r.version, "p.fetchOffset=$was")
			}),
		durable("leadership-does-not-survive", "who has led an epoch does not lead it after a restart, and grants no vote in it", "elect, restart, fetch and ask for a vote",
			(*own).win,
			talks(exchangeStep{wire.KeyFetch, 17, "p.currentLeaderEpoch=$epoch", "p.errorCode!=NONE p.records.len=0"},
				vote("p.lastOffset=$max p.lastOffsetEpoch=$endEpoch", "p.voteGranted=false"))),
	}
}
