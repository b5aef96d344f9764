package compat

import (
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// Profile is what is known of one raft build of Kafka.
type Profile struct {
	Build  string   // the first release of the build
	Covers []string // the releases that have the same consensus code
	Rules  kraft.Rules
	APIs   []APIRange
}

// APIRange are the versions of a request that a controller of the build serves, and the first flexible one.
type APIRange struct {
	API      kraft.APIKey
	Min, Max int16
	Flexible int16
}

// Profiles are all builds in order.
func Profiles() []Profile {
	return []Profile{kafka400(), kafka401(), kafka41(), kafka42(), kafka43(), kafka44()}
}

// ByRelease finds the build of a release, for example "4.1.2".
func ByRelease(release string) (Profile, error) {
	for _, p := range Profiles() {
		if slices.Contains(p.Covers, release) {
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("release %q: no build of Kafka 4.x is known by that name", release)
}

// Range is the range of versions of a request.
func (p *Profile) Range(api kraft.APIKey) (APIRange, bool) {
	for _, r := range p.APIs {
		if r.API == api {
			return r, true
		}
	}
	return APIRange{}, false
}
