package shadow

import (
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestOneIdentity_DirectoryIDChangesOnAConnection(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.disks[2]++
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.diverges("M18", 2)
}

func TestOneIdentity_DirectoryIDChangesWithALife(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.wipe(2)
	s.ask(2, 1, fetch(0, 0, 0)).answer(fetched{code: kraft.FencedLeaderEpoch, epoch: 5, leader: -1, hw: -1}.response())
	s.conforms()
	s.remarks("came with directory id")
}

func TestOneIdentity_ClusterIDChangesOnAConnection(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.cluster = "another"
	s.ask(2, 1, fetch(5, 0, 0)).answer(fetchFailed(kraft.InconsistentClusterID))
	s.diverges("M18", 2)
}

func TestOneIdentity_NullClusterID(t *testing.T) { // accepted everywhere
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	r := s.line(2, 1)
	v := fetch(5, 0, 0)(s, 2, 1)
	v.(interface{ SetVersion(int16) }).SetVersion(17)
	r.send(withoutCluster(v)).answer(notLeader(5, -1))
	s.conforms()
}

func TestOneIdentity_VersionsWithoutDirectoryID(t *testing.T) { // negotiated per connection, so only in theory mixed
	s := newStage(t)
	s.ask(2, 1, fetch(5, 0, 0)).answer(notLeader(5, -1))
	s.ask(2, 1, fetching{epoch: 5, version: 13}.request()).answer(notLeader(5, -1))
	s.conforms()
}
