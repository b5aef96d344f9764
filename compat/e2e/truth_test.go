package e2e

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// ballot is one answered vote, in the terms that both the wire and Kafka's log have. For a pre-vote the epoch is that
// of the request.
type ballot struct {
	voter, candidate, epoch int32
	preVote, granted        bool
}

func (b ballot) String() string {
	kind, answer := "vote", "rejects"
	if b.preVote {
		kind = "pre-vote"
	}
	if b.granted {
		answer = "grants"
	}
	return fmt.Sprintf("node %d %s the %s of %d in epoch %d", b.voter, answer, kind, b.candidate, b.epoch)
}

// onWire is what a recording holds of votes, found without understudy's own decoding.
type onWire struct {
	asked map[int32]bool // epochs that a candidate asked for votes in
	lost  map[ballot]int // requests whose answers did not cross, because a process ended: the voter has logged them, and nobody can report them
}

// compareWithTruth holds what understudy reports against what Kafka's logs say. A candidate that gave up before any of
// its requests left is known to itself alone; so is a vote whose answer never left.
func compareWithTruth(v *verdict, truth kafka.Truth, wire onWire) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	leaders, reported := map[int32]int32{}, map[int32]int32{}
	for _, l := range truth.Leaders() {
		leaders[int32(l.Epoch)] = int32(l.Node)
	}
	for _, e := range v.Quorum.Elections {
		if e.Leader >= 0 {
			reported[e.Epoch] = e.Leader
		}
	}
	if !maps.Equal(leaders, reported) {
		wrong("leaders by epoch: Kafka says %v, understudy %v", leaders, reported)
	}

	epochs, seen := map[int32]bool{}, map[int32]bool{}
	for _, x := range truth.Transitions {
		if x.Role == kafka.Leader || x.Role == kafka.Candidate {
			epochs[int32(x.Epoch)] = true
		}
	}
	votes := map[ballot]int{}
	for _, e := range v.Quorum.Elections {
		if e.Leader >= 0 {
			seen[e.Epoch] = true
		}
		for _, c := range e.Candidates {
			epoch := e.Epoch
			if c.PreVote {
				epoch-- // a pre-vote is listed with the epoch that it wants to reach
			} else {
				seen[e.Epoch] = true
			}
			for _, b := range c.Ballots {
				if b.Error == 0 {
					votes[ballot{b.Voter, c.ID, epoch, c.PreVote, b.Granted}] += int(b.Count)
				}
			}
		}
	}
	for e := range epochs {
		if !seen[e] && !wire.asked[e] {
			delete(epochs, e)
		}
	}
	if !maps.Equal(epochs, seen) {
		wrong("epochs with a candidate or leader: Kafka says %v, understudy %v", slices.Sorted(maps.Keys(epochs)), slices.Sorted(maps.Keys(seen)))
	}

	said := map[ballot]int{}
	for _, x := range truth.Votes {
		said[ballot{int32(x.Voter), int32(x.Candidate.ID), int32(x.Epoch), x.PreVote, x.Granted}]++
	}
	for b, n := range votes {
		if said[b] < n {
			wrong("understudy reports %d times that %s, Kafka's log %d times", n, b, said[b])
		}
	}
	for b, n := range said {
		request := b
		request.granted = false
		if missing := n - votes[b]; missing > wire.lost[request] {
			wrong("Kafka's log has %d times that %s, understudy reports %d and %d answers were lost", n, b, votes[b], wire.lost[request])
		}
	}
	return errors.Join(errs...)
}

// votesOnWire finds the Vote requests of a recording, and those that no answer followed.
func votesOnWire(t *testing.T, path string) onWire {
	t.Helper()
	in, err := recordings.OpenAny(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	type call struct {
		conn uint64
		id   int32
	}
	open := map[call]ballot{}
	found := onWire{asked: map[int32]bool{}, lost: map[ballot]int{}}
	var o recordings.Observation
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if o.Kind != recordings.KindFrame {
			continue
		}
		if o.Dir == wire.Response {
			id := int32(o.Frame.Bytes[0])<<24 | int32(o.Frame.Bytes[1])<<16 | int32(o.Frame.Bytes[2])<<8 | int32(o.Frame.Bytes[3])
			delete(open, call{o.Conn.ID, id})
			continue
		}
		h, body, err := wire.ParseRequestHeader(o.Frame.Bytes)
		if err != nil || h.Key != int16(kmsg.Vote) {
			continue
		}
		req := kmsg.NewPtrVoteRequest()
		req.Version = h.Version
		if err := req.ReadFrom(body); err != nil {
			t.Fatal(err)
		}
		p := req.Topics[0].Partitions[0]
		if !p.PreVote {
			found.asked[p.CandidateEpoch] = true
		}
		open[call{o.Conn.ID, h.CorrelationID}] = ballot{voter: int32(o.Conn.Node), candidate: p.CandidateID, epoch: p.CandidateEpoch, preVote: p.PreVote}
	}
	for _, b := range open {
		found.lost[b]++
	}
	return found
}

func TestCompareWithTruth_SeesEachWayToDiffer(t *testing.T) {
	const log = `1796015411714 INFO [RaftManager id=1] Completed transition to CandidateState(localId=1, epoch=1, highWatermark=Optional.empty) from ProspectiveState(epoch=0) (QuorumState)
1796015411794 INFO [RaftManager id=1] Completed transition to Leader(localVoterNode=1, epoch=1, epochStartOffset=0) from CandidateState(localId=1, epoch=1) (QuorumState)
1796015411999 INFO [RaftManager id=1] Completed transition to CandidateState(localId=1, epoch=2, highWatermark=Optional.empty) from ProspectiveState(epoch=1) (QuorumState)
`
	const votes = `1796015411700 INFO [RaftManager id=2] Vote request VoteRequestData(replicaEpoch=0, replicaId=1, lastOffsetEpoch=0, lastOffset=0, preVote=true) with epoch 0 is granted (KafkaRaftClient)
1796015411774 INFO [RaftManager id=2] Vote request VoteRequestData(replicaEpoch=1, replicaId=1, lastOffsetEpoch=0, lastOffset=0, preVote=false) with epoch 1 is granted (KafkaRaftClient)
`
	one, err := kafka.ReadLog(strings.NewReader(log), 1)
	if err != nil {
		t.Fatal(err)
	}
	two, err := kafka.ReadLog(strings.NewReader(votes), 2)
	if err != nil {
		t.Fatal(err)
	}
	truth := kafka.Merge(one, two)
	report := func() *verdict {
		v := &verdict{}
		e := election{Epoch: 1, Leader: 1}
		for _, pre := range []bool{true, false} {
			c := candidate{ID: 1, PreVote: pre, Ballots: []answer{{Voter: 2, Granted: true, Count: 1}}}
			e.Candidates = append(e.Candidates, c)
		}
		v.Quorum.Elections = []election{e}
		return v
	}
	for _, c := range []struct {
		name   string
		change func(v *verdict)
		lost   onWire
		ok     bool
	}{
		{"equal", func(*verdict) {}, onWire{}, true},
		{"a candidate that asked and is not reported", func(*verdict) {}, onWire{asked: map[int32]bool{2: true}}, false},
		{"another leader", func(v *verdict) { v.Quorum.Elections[0].Leader = 2 }, onWire{}, false},
		{"no leader", func(v *verdict) { v.Quorum.Elections[0].Leader = -1 }, onWire{}, false},
		{"another epoch", func(v *verdict) { v.Quorum.Elections[0].Epoch = 3 }, onWire{}, false},
		{"an epoch too many", func(v *verdict) { v.Quorum.Elections = append(v.Quorum.Elections, election{Epoch: 3, Leader: 2}) }, onWire{}, false},
		{"a refused vote", func(v *verdict) { v.Quorum.Elections[0].Candidates[1].Ballots[0].Granted = false }, onWire{}, false},
		{"a vote of another", func(v *verdict) { v.Quorum.Elections[0].Candidates[1].Ballots[0].Voter = 3 }, onWire{}, false},
		{"a vote twice", func(v *verdict) { v.Quorum.Elections[0].Candidates[1].Ballots[0].Count = 2 }, onWire{}, false},
		{"a vote is missing", func(v *verdict) { v.Quorum.Elections[0].Candidates[1].Ballots = nil }, onWire{}, false},
		{"an answer that was lost", func(v *verdict) { v.Quorum.Elections[0].Candidates[1].Ballots = nil }, onWire{lost: map[ballot]int{{2, 1, 1, false, false}: 1}}, true},
		{"an error instead of a vote is no vote", func(v *verdict) {
			b := &v.Quorum.Elections[0].Candidates[0].Ballots
			*b = append(*b, answer{Voter: 3, Error: 8, Count: 1})
		}, onWire{}, true},
	} {
		v := report()
		c.change(v)
		if err := compareWithTruth(v, truth, c.lost); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
