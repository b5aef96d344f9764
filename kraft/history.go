package kraft

import "slices"

// history is what the control records of snapshot and log say about the voters and about kraft.version, up to the log end and
// whether committed or not (Kafka: KRaftControlRecordStateMachine). A new set is in force as soon as it is appended; a
// truncation brings the one before back.
type history struct {
	static   VoterSet // controller.quorum.voters: in force while no Voters record is known
	voters   []votersEntry
	versions []versionEntry

	// next is the offset of the first record that has not been read. A truncation does not move it back: control records that
	// are then appended below it are never read. That is Kafka's behaviour, not a wish
	// (KRaftControlRecordStateMachine.truncateNewEntries leaves nextOffset alone).
	next Offset
}

type votersEntry struct {
	offset Offset
	voters VoterSet
	digest [16]byte // of voters, which never change
}

type versionEntry struct {
	offset  Offset
	version int16
}

// Offsets of the voter set in force where it does not come from the log.
const (
	bootstrapOffset Offset = -1 // from the bootstrap checkpoint
	staticOffset    Offset = -2 // from the configuration
)

// lastVoters is the voter set in force.
func (h *history) lastVoters() VoterSet {
	if n := len(h.voters); n > 0 {
		return h.voters[n-1].voters
	}
	return h.static
}

// lastVotersOffset is where the voter set in force was recorded, staticOffset if it was not.
func (h *history) lastVotersOffset() Offset {
	if n := len(h.voters); n > 0 {
		return h.voters[n-1].offset
	}
	return staticOffset
}

// kraftVersion is the kraft.version in force; 0 if none is recorded.
func (h *history) kraftVersion() int16 {
	if n := len(h.versions); n > 0 {
		return h.versions[n-1].version
	}
	return 0
}

// isReconfigSupported reports whether voters can be changed: kraft.version 1 and above (KIP-853).
func (h *history) isReconfigSupported() bool { return h.kraftVersion() > 0 }

// add notes a control record. It is not ok if the history has passed the offset, or the version is unknown.
func (h *history) add(offset Offset, record *ControlRecord) bool {
	switch record.Type {
	case VotersRecord:
		if n := len(h.voters); offset < bootstrapOffset || n > 0 && offset <= h.voters[n-1].offset {
			return false
		}
		h.voters = append(slices.Clip(h.voters), votersEntry{offset, record.Voters, record.Voters.digest()})
	case KRaftVersionRecord:
		if n := len(h.versions); offset < bootstrapOffset || n > 0 && offset <= h.versions[n-1].offset {
			return false
		}
		if record.KRaftVersion < 0 || record.KRaftVersion > 1 {
			return false
		}
		h.versions = append(slices.Clip(h.versions), versionEntry{offset, record.KRaftVersion})
	case OtherControlRecord, LeaderChangeRecord:
	}
	return true
}

// read notes the control records of an appended batch.
func (h *history) read(base, last Offset, control []ControlRecord) bool {
	if last < h.next {
		return true
	}
	for i := range control {
		if !h.add(base+Offset(i), &control[i]) {
			return false
		}
	}
	h.next = last + 1
	return true
}

// load replaces everything by what a snapshot says (Kafka: maybeLoadSnapshot). It does nothing if reading has passed the log
// start already.
func (h *history) load(id SnapshotID, logStart Offset, contents *SnapshotContents) bool {
	if h.next >= logStart {
		return true
	}
	h.voters, h.versions = nil, nil
	if contents.HasKRaftVersion &&
		!h.add(id.Offset-1, &ControlRecord{Type: KRaftVersionRecord, KRaftVersion: contents.KRaftVersion}) {
		return false
	}
	if contents.HasVoters && !h.add(id.Offset-1, &ControlRecord{Type: VotersRecord, Voters: contents.Voters}) {
		return false
	}
	h.next = id.Offset
	return true
}

// truncateNew forgets what stands at or behind the new log end.
func (h *history) truncateNew(end Offset) {
	for n := len(h.voters); n > 0 && h.voters[n-1].offset >= end; n-- {
		h.voters = h.voters[:n-1]
	}
	for n := len(h.versions); n > 0 && h.versions[n-1].offset >= end; n-- {
		h.versions = h.versions[:n-1]
	}
}

// truncateOld forgets what a snapshot covers, but for the value in force at its end.
func (h *history) truncateOld(start Offset) {
	for len(h.voters) > 1 && h.voters[1].offset <= start {
		h.voters = h.voters[1:]
	}
	for len(h.versions) > 1 && h.versions[1].offset <= start {
		h.versions = h.versions[1:]
	}
}
