package compat

import "github.com/understudy-kafka/understudy/kraft"

// kafka400 is the build of 4.0.0: PreVote (KIP-996) and dynamic quorums (KIP-853).
func kafka400() Profile {
	return Profile{
		Build:  "4.0.0",
		Covers: []string{"4.0.0"},
		Rules: kraft.Rules{
			ElectionBackoff:   kraft.BackoffFrom100,
			UpdateVoterPeriod: 3,
			UpdateVoterWakes:  true,
		},
		APIs: []APIRange{
			{kraft.FetchAPI, 4, 17, 12},
			{kraft.APIVersionsAPI, 0, 4, 3},
			{kraft.VoteAPI, 0, 2, 0},
			{kraft.BeginQuorumEpochAPI, 0, 1, 1},
			{kraft.EndQuorumEpochAPI, 0, 1, 1},
			{kraft.DescribeQuorumAPI, 0, 2, 0},
			{kraft.FetchSnapshotAPI, 0, 1, 0},
			{kraft.AddRaftVoterAPI, 0, 0, 0},
			{kraft.RemoveRaftVoterAPI, 0, 0, 0},
			{kraft.UpdateRaftVoterAPI, 0, 0, 0},
		},
	}
}

// kafka401 is the build of 4.0.1 and 4.0.2.
func kafka401() Profile {
	p := kafka400()
	p.Build, p.Covers = "4.0.1", []string{"4.0.1", "4.0.2"}
	p.Rules.DropNewerEpochBatches = true
	p.Rules.ElectionBackoff = kraft.BackoffFrom50
	return p
}

// setMax raises the highest version of a request.
func (p *Profile) setMax(api kraft.APIKey, highest int16) {
	for i := range p.APIs {
		if p.APIs[i].API == api {
			p.APIs[i].Max = highest
		}
	}
}
