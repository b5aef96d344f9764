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
