package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/understudy-kafka/understudy/kraft"
)

// QuorumStateFile is the name of the election state in the partition directory.
const QuorumStateFile = "quorum-state"

// StoredState is the content of a quorum-state file.
type StoredState struct {
	kraft.QuorumState
	DataVersion int16 // 0: no directory id of the vote, the voters' ids instead; 1: KIP-853
	VoterIDs    []kraft.NodeID
}

// quorumStateJSON is the file as JSON. Pointers tell what is missing.
type quorumStateJSON struct {
	ClusterID     *string `json:"clusterId"`
	LeaderID      *int32  `json:"leaderId"`
	LeaderEpoch   *int32  `json:"leaderEpoch"`
	VotedID       *int32  `json:"votedId"`
	VotedDir      *string `json:"votedDirectoryId"`
	AppliedOffset *int64  `json:"appliedOffset"`
	CurrentVoters *[]struct {
		VoterID *int32 `json:"voterId"`
	} `json:"currentVoters"`
	DataVersion *int16 `json:"data_version"`
}

// ReadQuorumState reads the election state of a partition directory. Not ok: there is none yet.
func ReadQuorumState(fsys FS, dir string) (s StoredState, ok bool, err error) {
	path := filepath.Join(dir, QuorumStateFile)
	text, err := ReadFile(fsys, path, maxSmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	s, err = parseQuorumState(text)
	if err != nil {
		remedy := "restore the file; if it cannot be, remove the whole data directory, format it anew with a new directory id and let it fetch from the others: " +
			"without its votes the node could vote twice in one epoch"
		if errors.Is(err, ErrVersion) {
			remedy = "use a release that knows this version"
		}
		return s, false, &Error{Path: path, Remedy: remedy, Err: err}
	}
	return s, true, nil
}

// parseQuorumState reads the first line. All fields of the stated version must be there; others are ignored
// (Kafka: FileQuorumStateStore, QuorumStateDataJsonConverter).
func parseQuorumState(text []byte) (s StoredState, err error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	var j quorumStateJSON
	if err := json.Unmarshal(line, &j); err != nil {
		return s, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	switch {
	case j.DataVersion == nil:
		return s, fmt.Errorf("no data_version: %w", ErrCorrupt)
	case *j.DataVersion < 0 || *j.DataVersion > 1:
		return s, fmt.Errorf("data_version %d, want 0 or 1: %w", *j.DataVersion, ErrVersion)
	case j.LeaderID == nil || j.LeaderEpoch == nil || j.VotedID == nil:
		return s, fmt.Errorf("leaderId, leaderEpoch and votedId must be there: %w", ErrCorrupt)
	}
	s.DataVersion = *j.DataVersion
	s.Epoch, s.Leader, s.Voted = kraft.Epoch(*j.LeaderEpoch), kraft.NodeID(*j.LeaderID), kraft.ReplicaKey{ID: kraft.NodeID(*j.VotedID)}
	if s.DataVersion == 0 {
		if j.ClusterID == nil || j.AppliedOffset == nil || j.CurrentVoters == nil {
			return s, fmt.Errorf("clusterId, appliedOffset and currentVoters must be there in data_version 0: %w", ErrCorrupt)
		}
		for _, v := range *j.CurrentVoters {
			if v.VoterID == nil {
				return s, fmt.Errorf("a voter without voterId: %w", ErrCorrupt)
			}
			s.VoterIDs = append(s.VoterIDs, kraft.NodeID(*v.VoterID))
		}
		return s, nil
	}
	if j.VotedDir == nil {
		return s, fmt.Errorf("votedDirectoryId must be there in data_version 1: %w", ErrCorrupt)
	}
	if s.Voted.DirectoryID, err = kraft.ParseDirectoryID(*j.VotedDir); err != nil {
		return s, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return s, nil
}

// AppendQuorumState appends the file's text, as Kafka writes it.
func AppendQuorumState(dst []byte, s StoredState) []byte {
	leader, voted := s.Leader, s.Voted
	if leader < 0 {
		leader = kraft.NoNode
	}
	if voted.ID < 0 {
		voted = kraft.NoReplica
	}
	if s.DataVersion == 0 {
		dst = append(dst, `{"clusterId":"",`...)
	} else {
		dst = append(dst, '{')
	}
	dst = strconv.AppendInt(append(dst, `"leaderId":`...), int64(leader), 10)
	dst = strconv.AppendInt(append(dst, `,"leaderEpoch":`...), int64(s.Epoch), 10)
	dst = strconv.AppendInt(append(dst, `,"votedId":`...), int64(voted.ID), 10)
	if s.DataVersion > 0 {
		dst = append(append(dst, `,"votedDirectoryId":"`...), voted.DirectoryID.String()...)
		return append(dst, `","data_version":1}`...)
	}
	dst = append(dst, `,"appliedOffset":0,"currentVoters":[`...)
	for i, id := range s.VoterIDs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendInt(append(dst, `{"voterId":`...), int64(id), 10), '}')
	}
	return append(dst, `],"data_version":0}`...)
}
