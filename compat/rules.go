package compat

import (
	"fmt"
	"strconv"

	"github.com/understudy-kafka/understudy/kraft"
)

// Rule is one difference between builds: a switch of kraft.Rules in words.
type Rule struct {
	Name   string
	Source string // KIP and JIRA
	Says   string
	Value  func(kraft.Rules) string
}

// Rules lists every difference between the builds that concerns consensus.
func Rules() []Rule {
	return []Rule{
		{
			"drop-newer-epoch-batches", "KAFKA-18723",
			"a follower drops corrupt records, and batches from the first one of a newer epoch on",
			func(r kraft.Rules) string { return yes(r.DropNewerEpochBatches) },
		},
		{
			"election-backoff", "KAFKA-18345", "what a candidate does that has lost",
			func(r kraft.Rules) string { return r.ElectionBackoff.String() },
		},
		{
			"fetch-high-watermark", "KIP-1166, KAFKA-14145",
			"a Fetch carries the high watermark; parked ones are answered when it rises",
			func(r kraft.Rules) string { return yes(r.FetchHighWatermark) },
		},
		{
			"upgrade-kraft-version", "KAFKA-16538", "kraft.version can be raised, UpdateRaftVoter works at version 0",
			func(r kraft.Rules) string { return yes(r.UpgradeKRaftVersion) },
		},
		{
			"update-voter-period", "KAFKA-16538", "fetch timeouts between two looks at the own voter description",
			func(r kraft.Rules) string { return strconv.Itoa(int(r.UpdateVoterPeriod)) },
		},
		{
			"update-voter-restart-if-sent", "KAFKA-16538", "that timer starts anew only if UpdateRaftVoter left or was not needed",
			func(r kraft.Rules) string { return yes(r.UpdateVoterRestartIfSent) },
		},
		{
			"update-voter-endpoint", "KAFKA-16538", "the leader's endpoint in an UpdateRaftVoter response is used",
			func(r kraft.Rules) string { return yes(r.UpdateVoterEndpoint) },
		},
		{
			"update-voter-wakes", "KAFKA-19078", "a follower also wakes for that timer",
			func(r kraft.Rules) string { return yes(r.UpdateVoterWakes) },
		},
		{
			"fetch-snapshot-errors", "KAFKA-16538", "an error in a FetchSnapshot response is a failure",
			func(r kraft.Rules) string { return yes(r.FetchSnapshotErrors) },
		},
		{
			"ack-when-committed", "KIP-1186, KAFKA-19400", "AddRaftVoter can be answered before the commit",
			func(r kraft.Rules) string { return yes(r.AckWhenCommitted) },
		},
		{
			"auto-join", "KIP-853, KAFKA-19078", "an observer can add itself to the voters",
			func(r kraft.Rules) string { return yes(r.AutoJoin) },
		},
		{
			"observer-keeps-leader", "KAFKA-19354", "an observer asks its leader also after a fetch timeout",
			func(r kraft.Rules) string { return yes(r.ObserverKeepsLeader) },
		},
		{
			"begin-only-to-silent", "KAFKA-16926", "BeginQuorumEpoch goes only to voters that do not fetch",
			func(r kraft.Rules) string { return yes(r.BeginOnlyToSilent) },
		},
		{
			"null-success-message", "KAFKA-18061", "a successful voter change has no error message",
			func(r kraft.Rules) string { return yes(r.NullSuccessMessage) },
		},
		{
			"configured-fetch-bytes", "KIP-1219, KAFKA-19541", "the sizes of Fetch and FetchSnapshot are configured",
			func(r kraft.Rules) string { return yes(r.ConfiguredFetchBytes) },
		},
		{
			"fetch-snapshot-strict-shape", "apache/kafka 23185", "FetchSnapshot must name exactly one partition",
			func(r kraft.Rules) string { return yes(r.FetchSnapshotStrictShape) },
		},
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Differences are the rules in which two builds differ, as "name: a, b".
func Differences(a, b Profile) []string {
	var list []string
	for _, r := range Rules() {
		if x, y := r.Value(a.Rules), r.Value(b.Rules); x != y {
			list = append(list, fmt.Sprintf("%s: %s, %s", r.Name, x, y))
		}
	}
	return list
}
