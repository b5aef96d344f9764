package compat

import "github.com/understudy-kafka/understudy/kraft"

// kafka41 is the build of 4.1: high watermarks reach followers sooner (KIP-1166), kraft.version can be raised.
func kafka41() Profile {
	p := kafka401()
	p.Build, p.Covers = "4.1.0", []string{"4.1.0", "4.1.1", "4.1.2"}
	p.Rules.ElectionBackoff = kraft.WaitForTimer
	p.Rules.FetchHighWatermark = true
	p.Rules.UpgradeKRaftVersion = true
	p.Rules.UpdateVoterPeriod = 1
	p.Rules.UpdateVoterRestartIfSent = true
	p.Rules.UpdateVoterEndpoint = true
	p.Rules.FetchSnapshotErrors = true
	p.setMax(kraft.FetchAPI, 18)
	return p
}
