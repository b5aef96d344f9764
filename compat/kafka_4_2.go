package compat

import "github.com/understudy-kafka/understudy/kraft"

// kafka42 is the build of 4.2: controllers can add themselves to the voters.
func kafka42() Profile {
	p := kafka41()
	p.Build, p.Covers = "4.2.0", []string{"4.2.0", "4.2.1"}
	p.Rules.UpdateVoterWakes = false
	p.Rules.AckWhenCommitted = true
	p.Rules.AutoJoin = true
	p.Rules.ObserverKeepsLeader = true
	p.Rules.BeginOnlyToSilent = true
	p.Rules.NullSuccessMessage = true
	p.setMax(kraft.AddRaftVoterAPI, 1)
	return p
}
