package compat

import "github.com/understudy-kafka/understudy/kraft"

// kafka44 is the build of 4.4.0.
func kafka44() Profile {
	p := kafka43()
	p.Build, p.Covers = "4.4.0", []string{"4.4.0"}
	p.Rules.FetchSnapshotStrictShape = true
	p.setMax(kraft.APIVersionsAPI, 5)
	return p
}
