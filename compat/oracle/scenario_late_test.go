package oracle_test

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
)

// asked lets n1 send a request of each kind, in the role that does so.
var asked = []struct {
	api kraft.APIKey
	do  func(s *scene)
}{
	{kraft.VoteAPI, func(s *scene) { s.alone(); s.become("Prospective") }},
	{kraft.BeginQuorumEpochAPI, func(s *scene) { s.alone(); s.become("Leader") }},
	{kraft.EndQuorumEpochAPI, func(s *scene) { s.alone(); s.become("Resigned") }},
	{kraft.FetchAPI, func(s *scene) { s.alone(); s.become("Follower") }},
	{kraft.FetchSnapshotAPI, func(s *scene) {
		s.following(oracle.NewInit(1, 1, 1, 2, 3))
		s.respond(fetched(func(p *kmsg.FetchResponseTopicPartition) { p.SnapshotID.EndOffset, p.SnapshotID.Epoch = 9, 2 }))
	}},
	{kraft.APIVersionsAPI, func(s *scene) {
		s.leading(1)
		s.Pass(4, 100)
		s.Craft(1, addVoterRequest(4))
	}},
	{kraft.UpdateRaftVoterAPI, func(s *scene) {
		in := oracle.NewInit(1, 1, 1, 2, 3)
		in.Log, in.Endpoints = dynamicLog(1), map[string]string{oracle.Channel: "h1:9999"}
		s.following(in)
		due := s.State(1).Timers["updateVoter"]
		for s.Now+1900 < due {
			s.Now += 1900
			s.respond(fetched(func(*kmsg.FetchResponseTopicPartition) {}))
		}
		s.Now = due - 1
		s.answer(oracle.Command{Poll: 1, State: true}, fetched(func(*kmsg.FetchResponseTopicPartition) {}))
		s.Now = due
		s.Do(1, oracle.Command{Cmd: "poll", Poll: 1, State: true})
	}},
}

// alone starts n1, of three voters, without a leader.
func (s *scene) alone() {
	in := oracle.NewInit(1, 1, 1, 2, 3)
	in.Stored = &oracle.StoredState{Epoch: 3, Leader: -1, Voted: -1, Version: 1}
	s.Start(in, nil)
	s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
}

// become leads n1 into a role of a new epoch.
func (s *scene) become(role string) {
	epoch := s.State(1).Epoch + 1
	switch role {
	case "Unattached":
		s.Craft(1, voteRequest(1, epoch, 2, 1, 0, 0, oracle.ClusterID))
	case "Follower":
		s.Craft(1, beginRequest(epoch, 3))
	case "Prospective":
		s.become("Unattached")
		s.Now += 2100
		s.Do(1, oracle.Command{Cmd: "poll", Settle: true, State: true})
	case "Candidate":
		s.become("Prospective")
		s.vote()
	case "Leader":
		s.become("Candidate")
		s.vote()
	case "Resigned":
		s.become("Leader")
		s.Do(1, oracle.Command{Cmd: "resign", Epoch: s.State(1).Epoch, Settle: true, State: true})
	}
	s.check("n1 becomes "+role, s.State(1).Role == role)
}

// vote grants n1 the last vote that it has asked for.
func (s *scene) vote() {
	m := s.sent(kraft.VoteAPI)
	s.Do(1, oracle.Command{Cmd: "response", Corr: m.Corr, Version: m.Version, Body: voteAnswer(m.Version, s.State(1).Epoch, true), Settle: true, State: true})
}

// sent is the last request of that kind that n1 has sent.
func (s *scene) sent(api kraft.APIKey) oracle.Message {
	for i := len(s.Net) - 1; i >= 0; i-- {
		if m := s.Net[i]; m.API == int16(api) && m.From == 1 && !m.Response {
			return m
		}
	}
	s.Fatalf("n1 has not sent %v", api)
	return oracle.Message{}
}

// lateAnswers: an answer of each kind comes in each role, long after its connection was reset. Nothing happens.
func lateAnswers(s *scene) {
	for _, a := range asked {
		for _, role := range []string{"Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned"} {
			s.Net = nil
			a.do(s)
			m := s.sent(a.api)
			s.become(role)
			s.Do(1, oracle.Command{Cmd: "response", Corr: m.Corr, Version: m.Version, Body: oracle.ErrorBody(m.API, m.Version, kraft.UnknownServerError), Poll: 1, State: true})
			s.check(fmt.Sprintf("a late answer to %v leaves n1 %s", a.api, role), s.State(1).Role == role && s.Nodes[1].Fatal == "")
		}
	}
}
