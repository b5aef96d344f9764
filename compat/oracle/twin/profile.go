package twin

import (
	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// ProfileOf is the profile of the release; a build that is none, such as a local one, is compared with the latest.
func ProfileOf(version string) compat.Profile {
	if p, err := compat.ByRelease(version); err == nil {
		return p
	}
	all := compat.Profiles()
	return all[len(all)-1]
}

// maxVersion is the highest version of an api that the release speaks.
func maxVersion(p *compat.Profile, key int16) int16 {
	r, _ := p.Range(kraft.APIKey(key))
	return r.Max
}
