package kafkatest

import (
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka"
)

// NeedKafka ends a test that runs real Kafka in the short tier.
func NeedKafka(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real Kafka; make test-kafka runs it")
	}
}

// Build is a release, and how its quorum knows its voters.
type Build struct {
	Release string
	Voters  kafka.Voters
}

func (b Build) String() string { return b.Release + " " + b.Voters.String() }

// Builds are the quorums of the short tier, or one of each raft build of 4.x.
func Builds() []Build {
	short := []Build{{"4.4.0", kafka.Dynamic}, {"4.0.0", kafka.Static}}
	if !Matrix() {
		return short
	}
	return append(short, Build{"4.0.2", kafka.Dynamic}, Build{"4.1.2", kafka.Static}, Build{"4.2.1", kafka.Dynamic}, Build{"4.3.1", kafka.Static})
}
