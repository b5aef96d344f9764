package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// OwnOptions describe a quorum made for the suite: the target and two other voters, at whose addresses the suite listens.
type OwnOptions struct {
	Options
	Voters map[kraft.NodeID]string // the other voters' addresses, HOST:PORT

	// Directories are the other voters' directory ids in a dynamic quorum, which knows its voters from its log (KIP-853). Empty: the
	// quorum is static, its configuration names the voters.
	Directories map[kraft.NodeID]kraft.DirectoryID

	// Guard puts TLS and SASL on what the suite listens at; nil: PLAINTEXT.
	Guard func(net.Listener) net.Listener

	// Listen is where the suite listens for them instead: behind a proxy that stands at their addresses. May be nil.
	Listen   map[kraft.NodeID]string
	poisoned func()                        // is told when a poison has left; may be nil
	twin     func(id string, j judged) any // what is judged in a scenario instead of the target's message; may be nil

	returning time.Duration // how long a target that is started again may take to listen; 0: three arrivals
}

// arrival is long enough for what must come after an election timeout or two.
const arrival = 15 * time.Second

// Scenario is a rule that shows in a conversation of several nodes.
type Scenario struct {
	Case
	play     func(*own) error
	restarts bool // it needs Options.Restart
	dynamic  bool // it needs OwnOptions.Directories
	hostile  bool // it is one of the hostile group
}

// judged is one message of the target and what was asserted of it.
type judged struct {
	message any
	version int16
	wants   string
	facts   facts
}

// own is the suite as the other voters of a quorum.
type own struct {
	ctx     context.Context
	o       *OwnOptions
	t       *Target
	conn    *client
	peers   *peers
	facts   facts
	playing string // the scenario's id
	judged  []judged
	gone    error // why the rest cannot be played
}

// RunOwn drives a node through roles, as the other voters of its quorum.
func RunOwn(ctx context.Context, o OwnOptions) (*Report, error) {
	began := time.Now()
	if len(o.Voters) != 2 || o.NodeID < 0 || o.ClusterID == "" {
		return nil, fmt.Errorf("own quorum: want the target's node id, the cluster id and two other voters, not %d", len(o.Voters))
	}
	ids := slices.Sorted(maps.Keys(o.Voters))
	if len(o.Directories) > 0 && (o.Directories[ids[0]].IsZero() || o.Directories[ids[1]].IsZero()) {
		return nil, fmt.Errorf("own quorum: want the directory ids of both voters or of none, not those of %d", len(o.Directories))
	}
	if !o.choosesAny() {
		return nil, ErrNoCase
	}
	p, err := newPeers(o.Voters, o.Listen, o.Guard)
	if err != nil {
		return nil, err
	}
	defer p.close()
	w := &own{ctx: ctx, o: &o, peers: p, facts: facts{
		"cluster": o.ClusterID, "node": int64(o.NodeID), "a": int64(ids[0]), "b": int64(ids[1]), "epoch": int64(0), "end": int64(0), "endEpoch": int64(0), "max": int64(1<<63 - 1),
		"aDirectory": [16]byte(o.Directories[ids[0]]), "bDirectory": [16]byte(o.Directories[ids[1]]),
	}}
	if w.dynamic() {
		if err := w.addStranger(); err != nil {
			return nil, err
		}
	}
	if w.t, err = w.connect(); err != nil {
		return nil, err
	}
	defer func() { w.conn.close() }()
	if w.dynamic() {
		w.t.KRaftVersion = 1 // which a node finalizes only when it has a high watermark
	}
	list := o.chosen(w.t.Profile)
	if len(list) == 0 {
		return nil, ErrNoCase
	}
	if err := w.seed(); err != nil {
		return nil, fmt.Errorf("%s: bring the target into the quorum: %w", o.Address, err)
	}
	report := &Report{Target: w.t, Began: began}
	for i := range list {
		report.Results = append(report.Results, w.run(&list[i]))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if o.Progress != nil {
			o.Progress(i+1, len(list), &report.Results[i])
		}
	}
	w.t.Epoch = kraft.Epoch(w.facts["epoch"].(int64))
	report.Took = time.Since(began)
	return report, nil
}

// chosen are the scenarios of a release that are asked for.
func (o *OwnOptions) chosen(p compat.Profile) []Scenario {
	return slices.DeleteFunc(Scenarios(p), func(s Scenario) bool { return !o.matches(s.ID) || !o.Hostility.allows(s.hostile, s.kills) })
}

// choosesAny reports whether any release has a scenario that is asked for: otherwise there is no need to disturb a node.
func (o *OwnOptions) choosesAny() bool {
	return slices.ContainsFunc(compat.Profiles(), func(p compat.Profile) bool { return len(o.chosen(p)) > 0 })
}

// run plays a scenario from a fresh epoch in which nobody leads and the target has not voted.
func (w *own) run(s *Scenario) (r Result) {
	begin := time.Now()
	r = Result{Case: &s.Case, Target: w.t, Outcome: Passed}
	defer func() { r.Took = time.Since(begin) }()
	if s.restarts && w.o.Restart == nil {
		r.Outcome, r.Why = Skipped, "no command that restarts the target: --restart-cmd"
		return r
	}
	if s.dynamic && !w.dynamic() {
		r.Outcome, r.Why = Skipped, "the quorum is static: its voters have no directory ids"
		return r
	}
	if w.gone != nil {
		r.Outcome, r.Why = Inconclusive, w.gone.Error()
		return r
	}
	w.playing, w.judged = s.ID, nil
	err := w.fresh()
	if err != nil && w.o.listens(w.ctx) != nil { // it has ended since the last one
		if w.bringBack(s.ID); w.gone == nil {
			err = w.fresh()
		}
	}
	if err != nil {
		r.Outcome, r.Why = Inconclusive, fmt.Sprintf("bring the target into a new epoch: %v", err)
		return r
	}
	err = s.play(w)
	r.judged = w.judged
	if gone := w.o.listens(w.ctx); gone != nil && !errors.Is(err, errNotBack) && !errors.Is(err, errEnded) {
		err = errors.Join(fmt.Errorf("%w: %w", errEnded, gone), err)
	}
	switch {
	case errors.Is(err, errNotBack):
		r.Outcome, r.Why = Inconclusive, err.Error()
	case errors.Is(err, errEnded):
		r.Outcome, r.Why = s.kills.ended(w.t.Profile, err)
		w.bringBack(s.ID)
	case err != nil:
		r.Outcome, r.Why = Failed, err.Error()
	}
	return r
}

// bringBack has the target started again after its end.
func (w *own) bringBack(since string) {
	if w.o.Restart == nil {
		w.gone = fmt.Errorf("the target has ended in %s, and there is no command that starts it again: --restart-cmd", since)
	} else if err := w.startAgain(nil); err != nil {
		w.gone = fmt.Errorf("since %s: %w", since, err)
	}
}

// connect dials the target until it listens, and learns its profile.
func (w *own) connect() (*Target, error) { return w.connectWithin(3 * arrival) }

func (w *own) connectWithin(limit time.Duration) (*Target, error) {
	t := &Target{Address: w.o.Address, Leader: kraft.NoNode, facts: w.facts}
	deadline := time.Now().Add(limit)
	for {
		c, err := dial(w.ctx, &w.o.Options, w.o.Address)
		if err == nil {
			if w.conn != nil {
				w.conn.close()
			}
			w.conn = c
			if err = t.askVersions(c, w.o.Release); err == nil {
				return t, nil
			}
		}
		if w.ctx.Err() != nil || time.Now().After(deadline) || errors.Is(err, secure.ErrAuthentication) {
			return nil, fmt.Errorf("%s: %w", w.o.Address, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// seed gives the target an epoch and a log: one of the peers leads it for a while.
func (w *own) seed() error {
	if err := w.raiseEpoch(); err != nil {
		return err
	}
	if err := w.follow("$a"); err != nil {
		return err
	}
	return w.replicate(1)
}

// raiseEpoch moves the target to an epoch above its own. An invalid vote tells which that is, and one that its log
// does not allow moves it on.
func (w *own) raiseEpoch() error {
	for range 10 {
		probe, err := w.votePartition("p.replicaId=$a p.replicaEpoch=0")
		if err != nil {
			return err
		}
		w.facts["epoch"] = max(int64(probe.LeaderEpoch), w.facts["epoch"].(int64)) + 1
		w.peers.setLeader(kraft.NoNode, kraft.Epoch(w.facts["epoch"].(int64)))
		w.peers.drain()
		p, err := w.votePartition("p.replicaId=$a p.replicaEpoch=$epoch")
		if err != nil {
			return err
		}
		if p.ErrorCode == 0 && int64(p.LeaderEpoch) == w.facts["epoch"] && p.LeaderID < 0 {
			return nil
		}
	}
	return errors.New("the target does not move to the epochs that it is asked for votes in")
}

func (w *own) votePartition(edits string) (*kmsg.VoteResponseTopicPartition, error) {
	resp, err := w.ask(wire.KeyVote, 1, edits)
	if err != nil {
		return nil, err
	}
	vote, ok := resp.(*kmsg.VoteResponse)
	if !ok || len(vote.Topics) != 1 || len(vote.Topics[0].Partitions) != 1 {
		return nil, errors.New("a Vote is answered without a partition")
	}
	return &vote.Topics[0].Partitions[0], nil
}

// fresh brings the target into a new epoch in which nobody leads and it has not voted, and learns its log end.
func (w *own) fresh() error {
	w.peers.reset()
	if err := w.raiseEpoch(); err != nil {
		return err
	}
	epoch := w.facts["epoch"]
	_, err := w.heard("tell its log end in the new epoch", arrival, func(r *request) bool {
		switch m := r.message.(type) {
		case *kmsg.FetchRequest:
			return int64(m.Topics[0].Partitions[0].CurrentLeaderEpoch) == epoch
		case *kmsg.VoteRequest:
			return int64(m.Topics[0].Partitions[0].CandidateEpoch) == epoch
		}
		return false
	})
	return err
}

// ask sends the target a request and returns the answer.
func (w *own) ask(key, version int16, edits string) (kmsg.Response, error) {
	req := baseline(key, version)
	w.learn()
	if err := w.facts.edit(req, edits, version); err != nil {
		return nil, err
	}
	resp, err := w.conn.request(req)
	if err != nil { // the target may have been restarted
		if _, err := w.connectWithin(arrival / 5); err != nil {
			return nil, err
		}
		resp, err = w.conn.request(req)
		if err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// expect asserts something of a message of the target, and keeps it for the proof that the assertion can fail.
func (w *own) expect(message any, version int16, wants string) error {
	list, err := parseWants(wants, version)
	if err != nil {
		return err
	}
	j := judged{message, version, wants, maps.Clone(w.facts)}
	w.judged = append(w.judged, j)
	if w.o.twin != nil {
		message = w.o.twin(w.playing, j)
	}
	for _, x := range list {
		if err := x.holds(w.facts, message, 0); err != nil {
			return err
		}
	}
	return nil
}

// asks sends a request and asserts something of the answer.
func (w *own) asks(key, version int16, edits, wants string) error {
	resp, err := w.ask(key, version, edits)
	if err != nil {
		return err
	}
	if err := w.expect(resp, version, wants); err != nil {
		return fmt.Errorf("%s v%d with %s: %w", apiName(key), version, edits, err)
	}
	return nil
}

// heard waits for a request of the target that matches.
func (w *own) heard(what string, within time.Duration, match func(*request) bool) (*request, error) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return nil, w.ctx.Err()
		case <-deadline.C:
			return nil, w.unheard(what, within)
		case r := <-w.peers.inbox:
			if match(r) {
				w.learn()
				return r, nil
			}
		}
	}
}

// unheard says what did not come, and what came instead that is no node's request: whoever sent that has not been listened to.
func (w *own) unheard(what string, within time.Duration) (err error) {
	w.peers.set(func(p *peers) { err = p.odd })
	if err != nil {
		return fmt.Errorf("the target did not %s within %v; what came last and is no request of a node: %w", what, within, err)
	}
	return fmt.Errorf("the target did not %s within %v", what, within)
}

// learn takes the target's log end and its directory id from what it last told.
func (w *own) learn() {
	w.peers.set(func(p *peers) {
		if p.directory != ([16]byte{}) {
			w.facts["directory"] = p.directory
		}
	})
	if end, epoch, ok := w.peers.logEnd(); ok {
		w.facts["end"], w.facts["endEpoch"] = int64(end), int64(epoch)
	}
}

// endpoint is a peer's address as an edit of the leader's endpoints.
func (w *own) endpoint(id kraft.NodeID) string {
	host, port, _ := net.SplitHostPort(w.o.Voters[id])
	return fmt.Sprintf("leaderEndpoints.len=1 leaderEndpoints[0].name=CONTROLLER leaderEndpoints[0].host=%s leaderEndpoints[0].port=%s", host, port)
}

// follow makes the target a follower of a peer in the current epoch, and returns once it fetches there.
func (w *own) follow(peer string) error {
	id, err := w.facts.number(peer)
	if err != nil {
		return err
	}
	w.peers.setLeader(kraft.NodeID(id), kraft.Epoch(w.facts["epoch"].(int64)))
	w.facts["leader"] = id
	if err := w.asks(wire.KeyBeginQuorumEpoch, 1, "p.leaderEpoch=$epoch p.leaderId="+peer+" voterId=$node "+w.endpoint(kraft.NodeID(id)),
		one+"p.errorCode=NONE p.leaderId="+peer+" p.leaderEpoch=$epoch"); err != nil {
		return err
	}
	w.peers.drain()
	for range 2 { // the first may have left before it followed
		if _, err = w.fetches(peer); err != nil {
			return err
		}
	}
	return nil
}

// fetches waits for a Fetch of the current epoch at a peer.
func (w *own) fetches(peer string) (*request, error) {
	id, err := w.facts.number(peer)
	if err != nil {
		return nil, err
	}
	epoch := int32(w.facts["epoch"].(int64))
	return w.heard("fetch from node "+strconv.Itoa(int(id)), arrival, func(r *request) bool {
		f, ok := r.message.(*kmsg.FetchRequest)
		return ok && int64(r.peer) == id && f.Topics[0].Partitions[0].CurrentLeaderEpoch == epoch
	})
}

// replicate lets the leading peer append n batches, and returns when the target has them.
func (w *own) replicate(n int) error {
	w.learn()
	want := w.facts["end"].(int64) + int64(n)
	w.peers.give(kraft.Offset(want))
	defer w.peers.give(0)
	_, err := w.heard(fmt.Sprintf("fetch behind offset %d", want), arrival, func(r *request) bool {
		f, ok := r.message.(*kmsg.FetchRequest)
		return ok && f.Topics[0].Partitions[0].FetchOffset >= want
	})
	return err
}
