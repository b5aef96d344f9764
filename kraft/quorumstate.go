package kraft

import "fmt"

// NoReplica is the absent replica key, for example "has not voted".
var NoReplica = ReplicaKey{ID: NoNode}

// QuorumState is the durable election state (Kafka: ElectionState, the quorum-state file).
type QuorumState struct {
	Epoch  Epoch
	Leader NodeID     // NoNode: unknown
	Voted  ReplicaKey // NoReplica: no vote in this epoch
}

func (s QuorumState) String() string {
	return fmt.Sprintf("epoch=%d leader=%v voted=%v", s.Epoch, s.Leader, s.Voted)
}

// normalised makes every form of "unknown" the same: a file may say leader -1 in its own way, or keep the directory id of a vote
// that nobody got.
func (s QuorumState) normalised() QuorumState {
	if s.Leader < 0 {
		s.Leader = NoNode
	}
	if s.Voted.ID < 0 {
		s.Voted = NoReplica
	}
	return s
}
