package sim

// Broken names a driver that does something wrong. The tests show that the checkers see each of them; nothing else uses it.
type Broken uint8

// The broken drivers.
const (
	Sound             Broken = iota
	SkipsPersist             // the quorum state is never written
	SkipsVotePersist         // a vote is not written
	ForgetsVote              // a restart does not know the vote
	ForgetsElection          // a restart knows the epoch only: neither vote nor leader
	ForgetsState             // a restart does not find the quorum state
	SkipsFlush               // the log is never made durable
	FlushesLate              // the log is made durable one flush later than told
	KeepsDirectory           // a lost disk comes back with the old directory id
	WipesMajority            // as many disks are lost as there are
	AcksEarly                // a writer is told that its record is committed when it is written
	SnapshotsAhead           // a snapshot is taken of the whole log, committed or not
	SnapshotsWrongly         // a snapshot stands for other records
	SnapshotsUnlinked        // a snapshot loses the voters
	TruncatesMore            // a truncation takes one batch more
	AppendsOther             // a follower writes other records than it was sent
	SwapsBatches             // a follower loses the first of several batches
	MixesAnswers             // an answer reaches another node than the one that has asked
	ForgetsVoters            // a restart does not know the voters of the log
	ClockStops               // clocks stand still
	NeverFetches             // Fetch requests are never delivered
	NeverVotes               // Vote requests are never delivered
	BumpsPreVote             // a PreVote asks for the next epoch
	CountsAhead              // a node takes its whole log for committed when it is told a watermark
	TakesSecondAnswer        // the second answer to a Fetch that arrived twice is taken for that to the next one
	TrustsTimeStamps         // a timer that a message starts counts from the clock of its sender
	SendsNewest              // a request has the newest version that its sender knows, whether or not its receiver does
	DiskLies                 // a disk says that it has flushed, and a loss of power takes what it was last told to flush
	KeepsTornBatch           // a recovery takes a torn batch for a whole one
	IgnoresFullDisk          // a failed write is taken for done
	GivesUpSync              // a flush that takes more than 20 ms is taken for done
	broken
)

var brokenNames = [broken]string{
	"sound", "skips-persist", "skips-vote-persist", "forgets-vote", "forgets-election", "forgets-state", "skips-flush", "flushes-late",
	"keeps-directory", "wipes-majority", "acks-early", "snapshots-ahead", "snapshots-wrongly", "snapshots-unlinked", "truncates-more",
	"appends-other", "swaps-batches", "mixes-answers", "forgets-voters", "clock-stops",
	"never-fetches", "never-votes", "bumps-prevote", "counts-ahead", "takes-second-answer", "trusts-time-stamps", "sends-newest",
	"disk-lies", "keeps-torn-batch", "ignores-full-disk", "gives-up-sync",
}

// BrokenDrivers are all of them.
func BrokenDrivers() []Broken {
	var list []Broken
	for b := Sound + 1; b < broken; b++ {
		list = append(list, b)
	}
	return list
}

func (b Broken) String() string { return brokenNames[b] }
