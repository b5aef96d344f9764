package conform

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// dynamic reports whether the quorum knows its voters from its log.
func (w *own) dynamic() bool { return len(w.o.Directories) > 0 }

// stranger is the node "c", which is no voter unless a scenario adds it.
const stranger kraft.NodeID = 2_000_000_005

// addStranger listens as node c, beside voter a.
func (w *own) addStranger() error {
	host, _, err := net.SplitHostPort(w.o.Voters[kraft.NodeID(w.facts["a"].(int64))])
	if err != nil {
		return err
	}
	bound, err := w.peers.listen(stranger, net.JoinHostPort(host, "0"))
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(bound)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(port, 10, 64)
	w.facts["c"], w.facts["cDirectory"], w.facts["cHost"], w.facts["cPort"] = int64(stranger), strangeDirectory, host, n
	return err
}

// errUnanswered says that a change of voters went on for longer than it should.
var errUnanswered = errors.New("a change of voters is not answered although a majority has all records")

// changes asks the leading target for a change of voters, lets replicas fetch meanwhile, and asserts something of the answer.
func (w *own) changes(key, version int16, edits, wants string, replicas ...string) error {
	other, err := dial(w.ctx, &w.o.Options, w.o.Address)
	if err != nil {
		return err
	}
	req := baseline(key, version)
	if err := w.facts.edit(req, edits, version); err != nil {
		other.close()
		return err
	}
	type answer struct {
		resp kmsg.Response
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		resp, err := other.request(req)
		answered <- answer{resp, err}
	}()
	defer func() { // the goroutine ends with its connection
		other.close()
		if answered != nil {
			<-answered
		}
	}()
	at := map[string]logPosition{}
	for end := time.Now().Add(arrival); time.Now().Before(end); {
		for _, id := range replicas {
			if at[id], err = w.fetchFrom(id, at[id], 20); err != nil {
				return err
			}
		}
		select {
		case x := <-answered:
			answered = nil
			if x.err != nil {
				return x.err
			}
			if err := w.expect(x.resp, version, wants); err != nil {
				return fmt.Errorf("%s v%d with %s: %w", apiName(key), version, edits, err)
			}
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
	return errUnanswered
}

const (
	addC    = "voterId=$c voterDirectoryId=$cDirectory timeoutMs=10000 listeners[0].name=CONTROLLER listeners[0].host=$cHost listeners[0].port=$cPort"
	removeC = "voterId=$c voterDirectoryId=$cDirectory"
)

// describes asserts something of what the leading target says of its quorum.
func (w *own) describes(wants string) error {
	return w.asks(wire.KeyDescribeQuorum, 2, "", "errorCode=NONE p.errorCode=NONE p.leaderId=$node p.leaderEpoch=$epoch "+wants)
}

// inOrder plays one thing after the other.
func inOrder(list ...func(*own) error) func(*own) error {
	return func(w *own) error {
		for _, play := range list {
			if err := play(w); err != nil {
				return err
			}
		}
		return nil
	}
}

// replicated has voter a fetch everything.
func replicated(w *own) error { return w.replicateAs("$a") }

func changed(key, version int16, edits string, replicas ...string) func(*own) error {
	return func(w *own) error { return w.changes(key, version, edits, "errorCode=NONE", replicas...) }
}

func described(wants string) func(*own) error {
	return func(w *own) error { return w.describes(wants) }
}

// dynamicScenarios are about a quorum that knows its voters, and their directory ids, from its log.
func dynamicScenarios(compat.Profile) []Scenario {
	const source = "KIP-853; Kafka: AddVoterHandler, RemoveVoterHandler, UpdateVoterHandler, VoterSet"
	dynamic := func(id, says, does string, play func(*own) error) Scenario {
		s := scenario("dynamic/"+id, says, does, source, play)
		s.dynamic = true
		return s
	}
	leading := func(id, says, does string, plays ...func(*own) error) Scenario {
		return dynamic(id, says, does, after((*own).win, inOrder(plays...)))
	}
	list := []Scenario{
		dynamic("asks-for-votes-by-directory", "a candidate names the directory id of the voter that it asks, and its own", "wait for a pre-vote", func(w *own) error {
			match := w.voteRequest(true)
			r, err := w.heard("ask voter a for a pre-vote", arrival, func(r *request) bool { return int64(r.peer) == w.facts["a"] && match(r) })
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "voterId=$a p.voterDirectoryId=$aDirectory p.replicaId=$node p.replicaDirectoryId!=zero")
		}),
		leading("announces-itself-by-directory", "a leader names the directory id of the voter to which it announces itself", "wait for BeginQuorumEpoch at voter b", func(w *own) error {
			r, err := w.heard("announce itself to voter b", arrival, func(r *request) bool { return int64(r.peer) == w.facts["b"] && w.announcement(r) })
			if err != nil {
				return err
			}
			return w.expect(r.message, r.version, "voterId=$b p.voterDirectoryId=$bDirectory p.leaderId=$node")
		}),
		leading("another-directory-counts-for-no-majority", "who has a voter's id and another directory id is no voter", "fetch everything in voter a's name with another directory id", func(w *own) error {
			return w.countsForNothing("p.replicaDirectoryId=strange")
		}),
		leading("no-directory-counts-for-no-majority", "who has a voter's id and no directory id is no voter", "fetch everything in voter a's name without a directory id", func(w *own) error {
			return w.countsForNothing("p.replicaDirectoryId=zero")
		}),
		leading("describes-directories", "a leader tells its voters' directory ids and endpoints", "describe the quorum", func(w *own) error {
			resp, err := w.ask(wire.KeyDescribeQuorum, 2, "")
			if err != nil {
				return err
			}
			p, err := describedPartition(resp)
			if err != nil {
				return err
			}
			for _, v := range p.CurrentVoters {
				if int64(v.ReplicaID) == w.facts["a"] {
					return w.expect(&v, 2, "replicaDirectoryId=$aDirectory")
				}
			}
			return errors.New("voter a is not among the voters")
		}),
		leading("changes-wait-for-the-epochs-first-commit", "a leader that has committed nothing in its epoch changes no voters", "add a voter while nobody fetches",
			talks(exchangeStep{wire.KeyAddRaftVoter, 0, addC, "errorCode=REQUEST_TIMED_OUT"})),
		leading("adds-none-that-lags", "who has not fetched is not added", "add a voter that does not fetch", replicated,
			talks(exchangeStep{wire.KeyAddRaftVoter, 0, addC, "errorCode=REQUEST_TIMED_OUT"})),
		leading("adds-and-removes-a-voter", "a voter that has caught up is added once a majority has the change, and removed likewise", "add node c and remove it, fetching as a and c",
			replicated,
			func(w *own) error { return w.replicateAs("$c") },
			changed(wire.KeyAddRaftVoter, 0, addC, "$a", "$c"),
			described("p.currentVoters.len=4"),
			changed(wire.KeyRemoveRaftVoter, 0, removeC, "$a", "$c"),
			described("p.currentVoters.len=3")),
		leading("updates-a-voter", "a voter's endpoint is changed on its word", "update voter a to another port and back",
			replicated,
			func(w *own) error { return w.movesVoterA("$cPort") },
			replicated, // there is one change at a time
			func(w *own) error { return w.movesVoterA("$aPort") }),
	}
	return append(list, votersOfTheLog(dynamic)...)
}

// countsForNothing fetches everything as voter a, but for its directory id.
func (w *own) countsForNothing(directory string) error {
	at := logPosition{}
	for range 3 {
		var err error
		if at, err = w.fetchFrom("$a", at, 200, directory); err != nil {
			return err
		}
	}
	w.facts["at"], w.facts["atEpoch"] = at.offset, at.epoch
	f, err := w.fetchAs("$a", "p.fetchOffset=$at p.lastFetchedEpoch=$atEpoch "+directory)
	if err != nil {
		return err
	}
	return w.expect(f, 17, "p.errorCode=NONE p.highWatermark=-1")
}

// movesVoterA has voter a tell another port of its own.
func (w *own) movesVoterA(port string) error {
	host, at, err := net.SplitHostPort(w.o.Voters[kraft.NodeID(w.facts["a"].(int64))])
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return err
	}
	w.facts["aHost"], w.facts["aPort"] = host, n
	err = w.changes(wire.KeyUpdateRaftVoter, 0, "currentLeaderEpoch=$epoch voterId=$a voterDirectoryId=$aDirectory listeners[0].name=CONTROLLER listeners[0].host=$aHost listeners[0].port="+port,
		"errorCode=NONE currentLeader.leaderId=$node currentLeader.leaderEpoch=$epoch", "$a")
	if err != nil {
		return err
	}
	resp, err := w.ask(wire.KeyDescribeQuorum, 2, "")
	if err != nil {
		return err
	}
	for _, node := range resp.(*kmsg.DescribeQuorumResponse).Nodes {
		if int64(node.NodeID) == w.facts["a"] {
			return w.expect(&node, 2, "listeners.len=1 listeners[0].port="+port)
		}
	}
	return errors.New("voter a is not among the nodes that the target describes")
}

// votersOfTheLog are about a follower whose leader gives it another voter set, which the leader takes back in the end.
func votersOfTheLog(dynamic func(id, says, does string, play func(*own) error) Scenario) []Scenario {
	taken := func(then func(*own) error) func(*own) error {
		return following(inOrder((*own).giveVoters, then, func(w *own) error { return w.asksForVotes(false) }, (*own).takeBack))
	}
	restarted := dynamic("voters-survive", "the voters of the log are those after a restart", "give it voters without b, restart, and see whom it asks for votes", taken((*own).restart))
	restarted.restarts = true
	return []Scenario{
		dynamic("voters-are-those-of-the-log", "a follower takes the voters of its log, even before they are committed: it asks them alone for votes", "give it voters without b, and see whom it asks for votes",
			taken(func(*own) error { return nil })),
		dynamic("voters-that-are-taken-back-count-no-more", "voters that are truncated away are those no longer", "give it voters without b, take that back, and see whom it asks for votes",
			following(inOrder((*own).giveVoters, (*own).takeBack, func(w *own) error { return w.asksForVotes(true) }))),
		restarted,
	}
}

// giveVoters gives the following target a voter set without voter b.
func (w *own) giveVoters() error {
	w.learn()
	w.facts["was"], w.facts["wasEpoch"] = w.facts["end"], w.facts["endEpoch"]
	var record wire.Voters
	for id, address := range map[kraft.NodeID]string{w.o.NodeID: w.o.Address, kraft.NodeID(w.facts["a"].(int64)): w.o.Voters[kraft.NodeID(w.facts["a"].(int64))]} {
		host, port, _ := net.SplitHostPort(address)
		n, _ := strconv.ParseUint(port, 10, 16)
		key := kraft.ReplicaKey{ID: id, DirectoryID: w.o.Directories[id]}
		if id == w.o.NodeID {
			directory, ok := w.facts["directory"].([16]byte)
			if !ok {
				return errors.New("the target has not told its directory id in a Fetch")
			}
			key.DirectoryID = directory
		}
		record.Voters = append(record.Voters, wire.Voter{Key: key, Endpoints: []wire.Endpoint{{Name: "CONTROLLER", Host: host, Port: uint16(n)}}, MaxVersion: 1})
	}
	w.peers.set(func(p *peers) {
		p.fetch = func(f *kmsg.FetchRequest, version int16) kmsg.Response {
			a, part := p.emptyFetch(version)
			x := &f.Topics[0].Partitions[0]
			head := wire.NewBatch(kraft.Offset(x.FetchOffset), kraft.Epoch(x.CurrentLeaderEpoch), time.Now().UnixMilli())
			head.Attributes = wire.AttrControl
			part.RecordBatches = wire.AppendBatch(nil, head, wire.NewControl(record))
			return a
		}
	})
	_, err := w.heard("fetch behind the voters", arrival, func(r *request) bool {
		f, ok := r.message.(*kmsg.FetchRequest)
		return ok && f.Topics[0].Partitions[0].FetchOffset == w.facts["was"].(int64)+1
	})
	return err
}

// takeBack leads the target in a new epoch, in which its last record is not.
func (w *own) takeBack() error {
	if err := w.fresh(); err != nil {
		return err
	}
	if err := w.follow("$a"); err != nil {
		return err
	}
	return w.diverges(w.facts["wasEpoch"].(int64), w.facts["was"].(int64))
}

// asksForVotes waits for the target to stand for election twice, and expects it to ask voter b as well, or not.
func (w *own) asksForVotes(b bool) error {
	if err := w.raiseEpoch(); err != nil { // nobody leads that
		return err
	}
	match := w.voteRequest(true)
	asked := &struct{ A, B int64 }{}
	for asked.A < 2 || b && asked.B < 1 && asked.A < 20 { // b may take longer to be reached
		r, err := w.heard("ask voter a for a pre-vote", 2*arrival, match)
		if err != nil {
			return err
		}
		switch int64(r.peer) {
		case w.facts["a"]:
			asked.A++
		case w.facts["b"]:
			asked.B++
		}
	}
	if b {
		return w.expect(asked, 0, "a>=2 b>=1")
	}
	return w.expect(asked, 0, "a>=2 b=0")
}
