package wire

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// kraftKeys are the requests of the consensus.
var kraftKeys = []int16{
	KeyVote, KeyBeginQuorumEpoch, KeyEndQuorumEpoch, KeyFetch, KeyFetchSnapshot, KeyDescribeQuorum, KeyAddRaftVoter, KeyRemoveRaftVoter,
	KeyUpdateRaftVoter,
}

// sent is what a machine would have to send for another one to receive the event; nil where none does.
func sent(ev kraft.Event) kraft.Action {
	switch e := ev.(type) {
	case *kraft.ReceiveVoteRequest:
		return &kraft.SendVoteRequest{
			Epoch: e.CandidateEpoch, Candidate: kraft.ReplicaKey{ID: e.Candidate, DirectoryID: e.CandidateDirectoryID},
			Voter: kraft.ReplicaKey{ID: e.VoterID, DirectoryID: e.VoterDirectoryID}, LogEnd: e.CandidateLogEnd, PreVote: e.PreVote,
		}
	case *kraft.ReceiveBeginQuorumEpoch:
		return &kraft.SendBeginQuorumEpoch{
			Epoch: e.LeaderEpoch, Leader: e.LeaderID, Voter: kraft.ReplicaKey{ID: e.VoterID, DirectoryID: e.VoterDirectoryID},
			Endpoints: e.LeaderEndpoints,
		}
	case *kraft.ReceiveEndQuorumEpoch:
		return &kraft.SendEndQuorumEpoch{Epoch: e.LeaderEpoch, Leader: e.LeaderID, Successors: e.Successors}
	case *kraft.ReceiveFetch:
		return &kraft.SendFetch{
			Replica: e.Replica, Epoch: e.FetchEpoch, FetchOffset: e.FetchOffset, LastFetchedEpoch: e.LastFetchedEpoch,
			HighWatermark: e.HighWatermark, MaxWaitMs: e.MaxWaitMs, MaxBytes: e.MaxBytes,
		}
	case *kraft.ReceiveFetchSnapshot:
		return &kraft.SendFetchSnapshot{Replica: e.Replica, Epoch: e.FetchEpoch, ID: e.SnapshotID, Position: e.Position, MaxBytes: e.MaxBytes}
	case *kraft.ReceiveRemoveRaftVoter:
		return &kraft.SendRemoveRaftVoter{Voter: e.Voter}
	}
	return nil
}

type seedMessage interface {
	Key() int16
	GetVersion() int16
	AppendTo([]byte) []byte
}

// addBody makes a message of the consensus, and no other, an input to begin with.
func addBody(f *testing.F, m seedMessage) {
	if i := slices.Index(kraftKeys, m.Key()); i >= 0 {
		f.Add(uint8(i), m.GetVersion(), m.AppendTo(nil))
	}
}

// readTwice reads a body, and the same again, with one decoder: both events are the same, and neither keeps anything of the bytes, which are
// others afterwards. The result is nil where the body cannot be read.
func readTwice(t *testing.T, body []byte, read func(body []byte) (kraft.Event, error)) kraft.Event {
	t.Helper()
	ev, err := read(body)
	if err != nil {
		return nil
	}
	text := ev.String()
	if again, err := read(slices.Clone(body)); err != nil || !reflect.DeepEqual(ev, again) {
		t.Fatalf("%s, then %v, %v", text, again, err)
	}
	for i := range body {
		body[i] ^= 0x55
	}
	if got := ev.String(); got != text {
		t.Fatalf("%s becomes %s with the bytes that it came in", text, got)
	}
	return ev
}

// FuzzKRaftRequests: each request of the consensus in each version is read as readTwice says. What a machine sends with the same content
// arrives as it was meant, from then on unchanged.
func FuzzKRaftRequests(f *testing.F) {
	for _, tt := range lineRequests {
		addBody(f, tt.message)
	}
	f.Fuzz(func(t *testing.T, which uint8, version int16, body []byte) {
		var d Decoder
		read := func(body []byte) (kraft.Event, error) {
			return d.KRaftRequest(kraftKeys[int(which)%len(kraftKeys)], version, body, kraft.Request{ID: 3})
		}
		ev := readTwice(t, body, read)
		action := sent(ev)
		if action == nil {
			return
		}
		s := Sender{ClusterID: "c"}
		first, err := s.AppendSend(nil, action, version)
		if err != nil {
			return // a field that the version lacks
		}
		arrived, err := read(first)
		if err != nil {
			t.Fatalf("%v cannot be read: %v", action, err)
		}
		second, err := s.AppendSend(nil, sent(arrived), version)
		if err != nil || string(first) != string(second) {
			t.Fatalf("%v is sent as %x, then as %x, %v", action, first, second, err)
		}
	})
}

// FuzzKRaftResponses: the same for responses. The batches of a Fetch response are in the order of the bytes, and no more than fit.
func FuzzKRaftResponses(f *testing.F) {
	for _, tt := range lineResponses {
		addBody(f, tt.message)
	}
	f.Fuzz(func(t *testing.T, which uint8, version int16, body []byte) {
		var d Decoder
		ev := readTwice(t, body, func(body []byte) (kraft.Event, error) {
			return d.KRaftResponse(kraftKeys[int(which)%len(kraftKeys)], version, body, kraft.Response{From: 2})
		})
		e, ok := ev.(*kraft.ReceiveFetchResponse)
		if ok && (int(e.RecordsSize) > len(body) || len(e.Batches) > len(body)/BatchOverhead) {
			t.Fatalf("%d bytes and %d batches of records in a body of %d", e.RecordsSize, len(e.Batches), len(body))
		}
	})
}

// FuzzSnapshot: what the control records of a snapshot say is what a snapshot says that is written from it.
func FuzzSnapshot(f *testing.F) {
	voters := kraft.NewVoterSet(kraft.Voter{Key: keyOne, Endpoints: at, Versions: kraft.VersionRange{Max: 1}})
	good, err := AppendControlBatch(nil, kraft.Batch{Base: 3, Epoch: 2, Control: []kraft.ControlRecord{
		{Type: kraft.KRaftVersionRecord, KRaftVersion: 1}, {Type: kraft.VotersRecord, Voters: voters},
	}}, 5)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(AppendDataBatch(good, 5, 2, 6, []byte("a record")))
	f.Add(good[:len(good)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := SnapshotContents(b)
		if err != nil {
			if !strings.Contains(err.Error(), "snapshot of") {
				t.Fatal(err)
			}
			return
		}
		var records []kraft.ControlRecord
		if c.HasKRaftVersion {
			records = append(records, kraft.ControlRecord{Type: kraft.KRaftVersionRecord, KRaftVersion: c.KRaftVersion})
		}
		if c.HasVoters {
			records = append(records, kraft.ControlRecord{Type: kraft.VotersRecord, Voters: c.Voters})
		}
		if len(records) == 0 {
			return
		}
		raw, err := AppendControlBatch(nil, kraft.Batch{Epoch: 1, Control: records}, 1)
		if err != nil {
			t.Fatal(err)
		}
		again, err := SnapshotContents(raw)
		if err != nil || again.HasVoters != c.HasVoters || again.HasKRaftVersion != c.HasKRaftVersion ||
			again.KRaftVersion != c.KRaftVersion || !again.Voters.Equal(c.Voters) {
			t.Fatalf("%+v is written and read as %+v, %v", c, again, err)
		}
	})
}
