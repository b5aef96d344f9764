package interact

import (
	"fmt"
	"math"
	"strconv"

	"github.com/understudy-kafka/understudy/kraft"
)

// craftRequest makes a request that nobody sent: of a client, or of a peer that is played by the script. Everything that is
// not given is as the receiver would like it.
func (w *world) craftRequest(to kraft.NodeID, api kraft.APIKey, args []string) (*Packet, error) {
	f := newFields(args)
	highest, ok := w.profile.Range(api)
	if !ok {
		return nil, fmt.Errorf("%v has no versions", api)
	}
	p := &Packet{From: kraft.NoNode, To: to, API: api, Version: int16(f.number("version", int64(highest.Max)))}
	about := kraft.Request{Version: p.Version, Listener: f.text("listener", Channel), WrongPartition: f.text("partition", "") == "wrong"}
	if c := f.text("cluster", ClusterID); c != "null" {
		about.ClusterID = kraft.ClusterID{Value: c, Present: true}
	}
	p.Content = w.requestContent(to, api, about, f)
	return p, f.unused()
}

func (w *world) requestContent(to kraft.NodeID, api kraft.APIKey, about kraft.Request, f *fields) kraft.Event {
	view := w.nodes[to].view()
	self := kraft.ReplicaKey{ID: to, DirectoryID: w.nodes[to].setup.Directory}
	epoch := kraft.Epoch(f.number("epoch", int64(view.Epoch)))
	end := kraft.OffsetAndEpoch{Offset: view.End, Epoch: view.LastEpoch}
	switch api {
	case kraft.VoteAPI:
		from, voter, log := f.key("from", kraft.NoReplica), f.key("voter", self), f.position("log", end)
		return shrinkVote(&kraft.ReceiveVoteRequest{
			Request: about, VoterID: voter.ID, VoterDirectoryID: voter.DirectoryID, CandidateEpoch: epoch, Candidate: from.ID,
			CandidateDirectoryID: from.DirectoryID, CandidateLogEnd: log.LogEnd(), PreVote: f.flag("pre-vote"),
		})
	case kraft.BeginQuorumEpochAPI:
		leader, voter := f.key("leader", kraft.NoReplica), f.key("voter", self)
		return shrinkBegin(&kraft.ReceiveBeginQuorumEpoch{
			Request: about, VoterID: voter.ID, VoterDirectoryID: voter.DirectoryID, LeaderID: leader.ID, LeaderEpoch: epoch,
			LeaderEndpoints: f.listeners(leader.ID, 1),
		})
	case kraft.EndQuorumEpochAPI:
		leader := f.key("leader", kraft.NoReplica)
		return shrinkEnd(&kraft.ReceiveEndQuorumEpoch{
			Request: about, LeaderID: leader.ID, LeaderEpoch: epoch, LeaderEndpoints: f.listeners(leader.ID, 0),
			Successors: f.keys("successors"),
		})
	case kraft.FetchAPI:
		from := f.key("from", kraft.NoReplica)
		return shrinkFetch(&kraft.ReceiveFetch{
			Request: about, Replica: from, FetchEpoch: epoch, FetchOffset: kraft.Offset(f.number("offset", int64(end.Offset))),
			LastFetchedEpoch: kraft.Epoch(f.number("last", int64(end.Epoch))), HighWatermark: kraft.Offset(f.number("hw", math.MaxInt64)),
			MaxWaitMs: int32(f.number("wait", 500)), MaxBytes: int32(f.number("bytes", 1<<20)),
		})
	case kraft.FetchSnapshotAPI:
		e := &kraft.ReceiveFetchSnapshot{
			Request: about, Replica: f.key("from", kraft.NoReplica), FetchEpoch: epoch, SnapshotID: f.position("id", kraft.SnapshotID{}),
			Position: f.number("position", 0), MaxBytes: int32(f.number("bytes", 1<<20)),
		}
		return shrinkFetchSnapshot(e, f.text("topics", ""))
	case kraft.DescribeQuorumAPI:
		about.ClusterID = kraft.ClusterID{}
		return &kraft.ReceiveDescribeQuorum{Request: about}
	}
	return w.changeContent(api, about, epoch, f)
}

func (w *world) changeContent(api kraft.APIKey, about kraft.Request, epoch kraft.Epoch, f *fields) kraft.Event {
	voter := f.key("voter", kraft.NoReplica)
	about.WrongPartition = false
	switch api {
	case kraft.AddRaftVoterAPI:
		return &kraft.ReceiveAddRaftVoter{
			Request: about, Voter: voter, Endpoints: f.listeners(voter.ID, 1),
			AckWhenCommitted: f.text("ack", "committed") == "committed" || about.Version == 0,
		}
	case kraft.RemoveRaftVoterAPI:
		return &kraft.ReceiveRemoveRaftVoter{Request: about, Voter: voter}
	case kraft.UpdateRaftVoterAPI:
		return &kraft.ReceiveUpdateRaftVoter{
			Request: about, FetchEpoch: epoch, Voter: voter, Endpoints: f.listeners(voter.ID, 1),
			Versions: kraft.VersionRange{Min: int16(f.number("min", 0)), Max: int16(f.number("max", 1))},
		}
	}
	f.fail("api", fmt.Errorf("%v cannot be made up", api))
	return nil
}

// listeners reads how many listeners of a node are named: 0, 1, 2, or "second", which is not the channel listener.
func (f *fields) listeners(id kraft.NodeID, otherwise int) kraft.Endpoints {
	port := uint16(f.number("port", 9093))
	text := f.text("listeners", strconv.Itoa(otherwise))
	switch text {
	case "0":
		return kraft.Endpoints{}
	case "2":
		return listeners(id, 2, port)
	case "second":
		return kraft.NewEndpoints(kraft.Endpoint{Name: Second, Address: kraft.Address{Host: Address(id).Host, Port: port + 1}})
	}
	return listeners(id, 1, port)
}

func (f *fields) keys(name string) []kraft.ReplicaKey {
	ids, err := parseIDs(f.text(name, ""))
	f.fail(name, err)
	var list []kraft.ReplicaKey
	for _, id := range ids {
		list = append(list, kraft.ReplicaKey{ID: id, DirectoryID: Directory(id, "")})
	}
	return list
}

// craftAnswer makes an answer to a request in place of the node that was asked. Unless it says otherwise it has no error
// and agrees with the epoch of the requester.
func (w *world) craftAnswer(q *Packet, args []string) (*Packet, error) {
	f := newFields(args)
	view := w.nodes[q.From].view()
	p := &Packet{From: q.To, To: q.From, API: q.API, Version: q.Version, Number: q.Number, Record: q.Record, Answer: true, Handle: q.Handle, Request: q}
	r := kraft.Response{From: q.Record, Error: f.code("top"), WrongPartition: f.text("partition", "") == "wrong"}
	leader := kraft.NodeID(f.number("leader", int64(view.Leader)))
	a := kraft.PartitionAnswer{Error: f.code("error"), LeaderID: leader, LeaderEpoch: kraft.Epoch(f.number("epoch", int64(view.Epoch)))}
	if f.text("endpoint", "yes") == "yes" && leader >= 0 {
		a.HasEndpoint, a.LeaderEndpoint = true, Address(leader)
	}
	if r.Error != kraft.None {
		a = kraft.PartitionAnswer{LeaderID: kraft.NoNode}
	}
	p.Content = answerContent(q, r, a, f)
	return p, f.unused()
}

func answerContent(q *Packet, r kraft.Response, a kraft.PartitionAnswer, f *fields) kraft.Event {
	none := kraft.OffsetAndEpoch{Offset: -1, Epoch: -1}
	switch q.API {
	case kraft.VoteAPI:
		return &kraft.ReceiveVoteResponse{Response: r, PartitionAnswer: a, VoteGranted: f.flag("granted")}
	case kraft.BeginQuorumEpochAPI:
		return &kraft.ReceiveBeginQuorumEpochResponse{Response: r, PartitionAnswer: a}
	case kraft.EndQuorumEpochAPI:
		return &kraft.ReceiveEndQuorumEpochResponse{Response: r, PartitionAnswer: a}
	case kraft.FetchAPI:
		e := &kraft.ReceiveFetchResponse{
			Response: r, PartitionAnswer: a, HighWatermark: kraft.Offset(f.number("hw", -1)), LogStart: kraft.Offset(f.number("start", 0)),
			Diverging: f.position("diverging", none), Snapshot: f.position("snapshot", none),
		}
		if text := f.text("records", ""); text != "" {
			batches, err := parseBatches(text)
			f.fail("records", err)
			e.Batches = batches
			for _, b := range batches {
				e.RecordsSize += b.Size
			}
		}
		if f.flag("corrupt") {
			e.Fault, e.FaultEpoch = kraft.BatchCorrupt, e.LeaderEpoch
			e.RecordsSize += DataSize(1)
		}
		return e
	case kraft.FetchSnapshotAPI:
		e := &kraft.ReceiveFetchSnapshotResponse{
			Response: r, PartitionAnswer: a, SnapshotID: f.position("id", kraft.SnapshotID{}), Size: f.number("size", 0),
			Position: f.number("position", 0), Bytes: int32(f.number("bytes", 0)),
		}
		if r.Error != kraft.None {
			e.WrongPartition, e.Shape = true, kraft.ShapeNoTopic
		}
		return e
	case kraft.APIVersionsAPI:
		e := &kraft.ReceiveAPIVersionsResponse{Response: r, HasKRaftVersion: !f.flag("no-kraft.version")}
		e.KRaftVersions = kraft.VersionRange{Min: int16(f.number("min", 0)), Max: int16(f.number("max", 1))}
		return e
	case kraft.UpdateRaftVoterAPI:
		r.Error = a.Error
		e := &kraft.ReceiveUpdateRaftVoterResponse{Response: r, LeaderID: a.LeaderID, LeaderEpoch: a.LeaderEpoch}
		if a.HasEndpoint {
			e.LeaderEndpoint = a.LeaderEndpoint
		}
		return e
	case kraft.AddRaftVoterAPI:
		r.Error = a.Error
		return &kraft.ReceiveAddRaftVoterResponse{Response: r}
	case kraft.RemoveRaftVoterAPI:
		r.Error = a.Error
		return &kraft.ReceiveRemoveRaftVoterResponse{Response: r}
	case kraft.DescribeQuorumAPI:
	}
	f.fail("api", fmt.Errorf("an answer to %v cannot be made up", q.API))
	return nil
}
