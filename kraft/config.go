package kraft

import (
	"errors"
	"fmt"
)

// QuorumTimeouts are the durations of Kafka's controller.quorum.* configuration, in milliseconds.
type QuorumTimeouts struct {
	ElectionMs           int32 // election.timeout.ms: an election waits this long and up to as long again
	FetchMs              int32 // fetch.timeout.ms
	ElectionBackoffMaxMs int32 // election.backoff.max.ms
	RequestMs            int32 // request.timeout.ms
	RetryBackoffMs       int32 // retry.backoff.ms
	AppendLingerMs       int32 // append.linger.ms
}

// DefaultTimeouts are Kafka's defaults.
func DefaultTimeouts() QuorumTimeouts {
	return QuorumTimeouts{
		ElectionMs: 1000, FetchMs: 2000, ElectionBackoffMaxMs: 1000, RequestMs: 2000, RetryBackoffMs: 20, AppendLingerMs: 25,
	}
}

// Config is what a machine is made of: its identity, its rules, and what was found on disk.
type Config struct {
	ID          NodeID // NoNode: an anonymous observer
	DirectoryID DirectoryID
	ClusterID   string
	Rules       Rules
	Timeouts    QuorumTimeouts

	StaticVoters     VoterSet  // controller.quorum.voters; their keys have no directory id
	BootstrapServers []Address // controller.quorum.bootstrap.servers
	Listener         string    // the channel listener: first of controller.listener.names, in upper case
	Endpoints        Endpoints // the own controller listeners
	KRaftVersions    VersionRange

	CanBecomeVoter bool // the process is a controller
	AutoJoin       bool // controller.quorum.auto.join.enable (KAFKA-19078)

	FetchMaxWaitMs        int32 // 500 in Kafka
	FetchMaxBytes         int32 // controller.quorum.fetch.max.bytes (KIP-1219)
	FetchSnapshotMaxBytes int32 // controller.quorum.fetch.snapshot.max.bytes (KIP-1219)

	Stored    QuorumState // the quorum-state file
	HasStored bool        // false: there is no such file

	// History holds the control records of the latest snapshot and of the log, in order. Those of a snapshot stand at its
	// end offset - 1, those of the bootstrap checkpoint at -1 (Kafka: KRaftControlRecordStateMachine).
	History []HistoryEntry

	self ReplicaKey // ID and DirectoryID
}

// HistoryEntry is a Voters or KRaftVersion record and its offset.
type HistoryEntry struct {
	Offset Offset
	Record ControlRecord
}

// ErrConfig marks an unusable configuration.
var ErrConfig = errors.New("configuration")

func (c *Config) validate() error {
	switch {
	case c.DirectoryID.IsZero():
		return fmt.Errorf("%w: node %v has no directory id", ErrConfig, c.ID)
	case len(c.BootstrapServers) == 0 && c.StaticVoters.Len() == 0:
		return fmt.Errorf("%w: neither controller.quorum.bootstrap.servers nor controller.quorum.voters is set", ErrConfig)
	case c.Listener == "":
		return fmt.Errorf("%w: no controller listener is named", ErrConfig)
	case c.Timeouts.ElectionMs < 0 || c.Timeouts.FetchMs < 0 || c.Timeouts.ElectionBackoffMaxMs < 0 ||
		c.Timeouts.RequestMs < 0 || c.Timeouts.RetryBackoffMs < 0 || c.Timeouts.AppendLingerMs < 0:
		return fmt.Errorf("%w: a timeout is negative: %+v", ErrConfig, c.Timeouts)
	}
	return nil
}

func historyError(e *HistoryEntry) error {
	return fmt.Errorf("%w: control record %v at offset %d does not follow the ones before it", ErrConfig, e.Record, e.Offset)
}
