package explore

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// Models are the quorums that are explored, each for a mechanism that has to hold.
func Models() []*Model {
	return []*Model{
		{
			Name: "replication", About: "three voters, two epochs, two records: elections, replication and divergence",
			Nodes: 3, Voters: 3, Epochs: 2, Budget: Budget{Timeouts: 2, Appends: 2},
			Sometimes: []string{"TruncateTo", "ReplyDivergingEpoch", "AdvanceHighWatermark", "SendEndQuorumEpoch"},
		},
		{
			Name: "pre-vote", About: "three voters that ask before they stand, and messages that come twice",
			Nodes: 3, Voters: 3, Epochs: 1, Budget: Budget{Timeouts: 2, Copies: 1, Retries: 1},
			Sometimes: []string{"SendVoteRequest", "AppendLeaderChange"},
		},
		{
			Name: "restart", About: "three voters, of which one may crash between any two actions and lose what it has not flushed",
			Nodes: 3, Voters: 3, Epochs: 2, Interrupt: true, Prelude: true, Budget: Budget{Timeouts: 1, Appends: 2, Crashes: 1},
			Sometimes: []string{"PersistQuorumState", "AppendFetched", "AdvanceHighWatermark"},
		},
		{
			Name: "two-voters", About: "two voters, both needed for everything: crashes, losses, and a release that backs off",
			Release: "4.0.0", Nodes: 2, Voters: 2, Epochs: 3, Interrupt: true, Budget: Budget{Timeouts: 3, Appends: 1, Crashes: 1, Losses: 1, Retries: 1},
			Sometimes: []string{"AppendLeaderChange", "AdvanceHighWatermark"},
		},
		{
			Name: "wiped-disk", About: "three voters with directory ids, of which one loses its disk and comes back as a stranger",
			Nodes: 3, Voters: 3, Dynamic: true, Epochs: 2, Prelude: true,
			Ends:     []kraft.FatalReason{kraft.FatalUnknownEndpoints, kraft.FatalInconsistentLeader, kraft.FatalNotAVoter},
			AutoJoin: true, Budget: Budget{Timeouts: 1, Appends: 1, Wipes: 1, Announces: 1, Updates: 2},
			Sometimes: []string{"SendRemoveRaftVoter", "SendAddRaftVoter", "Fatal", "AppendControl"},
		},
		{
			Name: "add-voter", About: "an observer is made a voter, and the leader may fall before or after the new set is committed",
			Nodes: 3, Voters: 2, Dynamic: true, Epochs: 2, Prelude: true, Add: 3, Ends: []kraft.FatalReason{kraft.FatalNotAVoter},
			Budget:    Budget{Timeouts: 1, Changes: 2, Crashes: 1},
			Sometimes: []string{"SendAPIVersions", "AppendControl", "ReplyAddRaftVoter"},
		},
		{
			Name: "remove-leader", About: "the leader of three removes itself, and others stand for election",
			Nodes: 3, Voters: 3, Dynamic: true, Epochs: 2, Prelude: true, Remove: 1,
			Ends:      []kraft.FatalReason{kraft.FatalNotAVoter},
			Budget:    Budget{Timeouts: 2, Changes: 2},
			Sometimes: []string{"AppendControl", "ReplyRemoveRaftVoter", "SendEndQuorumEpoch", "Fatal"},
		},
		{
			Name: "snapshot", About: "a voter and an observer: the observer falls behind a snapshot and fetches it in two pieces",
			Nodes: 2, Voters: 1, Dynamic: true, Epochs: 2, Prelude: true, Discovery: true,
			Budget:    Budget{Appends: 2, Snapshots: 2, Crashes: 1, Losses: 1, Retries: 1},
			Sometimes: []string{"BeginSnapshotFetch", "AppendSnapshot", "InstallSnapshot", "AbandonSnapshotFetch", "SendFetchSnapshot"},
		},
		{
			Name: "resignation", About: "the leader of three is asked to resign, and its successors stand at once",
			Nodes: 3, Voters: 3, Epochs: 2, Prelude: true, Budget: Budget{Timeouts: 1, Resigns: 1, Expiries: 1, Appends: 1},
			Sometimes: []string{"SendEndQuorumEpoch", "ReplyEndQuorumEpoch"},
		},
		{
			Name: "discovery", About: "two voters that look for the leader at any bootstrap server",
			Nodes: 2, Voters: 2, Epochs: 2, Discovery: true, Budget: Budget{Timeouts: 2, Losses: 1, Appends: 1, Updates: 1},
			Sometimes: []string{"ChooseBootstrap", "SendUpdateVoter", "ReplyUpdateRaftVoter"},
		},
	}
}

// ModelByName finds a model.
func ModelByName(name string) (*Model, error) {
	for _, m := range Models() {
		if m.Name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("there is no model %q", name)
}
