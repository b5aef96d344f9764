package kraft

// Rules are the differences between Kafka releases, one switch per rule. The zero value is 4.0.0; compat has a profile per
// release.
type Rules struct {
	// DropNewerEpochBatches: a follower takes only the batches before the first one of an epoch above its own, and a corrupt
	// set of records is dropped instead of ending the process (KAFKA-18723).
	DropNewerEpochBatches bool

	// ElectionBackoff is what a Candidate does that cannot win any more (KAFKA-18345).
	ElectionBackoff ElectionBackoffRule

	// FetchHighWatermark: a Fetch carries the follower's high watermark, is answered at once if the leader's is higher, and
	// parked ones are answered when the leader's rises (KIP-1166, KAFKA-14145).
	FetchHighWatermark bool

	// UpgradeKRaftVersion: kraft.version can be raised from 0 to 1, and UpdateRaftVoter works at version 0
	// (KAFKA-16538).
	UpgradeKRaftVersion bool

	// UpdateVoterPeriod is the update-voter timer in fetch timeouts: 3 before 4.1, then 1. 0 stands for 3.
	UpdateVoterPeriod int32

	// UpdateVoterRestartIfSent: the update-voter timer starts anew only if the request left or was not needed; where none is
	// needed, the Fetch goes to the best node (KAFKA-16538).
	UpdateVoterRestartIfSent bool

	// UpdateVoterEndpoint: the leader's endpoint is taken from an UpdateRaftVoter response that has a host. Before, the test
	// was the wrong way round.
	UpdateVoterEndpoint bool

	// UpdateVoterWakes: a follower's wait is also bounded by its update-voter timer.
	UpdateVoterWakes bool

	// FetchSnapshotErrors: a FetchSnapshot response with an error other than SNAPSHOT_NOT_FOUND is a failure. Before, it was
	// not looked at.
	FetchSnapshotErrors bool

	// AckWhenCommitted: AddRaftVoter can be answered before the new set is committed (KIP-1186, KAFKA-19400).
	AckWhenCommitted bool

	// AutoJoin: an observer adds itself to the voters, or removes its former self (KAFKA-19078).
	AutoJoin bool

	// ObserverKeepsLeader: an observer whose fetch timer has run out goes on asking its leader (KAFKA-19354). Before, it
	// turned to the bootstrap servers.
	ObserverKeepsLeader bool

	// BeginOnlyToSilent: BeginQuorumEpoch goes only to voters that have not fetched for half a fetch timeout (KAFKA-16926).
	BeginOnlyToSilent bool

	// NullSuccessMessage: a successful AddRaftVoter or RemoveRaftVoter has a null message. Before, it was "NONE"
	// (KAFKA-18061).
	NullSuccessMessage bool

	// ConfiguredFetchBytes: Fetch and FetchSnapshot sizes come from the configuration and the leader heeds the request's
	// (KIP-1219, KAFKA-19541). Before, they were 8 MiB.
	ConfiguredFetchBytes bool

	// FetchSnapshotStrictShape: FetchSnapshot must name exactly one topic and one partition. Before, the two tests were
	// joined by "and", so that a request without topics ended the process.
	FetchSnapshotStrictShape bool
}

// ElectionBackoffRule is what a Candidate does that cannot win any more.
type ElectionBackoffRule uint8

// Before 4.1 such a candidate backed off for a random time and then became Prospective again. Since then it waits for its
// election timer (KAFKA-18345).
const (
	BackoffFrom100 ElectionBackoffRule = iota // 4.0.0: min(100 ms x [0, 2^r), max)
	BackoffFrom50                             // 4.0.1: min(50 ms x [1, 2^r), max + [0, 50) ms)
	WaitForTimer                              // 4.1
)

func (r ElectionBackoffRule) String() string {
	return [...]string{"backoff-from-100", "backoff-from-50", "wait-for-timer"}[r]
}
