package conform

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// newestMetadataVersion is the highest metadata.version that each line of releases supports
// (kafka-storage version-mapping). It tells apart lines whose requests have the same versions.
var newestMetadataVersion = map[string]int16{"4.0": 25, "4.1": 27, "4.2": 29, "4.3": 30, "4.4": 33}

// detect finds the profiles that fit what the node says of itself: metadata.version first, else the requests' versions.
// Of several it takes the newest: builds of one line answer requests alike.
func (t *Target) detect(versions *kmsg.ApiVersionsResponse) error {
	var level int16
	for i := range versions.SupportedFeatures {
		if f := &versions.SupportedFeatures[i]; f.Name == "metadata.version" {
			level = f.MaxVersion
			t.Software = fmt.Sprintf("metadata.version %d-%d", f.MinVersion, f.MaxVersion)
		}
	}
	var byLevel, byRange []compat.Profile
	for _, p := range compat.Profiles() {
		line := p.Build[:strings.LastIndexByte(p.Build, '.')]
		if level != 0 && newestMetadataVersion[line] == level {
			byLevel = append(byLevel, p)
		}
		if fits(&p, versions) {
			byRange = append(byRange, p)
		}
	}
	list, how := byLevel, "metadata.version"
	if len(list) == 0 {
		list, how = byRange, "the versions of its requests"
	}
	if len(list) == 0 {
		return fmt.Errorf("%w: the release cannot be told from what the node says of itself (metadata.version up to %d): name one with --release", ErrUndecided, level)
	}
	t.Profile = list[len(list)-1]
	t.Detected = "by " + how
	if len(list) > 1 {
		t.Detected += ", of the builds " + list[0].Build + " to " + t.Profile.Build
	}
	return nil
}

// fits reports whether the node serves exactly the profile's versions.
func fits(p *compat.Profile, versions *kmsg.ApiVersionsResponse) bool {
	for _, want := range p.APIs {
		if have, ok := serves(versions, want.API); !ok || have.MinVersion != want.Min || have.MaxVersion != want.Max {
			return false
		}
	}
	return true
}

func serves(versions *kmsg.ApiVersionsResponse, api kraft.APIKey) (kmsg.ApiVersionsResponseApiKey, bool) {
	for _, k := range versions.ApiKeys {
		if k.ApiKey == int16(api) {
			return k, true
		}
	}
	return kmsg.ApiVersionsResponseApiKey{}, false
}

// Detect finds the build of a node by what it says of itself; of several that fit it is the newest.
func Detect(versions *kmsg.ApiVersionsResponse) (compat.Profile, error) {
	var t Target
	err := t.detect(versions)
	return t.Profile, err
}
