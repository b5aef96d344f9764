package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// oneIdentity is M18. Cluster id and directory id are read once, at start; a process cannot change them. Only requests of one
// connection are certainly of one process.
type oneIdentity struct{}

var oneIdentityRule = Rule{
	ID: "M18", Name: "one-identity",
	Says:   "a process keeps its cluster id and its directory id",
	Source: "KIP-853; Kafka MetaPropertiesEnsemble, KafkaRaftClient (nodeDirectoryId, clusterId)",
	Why:    "a replica that changes its key counts as another voter",
}

func (oneIdentity) rule() *Rule   { return &oneIdentityRule }
func (oneIdentity) hears() []Kind { return everyRequest() }

// identityMemory holds what the requests of one connection say about their sender.
type identityMemory struct {
	cluster   string
	directory kraft.DirectoryID
	clusterAt ref
	dirAt     ref
}

// sameCluster looks at a request before it is set aside as another cluster's.
func (oneIdentity) sameCluster(c *Checker, m *message) {
	id := &m.conn.raft.identity
	if len(m.cluster) == 0 || string(m.cluster) == id.cluster {
		return
	}
	if id.cluster == "" {
		id.cluster, id.clusterAt = string(m.cluster), c.proof(m)
		return
	}
	text := fmt.Sprintf("node %s names cluster %s after cluster %s", m.sender.id, m.cluster, id.cluster)
	now := c.proof(m)
	c.report(c.found(&oneIdentityRule, m.sender.id, -1, "cluster", text, c.evidence(&id.clusterAt, ""), c.evidence(&now, "")))
}

func (oneIdentity) observe(c *Checker, m *message) {
	id := &m.conn.raft.identity
	if m.directory.IsZero() || m.directory == id.directory {
		return
	}
	if !id.directory.IsZero() {
		text := fmt.Sprintf("node %s names directory id %s after %s on one connection", m.sender.id, m.directory, id.directory)
		now := c.proof(m)
		c.report(c.found(&oneIdentityRule, m.sender.id, -1, "directory", text, c.evidence(&id.dirAt, ""), c.evidence(&now, "")))
		return
	}
	id.directory, id.dirAt = m.directory, c.proof(m)
}
