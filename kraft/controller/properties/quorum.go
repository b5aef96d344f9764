package properties

import (
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// Quorum is what controller.quorum.* says.
type Quorum struct {
	Voters           []Voter // controller.quorum.voters: a static quorum; in the order of the file
	BootstrapServers []kraft.Address
	AutoJoin         bool
	Timeouts         kraft.QuorumTimeouts

	FetchMaxBytes         int32 // KIP-1219
	FetchSnapshotMaxBytes int32
}

// Voter is an entry of controller.quorum.voters.
type Voter struct {
	ID kraft.NodeID
	kraft.Address
}

// Voter finds an entry by its id.
func (q *Quorum) Voter(id kraft.NodeID) (Voter, bool) {
	for _, v := range q.Voters {
		if v.ID == id {
			return v, true
		}
	}
	return Voter{}, false
}

const (
	votersName    = "controller.quorum.voters"
	bootstrapName = "controller.quorum.bootstrap.servers"
	autoJoinName  = "controller.quorum.auto.join.enable"
)

func (s *source) quorum() Quorum {
	d := kraft.DefaultTimeouts()
	q := Quorum{
		Voters:   s.voters(),
		AutoJoin: s.boolean(autoJoinName, false),
		Timeouts: kraft.QuorumTimeouts{
			ElectionMs:           s.int32("controller.quorum.election.timeout.ms", 0, d.ElectionMs),
			FetchMs:              s.int32("controller.quorum.fetch.timeout.ms", 0, d.FetchMs),
			ElectionBackoffMaxMs: s.int32("controller.quorum.election.backoff.max.ms", 0, d.ElectionBackoffMaxMs),
			RequestMs:            s.int32("controller.quorum.request.timeout.ms", 0, d.RequestMs),
			RetryBackoffMs:       s.int32("controller.quorum.retry.backoff.ms", 0, d.RetryBackoffMs),
			AppendLingerMs:       s.int32("controller.quorum.append.linger.ms", 0, d.AppendLingerMs),
		},
		FetchMaxBytes:         s.int32("controller.quorum.fetch.max.bytes", 1, 1<<20),
		FetchSnapshotMaxBytes: s.int32("controller.quorum.fetch.snapshot.max.bytes", 1, 1<<20),
	}
	for _, text := range s.list(bootstrapName) {
		a, ok := ParseAddress(text)
		if !ok {
			s.refuse(bootstrapName, "has the entry %q: want HOST:PORT", text)
		}
		q.BootstrapServers = append(q.BootstrapServers, a)
	}
	if len(q.Voters) == 0 && len(q.BootstrapServers) == 0 {
		s.refuse(bootstrapName, "is not set, nor is %s: one of them must say where the controllers are", votersName)
	}
	return q
}

// voters reads ID@HOST:PORT,… Of two entries with one id Kafka silently takes the later one, which is a mistake in every case:
// here it is refused.
func (s *source) voters() (voters []Voter) {
	for _, text := range s.list(votersName) {
		id, address, _ := strings.Cut(text, "@")
		number, err := strconv.ParseInt(id, 10, 32)
		a, ok := ParseAddress(address)
		switch {
		case err != nil || number < 0 || !ok:
			s.refuse(votersName, "has the entry %q: want ID@HOST:PORT", text)
		case a.Host == anyHost:
			s.refuse(votersName, "has the entry %q, whose host cannot be reached by others", text)
		}
		v := Voter{ID: kraft.NodeID(number), Address: a}
		for _, earlier := range voters {
			if earlier.ID == v.ID {
				s.refuse(votersName, "names node %v twice", v.ID)
			}
		}
		voters = append(voters, v)
	}
	return voters
}
