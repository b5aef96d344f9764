package compat

import (
	"fmt"
	"strings"
)

// MetadataVersion is a level of the feature metadata.version and its name (Kafka: MetadataVersion).
type MetadataVersion struct {
	Level int16
	Name  string
}

// metadataVersions lists the production levels that Kafka 4.x knows, up to those of 4.4.
var metadataVersions = func() (list []MetadataVersion) {
	for _, line := range []struct {
		name  string
		first int
		count int
	}{{"3.3", 3, 1}, {"3.4", 0, 1}, {"3.5", 0, 3}, {"3.6", 0, 3}, {"3.7", 0, 5}, {"3.8", 0, 1}, {"3.9", 0, 1}, {"4.0", 0, 4}, {"4.1", 0, 2}, {"4.2", 0, 2}, {"4.3", 0, 1}, {"4.4", 0, 3}} {
		for i := range line.count {
			list = append(list, MetadataVersion{int16(7 + len(list)), fmt.Sprintf("%s-IV%d", line.name, line.first+i)})
		}
	}
	return list
}()

// LatestMetadataVersion is the newest one known here.
func LatestMetadataVersion() MetadataVersion { return metadataVersions[len(metadataVersions)-1] }

// ParseMetadataVersion finds a level by its name, "4.1-IV1", or the newest of a line, "4.1" or "4.1.2".
func ParseMetadataVersion(text string) (MetadataVersion, error) {
	line, _, exact := strings.Cut(text, "-")
	if parts := strings.Split(line, "."); !exact && len(parts) > 2 {
		line = parts[0] + "." + parts[1]
	}
	for i := len(metadataVersions) - 1; i >= 0; i-- {
		if v := metadataVersions[i]; v.Name == text || !exact && strings.HasPrefix(v.Name, line+"-") {
			return v, nil
		}
	}
	return MetadataVersion{}, fmt.Errorf("metadata.version %q is not known: want %s to %s", text, metadataVersions[0].Name, LatestMetadataVersion().Name)
}

// Feature is a feature with levels of its own beside metadata.version (Kafka: Feature).
type Feature struct {
	Name string
	Max  int16
	// Since gives each level above 0 the metadata.version from which on it is the default of a new cluster; 0: it is not.
	Since []int16
}

// DefaultLevel is the level that a new cluster of the metadata.version has (kafka-storage version-mapping).
func (f *Feature) DefaultLevel(metadataVersion int16) (level int16) {
	for i, since := range f.Since {
		if since > 0 && metadataVersion >= since {
			level = int16(i + 1)
		}
	}
	return level
}

// Features lists the features of 4.4, by name. kraft.version is set by a control record, the others by FeatureLevel records.
func Features() []Feature {
	return []Feature{
		{"eligible.leader.replicas.version", 1, []int16{26}},
		{"group.version", 1, []int16{22}},
		{KRaftVersionFeature, 1, []int16{21}},
		{"share.version", 2, []int16{28, 31}},
		{"streams.version", 1, []int16{29}},
		{"transaction.version", 2, []int16{0, 24}},
	}
}

// KRaftVersionFeature is the feature that dynamic quorums need (KIP-853).
const KRaftVersionFeature = "kraft.version"
