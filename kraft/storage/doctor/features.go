package doctor

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

const (
	metadataVersion = "metadata.version"
	oldestLevel     = 7  // 3.3-IV3, the oldest metadata.version of a release 4.x
	dynamicLevel    = 21 // 3.9-IV0, which kraft.version 1 needs
)

// noteFeature remembers the last level of a feature. A snapshot may be newer than the log that is read after it.
func (d *Directory) noteFeature(m *wire.MetadataRecord, at kraft.Offset, file string) error {
	if m.Name != "FeatureLevelRecord" {
		return nil
	}
	var name string
	var value int16
	for field, to := range map[string]any{"name": &name, "featureLevel": &value} {
		text, _ := m.Field(field)
		if err := json.Unmarshal(text, to); err != nil {
			return fmt.Errorf("FeatureLevelRecord, %s: %w", field, err)
		}
	}
	if old, ok := d.levels[name]; !ok || at >= old.at {
		d.levels[name] = level{value, at, file}
	}
	return nil
}

// concludeFeatures compares the levels with what releases know.
func (d *Directory) concludeFeatures() {
	known := map[string]int16{metadataVersion: compat.LatestMetadataVersion().Level}
	for _, f := range compat.Features() {
		known[f.Name] = f.Max
	}
	for _, name := range sortedNames(d.levels) {
		l := d.levels[name]
		if highest, ok := known[name]; !ok || l.value > highest {
			d.find(Risk, "feature-level-unknown", l.file, l.at, "start only releases later than 4.4 on it: an older node ends when it reads this level",
				"%s is %d; Kafka 4.4 knows up to %d", name, l.value, highest)
		}
	}
	version, ok := d.levels[metadataVersion]
	switch {
	case ok && version.value < oldestLevel:
		d.find(Risk, "metadata-version-too-old", version.file, version.at, "let a quorum of 3.9 raise it (kafka-features upgrade --metadata) before a node of 4.0 or later starts",
			"metadata.version is %d; Kafka 4.x knows levels from %d (3.3-IV3) on", version.value, oldestLevel)
	case ok && version.value < dynamicLevel && d.KRaftVersion > 0:
		d.find(Risk, "feature-levels-contradict", version.file, version.at, "kafka-features upgrade --metadata, to 3.9-IV0 or newer, while there is a leader",
			"metadata.version is %d, but kraft.version %d needs %d (3.9-IV0)", version.value, d.KRaftVersion, dynamicLevel)
	}
}

func sortedNames(levels map[string]level) (names []string) {
	for name := range levels {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// advise says what would make a healthy quorum safer. It needs the directories of several nodes: of one nobody can say what the others are.
func (r *Report) advise() {
	static := 0
	for _, d := range r.Directories {
		if d.formatted && len(d.sums) > 0 && d.KRaftVersion == 0 && d.levels[metadataVersion].value >= dynamicLevel {
			static++
		}
	}
	if static > 1 && static == len(r.Directories) {
		r.Advice = append(r.Advice, fmt.Sprintf("kraft.version is 0 on all %d nodes: voters have no directory ids, so that one with an emptied disk counts as before, votes again, "+
			"and can help to elect a leader that lacks committed records. When all nodes run 4.1 or later: kafka-features upgrade --feature kraft.version=1. "+
			"Until then never start a voter on an empty directory while another voter is down", static))
	}
}
