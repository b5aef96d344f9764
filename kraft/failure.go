package kraft

// Refusal is why a call of the state machine above cannot be served. Nothing has changed then.
type Refusal uint8

// The refusals.
const (
	NotLeader           Refusal = iota // NotLeaderException
	EpochTooNew                        // IllegalArgumentException: the epoch is above the current one
	NoRecords                          // IllegalArgumentException: there is nothing to append
	TooManyBatches                     // IllegalStateException: 10 completed batches wait
	RecordsTooLarge                    // RecordBatchTooLargeException: above 8 MiB
	InvalidUpgrade                     // InvalidUpdateVersionException
	UpgradeInconsistent                // IllegalStateException: voters are missing or have no directory id
	UpgradeNotSupported                // the release cannot do it
	AlreadyLeaving                     // the leader of that epoch has resigned; ignored by Kafka
	NegativeTimeout                    // IllegalArgumentException: of a shutdown

	acceptable Refusal = 255 // no refusal
)

func (r Refusal) String() string {
	return [...]string{
		"not-leader", "epoch-too-new", "no-records", "too-many-batches", "records-too-large", "invalid-upgrade",
		"upgrade-inconsistent", "upgrade-not-supported", "already-leaving", "negative-timeout",
	}[r]
}

// FatalReason is why a Kafka process would end here.
type FatalReason uint8

// The inputs and states that end the process.
const (
	noReason                  FatalReason = iota
	FatalInconsistentLeader               // a message names another leader for the current epoch, or the node itself
	FatalUnknownEndpoints                 // a leader is learnt whose endpoints cannot be determined
	FatalInvalidTransition                // a role change that the current role does not allow
	FatalVoteForSelf                      // a vote would be granted to the own id
	FatalNoNodeID                         // something that only a node with an id can do
	FatalInvalidRequest                   // a response says that our request was invalid
	FatalNotAuthorized                    // a response says CLUSTER_AUTHORIZATION_FAILED
	FatalUnexpectedRole                   // a response that only another role can handle
	FatalTruncationBelowHW                // the leader demands truncation below the high watermark
	FatalHighWatermarkFell                // a high watermark below the known one
	FatalUnexpectedOffset                 // a fetched batch begins before the log end
	FatalCorruptRecords                   // fetched records are corrupt and the release does not drop them
	FatalUnexpectedSnapshot               // a FetchSnapshot response that does not continue the snapshot in progress
	FatalSnapshotNotNewer                 // a downloaded snapshot does not lie beyond the log
	FatalSnapshotRequest                  // a FetchSnapshot request that Kafka fails on
	FatalFetchFromLeader                  // a request that names the leader's own id as its sender
	FatalContradictoryVote                // a voter has changed its answer to a candidate
	FatalNotAVoter                        // an answer, or the node itself, is not among the voters that it must be among
	FatalNoEndpoint                       // a node must be asked but has no endpoint for the channel listener
	FatalNoVoterSet                       // kraft.version 1 without any voter set
	FatalReplicaKey                       // a replica would change its directory id
	FatalLocalEndOffset                   // the leader's own end offset fell
	FatalLastEpoch                        // the epoch cache is empty and the snapshot does not match the log
	FatalControlRecord                    // a control record at an offset that the history has passed
	FatalResponseInRole                   // an Add/RemoveRaftVoter response outside of Follower
	FatalVoterChange                      // a voter change that cannot be applied to the current voter set
	FatalNegativeTimeout                  // a list of successors so long that the shift overflows
	FatalOffsetsNotIncreasing             // offsets within fetched records do not increase
	FatalEpochRefused                     // a negative epoch or offset, which the epoch cache refuses
	fatalReasons
)

var fatalNames = [fatalReasons]string{
	"none", "inconsistent-leader", "unknown-endpoints", "invalid-transition", "vote-for-self", "no-node-id",
	"invalid-request", "not-authorized", "unexpected-role", "truncation-below-high-watermark", "high-watermark-fell",
	"unexpected-offset", "corrupt-records", "unexpected-snapshot", "snapshot-not-newer", "snapshot-request",
	"fetch-from-leader", "contradictory-vote", "not-a-voter", "no-endpoint", "no-voter-set", "replica-key",
	"local-end-offset", "last-epoch", "control-record", "response-in-role", "voter-change", "negative-timeout", "offsets-not-increasing",
	"epoch-refused",
}

func (r FatalReason) String() string { return fatalNames[r] }

// FatalReasons are all reasons.
func FatalReasons() []FatalReason {
	var list []FatalReason
	for r := noReason + 1; r < fatalReasons; r++ {
		list = append(list, r)
	}
	return list
}
