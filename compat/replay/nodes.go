package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// NodeError says that the node to be replayed must be named, or that the recording has nothing of the one that is.
type NodeError struct {
	Node  kraft.NodeID   // kraft.NoNode: none is named
	There []kraft.NodeID // those that can be replayed, in order; not empty
}

func (e *NodeError) Error() string {
	if e.Node == kraft.NoNode {
		return fmt.Sprintf("the recording has %d nodes (%s): say which of them is replayed", len(e.There), list(e.There))
	}
	return fmt.Sprintf("nothing in the recording concerns node %s: it has %s", e.Node, list(e.There))
}

// raftClient begins the client id of a node's raft client (Kafka: KafkaRaftManager, "raft-client-" + nodeId).
const raftClient = "raft-client-"

// raftNode is the node whose raft client has a client id.
func raftNode(client string) (kraft.NodeID, bool) {
	text, raft := strings.CutPrefix(client, raftClient)
	id, err := strconv.ParseInt(text, 10, 32)
	return kraft.NodeID(id), raft && err == nil
}

// there lists the nodes that can be replayed, in order: those that others have asked something, and those that have asked others.
func (l *loader) there() (nodes []kraft.NodeID) {
	for _, st := range l.steps {
		c := st.conn
		if st.end || st.response || c.client == raftClient+c.Node.String() {
			continue
		}
		if st.x.asked.got.there {
			nodes = append(nodes, c.Node)
		}
		id, raft := raftNode(c.client)
		if h, _, err := wire.ParseRequestHeader(st.x.asked.sent.bytes); err == nil && raft && h.Key != wire.KeyAPIVersions {
			nodes = append(nodes, id)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func list(nodes []kraft.NodeID) string {
	var texts []string
	for _, n := range nodes {
		texts = append(texts, n.String())
	}
	return strings.Join(texts, ", ")
}
