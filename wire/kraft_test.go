package wire

import (
	"errors"
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

var (
	keyOne  = kraft.ReplicaKey{ID: 1, DirectoryID: kraft.DirectoryID{15: 101}}
	keyTwo  = kraft.ReplicaKey{ID: 2, DirectoryID: kraft.DirectoryID{15: 102}}
	address = kraft.Address{Host: "h1", Port: 65000}
	at      = kraft.NewEndpoints(kraft.Endpoint{Name: "CONTROLLER", Address: address})
	dest    = kraft.Destination{Record: 2, Address: address, CorrelationID: 7}
)

// TestKRaftSend_ArrivesAsItWasMeant encodes what a machine sends in each version and decodes it as the other machine
// does. What a version lacks is gone, and nothing else.
func TestKRaftSend_ArrivesAsItWasMeant(t *testing.T) {
	sender := Sender{ClusterID: "c1", SoftwareName: "understudy", SoftwareVersion: "1"}
	vote := &kraft.SendVoteRequest{Destination: dest, Epoch: 5, Candidate: keyOne, Voter: keyTwo, LogEnd: kraft.LogEnd{LastEpoch: 4, LastOffset: 9}}
	preVote := *vote
	preVote.PreVote = true
	begin := &kraft.SendBeginQuorumEpoch{Destination: dest, Epoch: 5, Leader: 1, Voter: keyTwo, Endpoints: at}
	end := &kraft.SendEndQuorumEpoch{Destination: dest, Epoch: 5, Leader: 1, Successors: []kraft.ReplicaKey{keyTwo}}
	fetch := &kraft.SendFetch{Destination: dest, Replica: keyOne, Epoch: 5, FetchOffset: 9, LastFetchedEpoch: 4, HighWatermark: 8, MaxWaitMs: 500, MaxBytes: 1000}
	chunk := &kraft.SendFetchSnapshot{Destination: dest, Replica: keyOne, Epoch: 5, ID: kraft.SnapshotID{Offset: 9, Epoch: 4}, Position: 3, MaxBytes: 1000}
	for _, c := range []struct {
		name    string
		action  kraft.Action
		version int16
		want    string
	}{
		{"vote v0", vote, 0, "Vote(#3 v0 epoch=5 candidate=1 log=9@4 voter=-1)"},
		{"vote v1", vote, 1, "Vote(#3 v1 epoch=5 candidate=" + keyOne.String() + " log=9@4 voter=" + keyTwo.String() + ")"},
		{"pre-vote", &preVote, 2, "PreVote(#3 v2 epoch=5 candidate=" + keyOne.String() + " log=9@4 voter=" + keyTwo.String() + ")"},
		{"begin v0", begin, 0, "BeginQuorumEpoch(#3 v0 leader=1 epoch=5 voter=-1 at=[])"},
		{"begin v1", begin, 1, "BeginQuorumEpoch(#3 v1 leader=1 epoch=5 voter=" + keyTwo.String() + " at=[CONTROLLER=h1:65000])"},
		{"end v0", end, 0, "EndQuorumEpoch(#3 v0 leader=1 epoch=5 successors=[2])"},
		{"end v1", end, 1, "EndQuorumEpoch(#3 v1 leader=1 epoch=5 successors=[" + keyTwo.String() + "])"},
		{"fetch v13", fetch, 13, "Fetch(#3 v13 from=1 epoch=5 offset=9 last=4 hw=9223372036854775807 wait=500)"},
		{"fetch v15", fetch, 15, "Fetch(#3 v15 from=1 epoch=5 offset=9 last=4 hw=9223372036854775807 wait=500)"},
		{"fetch v17", fetch, 17, "Fetch(#3 v17 from=" + keyOne.String() + " epoch=5 offset=9 last=4 hw=9223372036854775807 wait=500)"},
		{"fetch v18", fetch, 18, "Fetch(#3 v18 from=" + keyOne.String() + " epoch=5 offset=9 last=4 hw=8 wait=500)"},
		{"fetch v12 names no topic id", fetch, 12, "Fetch(#3 v12 wrong-partition from=1 epoch=0 offset=0 last=0 hw=9223372036854775807 wait=500)"},
		{"snapshot v0", chunk, 0, "FetchSnapshot(#3 v0 from=1 epoch=5 id=9@4 position=3)"},
		{"snapshot v1", chunk, 1, "FetchSnapshot(#3 v1 from=" + keyOne.String() + " epoch=5 id=9@4 position=3)"},
		{
			"update voter", &kraft.SendUpdateVoter{Destination: dest, Epoch: 5, Voter: kraft.Voter{Key: keyOne, Endpoints: at, Versions: kraft.VersionRange{Max: 1}}}, 0,
			"UpdateRaftVoter(#3 v0 epoch=5 voter=" + keyOne.String() + " at=[CONTROLLER=h1:65000] versions=0-1)",
		},
		{
			"add voter v1", &kraft.SendAddRaftVoter{Destination: dest, Voter: keyOne, Endpoints: at, TimeoutMs: 2000}, 1,
			"AddRaftVoter(#3 v1 voter=" + keyOne.String() + " at=[CONTROLLER=h1:65000] ackWhenCommitted=false)",
		},
		{"remove voter", &kraft.SendRemoveRaftVoter{Destination: dest, Voter: keyOne}, 0, "RemoveRaftVoter(#3 v0 voter=" + keyOne.String() + ")"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := sender.AppendSend(nil, c.action, c.version)
			if err != nil {
				t.Fatal(err)
			}
			key, to, ok := SendKey(c.action)
			if !ok || to != dest {
				t.Fatalf("SendKey says %d %v %t", key, to, ok)
			}
			var d Decoder
			event, err := d.KRaftRequest(key, c.version, body, kraft.Request{ID: 3})
			if err != nil {
				t.Fatal(err)
			}
			if event.String() != c.want {
				t.Errorf("got  %v\nwant %s", event, c.want)
			}
		})
	}
}

func TestKRaftSend_RefusesWhatKafkaCannotEncode(t *testing.T) {
	var s Sender
	for name, c := range map[string]struct {
		action  kraft.Action
		version int16
	}{
		"pre-vote below v2":                 {&kraft.SendVoteRequest{PreVote: true}, 1},
		"AddRaftVoter without ack below v1": {&kraft.SendAddRaftVoter{}, 0},
	} {
		if _, err := s.AppendSend(nil, c.action, c.version); !errors.Is(err, ErrNotEncodable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.AppendSend(nil, &kraft.FlushLog{}, 0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("an action that sends nothing: %v", err)
	}
}

func TestKRaftReply_ArrivesAsItWasMeant(t *testing.T) {
	known := kraft.PartitionReply{LeaderID: 1, LeaderEpoch: 5, HasEndpoint: true, LeaderEndpoint: address}
	none := kraft.OffsetAndEpoch{Offset: -1, Epoch: -1}
	records := AppendDataBatch(nil, 4, 5, 1000, []byte("a"), []byte("b"))
	fetched := kraft.FetchAnswer{PartitionReply: known, HighWatermark: 6, Diverging: none, Snapshot: none, From: 4, UpTo: 6}
	diverging := fetched
	diverging.Diverging = kraft.OffsetAndEpoch{Offset: 3, Epoch: 2}
	refused := kraft.FetchAnswer{Reply: kraft.Reply{Error: kraft.InconsistentClusterID}}
	for _, c := range []struct {
		name    string
		action  kraft.Action
		version int16
		data    []byte
		want    string
	}{
		{"vote v0 has no endpoints", &kraft.ReplyVote{PartitionReply: known, VoteGranted: true}, 0, nil, "VoteResponse(from=2 corr=9 leader=1 epoch=5 granted=true)"},
		{"vote v1", &kraft.ReplyVote{PartitionReply: known}, 1, nil, "VoteResponse(from=2 corr=9 leader=1 epoch=5 at=h1:65000 granted=false)"},
		{"begin v1", &kraft.ReplyBeginQuorumEpoch{PartitionReply: known}, 1, nil, "BeginQuorumEpochResponse(from=2 corr=9 leader=1 epoch=5 at=h1:65000)"},
		{"end v0", &kraft.ReplyEndQuorumEpoch{PartitionReply: known}, 0, nil, "EndQuorumEpochResponse(from=2 corr=9 leader=1 epoch=5)"},
		{"fetch v17", &kraft.ReplyFetch{FetchAnswer: fetched}, 17, records, "FetchResponse(from=2 corr=9 leader=1 epoch=5 at=h1:65000 hw=6 [[4..5]@5])"},
		{"fetch v15 has no endpoints", &kraft.ReplyDivergingEpoch{FetchAnswer: diverging}, 15, nil, "FetchResponse(from=2 corr=9 leader=1 epoch=5 hw=6 diverging=3@2)"},
		{"fetch, top level", &kraft.ReplyFetch{FetchAnswer: refused}, 17, nil, "FetchResponse(from=2 corr=9 top=INCONSISTENT_CLUSTER_ID wrong-partition leader=-1 epoch=0 hw=-1)"},
		{
			"snapshot", &kraft.ReplyFetchSnapshot{PartitionReply: known, HasLeader: true, ID: kraft.SnapshotID{Offset: 9, Epoch: 4}, Size: 100, Position: 3}, 1, []byte("xyz"),
			"FetchSnapshotResponse(from=2 corr=9 leader=1 epoch=5 at=h1:65000 id=9@4 position=3 bytes=3 size=100)",
		},
		{"update voter", &kraft.ReplyUpdateRaftVoter{LeaderID: 1, LeaderEpoch: 5, LeaderEndpoint: address}, 0, nil, "UpdateRaftVoterResponse(from=2 corr=9 leader=1 epoch=5)"},
		{"add voter", &kraft.ReplyAddRaftVoter{Reply: kraft.Reply{Error: kraft.DuplicateVoter}, Message: kraft.TextMessage}, 0, nil, "AddRaftVoterResponse(from=2 corr=9 top=DUPLICATE_VOTER)"},
		{"remove voter", &kraft.ReplyRemoveRaftVoter{Message: kraft.NullMessage}, 0, nil, "RemoveRaftVoterResponse(from=2 corr=9)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := AppendReply(nil, c.action, ReplyTo{Version: c.version}, c.data)
			if err != nil {
				t.Fatal(err)
			}
			key, _, ok := ReplyKey(c.action)
			if !ok {
				t.Fatal("no reply key")
			}
			var d Decoder
			event, err := d.KRaftResponse(key, c.version, body, kraft.Response{From: 2, CorrelationID: 9})
			if err != nil {
				t.Fatal(err)
			}
			if event.String() != c.want {
				t.Errorf("got  %v\nwant %s", event, c.want)
			}
		})
	}
}

func TestKRaftBatches_StopAtCutAndAtCorruption(t *testing.T) {
	one := AppendDataBatch(nil, 0, 1, 1000, []byte("a"))
	two, err := AppendControlBatch(one, kraft.Batch{Base: 1, Epoch: 1, Control: []kraft.ControlRecord{
		{Type: kraft.LeaderChangeRecord, Leader: 1, VoterIDs: []kraft.NodeID{1, 2}, Granting: []kraft.NodeID{1}},
		{Type: kraft.KRaftVersionRecord, KRaftVersion: 1},
		{Type: kraft.VotersRecord, Voters: kraft.NewVoterSet(kraft.Voter{Key: keyOne, Endpoints: at, Versions: kraft.VersionRange{Max: 1}})},
	}}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	corrupt := append([]byte{}, two...)
	corrupt[len(one)+30] ^= 1
	unframed := slices.Clone(two)
	unframed[len(one)+16] = 9 // the magic
	for _, c := range []struct {
		name    string
		records []byte
		batches int
		fault   kraft.RecordsFault
	}{
		{"whole", two, 2, kraft.RecordsFine},
		{"cut", two[:len(two)-1], 1, kraft.RecordsFine},
		{"corrupt", corrupt, 1, kraft.BatchCorrupt},
		{"corrupt, and then no batch", append(slices.Clone(corrupt), unframed[len(one):]...), 1, kraft.RecordsCorrupt},
		{"no batch", unframed, 1, kraft.RecordsCorrupt},
		{"none", nil, 0, kraft.RecordsFine},
	} {
		batches, fault, _ := KRaftBatches(nil, c.records)
		if len(batches) != c.batches || fault != c.fault {
			t.Errorf("%s: %v, fault %d", c.name, batches, fault)
		}
	}
	batches, _, _ := KRaftBatches(nil, two)
	want := "[1..3]@1[LeaderChange(1 voters=[1 2] granting=[1]) KRaftVersion(1) Voters{" + keyOne.String() + "[CONTROLLER=h1:65000] v0-1}]"
	if got := batches[1].String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	contents, err := SnapshotContents(two)
	if err != nil || !contents.HasVoters || contents.KRaftVersion != 1 {
		t.Errorf("contents %+v, %v", contents, err)
	}
	if _, err := SnapshotContents(corrupt); !errors.Is(err, ErrMalformed) {
		t.Errorf("corrupt snapshot: %v", err)
	}
}
