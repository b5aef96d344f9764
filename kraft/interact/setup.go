package interact

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// What all nodes share.
const (
	ClusterID = "c1"
	Channel   = "CONTROLLER" // the channel listener
	Second    = "SECOND"     // one that a node may have besides
)

// Setup is how a node is configured and what it finds on its disk.
type Setup struct {
	ID        kraft.NodeID
	Directory kraft.DirectoryID
	KRaft     int16          // 1: voters in the bootstrap checkpoint, 0: controller.quorum.voters
	Voters    []kraft.NodeID // empty with KRaft 1: formatted without initial controllers
	Bootstrap []kraft.NodeID // controller.quorum.bootstrap.servers
	Endpoints kraft.Endpoints

	Broker                bool // can not become a voter
	AutoJoin              bool
	MaxKRaft              int16
	Timeouts              kraft.QuorumTimeouts
	FetchMaxBytes         int32
	FetchSnapshotMaxBytes int32

	Limits map[kraft.APIKey]int16 // highest versions that its peers know
	Stored *kraft.QuorumState
	Log    []kraft.Batch
	Draws  []Draw
}

// quorum is what nodes are started with unless they say otherwise.
type quorum struct {
	kraft     int16
	voters    []kraft.NodeID
	listeners int
	options   []string
}

func (q *quorum) setup(id kraft.NodeID, options []string) (Setup, error) {
	s := Setup{
		ID: id, Directory: Directory(id, ""), KRaft: q.kraft, Voters: q.voters, Endpoints: listeners(id, q.listeners, 9093), MaxKRaft: 1,
		Timeouts: kraft.DefaultTimeouts(), FetchMaxBytes: 1 << 20, FetchSnapshotMaxBytes: 1 << 20, Limits: map[kraft.APIKey]int16{},
		Draws: []Draw{{Kind: ElectionDraw, Value: int32(id) * 100}},
	}
	s.Timeouts.AppendLingerMs = 0
	if q.kraft == 1 {
		s.Bootstrap = q.voters
	}
	for _, option := range append(append([]string{}, q.options...), options...) {
		name, value, _ := strings.Cut(option, "=")
		if err := s.set(name, value, q); err != nil {
			return s, fmt.Errorf("option %s of n%d: %w", option, id, err)
		}
	}
	return s, nil
}

func listeners(id kraft.NodeID, count int, port uint16) kraft.Endpoints {
	list := []kraft.Endpoint{{Name: Channel, Address: kraft.Address{Host: Address(id).Host, Port: port}}}
	if count > 1 {
		list = append(list, kraft.Endpoint{Name: Second, Address: kraft.Address{Host: Address(id).Host, Port: port + 1}})
	}
	return kraft.NewEndpoints(list...)
}

func (s *Setup) set(name, value string, q *quorum) (err error) {
	switch name {
	case "new":
		s.Voters = nil
	case "broker":
		s.Broker = true
	case "auto-join":
		s.AutoJoin = true
	case "dir":
		s.Directory = Directory(s.ID, value)
	case "port":
		port, err := strconv.ParseUint(value, 10, 16)
		s.Endpoints = listeners(s.ID, q.listeners, uint16(port))
		return err
	case "listeners":
		n, err := strconv.Atoi(value)
		s.Endpoints = listeners(s.ID, n, 9093)
		return err
	case "voters":
		s.Voters, err = parseIDs(value)
	case "bootstrap":
		s.Bootstrap, err = parseIDs(value)
	case "draws":
		s.Draws = nil
		for _, text := range strings.Split(value, ",") {
			v, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return err
			}
			s.Draws = append(s.Draws, Draw{Kind: ElectionDraw, Value: int32(v)})
		}
	case "stored":
		s.Stored, err = parseStored(value)
	case "log":
		s.Log, err = parseBatches(value)
	default:
		return s.setNumber(name, value)
	}
	return err
}

func (s *Setup) setNumber(name, value string) error {
	v, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return fmt.Errorf("unknown, or %w", err)
	}
	n := int32(v)
	switch name {
	case "max-kraft":
		s.MaxKRaft = int16(n)
	case "election-timeout":
		s.Timeouts.ElectionMs = n
	case "fetch-timeout":
		s.Timeouts.FetchMs = n
	case "backoff-max":
		s.Timeouts.ElectionBackoffMaxMs = n
	case "request-timeout":
		s.Timeouts.RequestMs = n
	case "retry-backoff":
		s.Timeouts.RetryBackoffMs = n
	case "linger":
		s.Timeouts.AppendLingerMs = n
	case "fetch-bytes":
		s.FetchMaxBytes = n
	case "snapshot-bytes":
		s.FetchSnapshotMaxBytes = n
	default:
		api, ok := strings.CutPrefix(name, "peers-know-")
		key, known := apiOf(api)
		if !ok || !known {
			return fmt.Errorf("unknown")
		}
		s.Limits[key] = int16(n)
	}
	return nil
}

func apiOf(name string) (kraft.APIKey, bool) {
	for _, k := range []kraft.APIKey{
		kraft.FetchAPI, kraft.APIVersionsAPI, kraft.VoteAPI, kraft.BeginQuorumEpochAPI, kraft.EndQuorumEpochAPI, kraft.DescribeQuorumAPI,
		kraft.FetchSnapshotAPI, kraft.AddRaftVoterAPI, kraft.RemoveRaftVoterAPI, kraft.UpdateRaftVoterAPI,
	} {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// StaticVoters is controller.quorum.voters of a node, InitialVoters the set in its bootstrap checkpoint.
func (s *Setup) StaticVoters() kraft.VoterSet {
	var list []kraft.Voter
	for _, id := range s.Voters {
		list = append(list, kraft.Voter{Key: kraft.ReplicaKey{ID: id}, Endpoints: listeners(id, 1, 9093)})
	}
	return kraft.NewVoterSet(list...)
}

// InitialVoters is the voter set in the bootstrap checkpoint.
func (s *Setup) InitialVoters() kraft.VoterSet {
	var list []kraft.Voter
	for _, id := range s.Voters {
		list = append(list, kraft.Voter{
			Key:       kraft.ReplicaKey{ID: id, DirectoryID: Directory(id, "")},
			Endpoints: listeners(id, 1, 9093), Versions: kraft.VersionRange{Max: 1},
		})
	}
	return kraft.NewVoterSet(list...)
}
