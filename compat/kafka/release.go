package kafka

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// Release is a release of Apache Kafka, such as 4.4.0. The zero value is none.
type Release struct{ Major, Minor, Patch int }

// Oldest is the first release that runs here.
var Oldest = Release{3, 9, 1}

var releasePattern = regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)$`)

// ParseRelease reads MAJOR.MINOR.PATCH and refuses what is older than Oldest.
func ParseRelease(text string) (Release, error) {
	m := releasePattern.FindStringSubmatch(text)
	if m == nil {
		return Release{}, fmt.Errorf("kafka release %q: want MAJOR.MINOR.PATCH, such as 4.4.0", text)
	}
	var r Release
	for i, part := range []*int{&r.Major, &r.Minor, &r.Patch} {
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return Release{}, fmt.Errorf("kafka release %q: %w", text, err)
		}
		*part = n
	}
	if r.Compare(Oldest) < 0 {
		return Release{}, fmt.Errorf("kafka release %s is older than %s, the first that can be run here", r, Oldest)
	}
	return r, nil
}

// MustRelease is ParseRelease for constants.
func MustRelease(text string) Release {
	r, err := ParseRelease(text)
	if err != nil {
		panic(err)
	}
	return r
}

func (r Release) String() string { return fmt.Sprintf("%d.%d.%d", r.Major, r.Minor, r.Patch) }

// IsZero reports whether r is no release.
func (r Release) IsZero() bool { return r == Release{} }

// Compare orders releases by age.
func (r Release) Compare(o Release) int {
	return cmp.Or(cmp.Compare(r.Major, o.Major), cmp.Compare(r.Minor, o.Minor), cmp.Compare(r.Patch, o.Patch))
}

// AtLeast reports whether r belongs to the line MAJOR.MINOR or a later one.
func (r Release) AtLeast(major, minor int) bool {
	return cmp.Or(cmp.Compare(r.Major, major), cmp.Compare(r.Minor, minor)) >= 0
}

// log4j1 reports whether the release logs through log4j 1: 4.0 moved to log4j 2 (KIP-653).
func (r Release) log4j1() bool { return !r.AtLeast(4, 0) }

// PreVote reports whether the release knows Prospective (KIP-996, 4.0).
func (r Release) PreVote() bool { return r.AtLeast(4, 0) }

// MetadataVersion is the newest production metadata.version of the release's line, for --release-version of
// a mixed quorum ("" for a line that is not known here).
func (r Release) MetadataVersion() string {
	return map[[2]int]string{
		{3, 9}: "3.9-IV0", {4, 0}: "4.0-IV3", {4, 1}: "4.1-IV1",
		{4, 2}: "4.2-IV1", {4, 3}: "4.3-IV0", {4, 4}: "4.4-IV2",
	}[[2]int{r.Major, r.Minor}]
}

// SnapshotsSoon are the properties that make a node write a snapshot for every few kilobytes of records and
// drop old segments. The keys differ: 4.1 made them internal, and each release ignores the other's silently.
// A single batch above the segment size (some 70 ConfigRecords) ends the leader with RecordBatchTooLargeException.
func (r Release) SnapshotsSoon() map[string]string {
	p := map[string]string{
		"metadata.log.max.record.bytes.between.snapshots": "2000",
		"metadata.log.max.snapshot.interval.ms":           "0",
		"metadata.max.retention.bytes":                    "4096",
	}
	if r.AtLeast(4, 1) {
		p["internal.metadata.log.segment.bytes"] = "4096"
		p["internal.metadata.delete.delay.millis"] = "1000"
	} else {
		p["metadata.log.segment.min.bytes"] = "4096"
		p["metadata.log.segment.bytes"] = "4096"
	}
	return p
}

// DumpLogSegmentsClass is the class that prints log files; it moved in 4.3.
func (r Release) DumpLogSegmentsClass() string {
	if r.AtLeast(4, 3) {
		return "org.apache.kafka.tools.DumpLogSegments"
	}
	return "kafka.tools.DumpLogSegments"
}
