package belief

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// What else happens to a simulated quorum: snapshots, requests that the proxy swallows, operators who change the voters.

// append lets the leader's state machine write.
func (s *sim) append() {
	s.after(s.r.Int64N(40_000), s.append)
	if s.snapshots && s.r.IntN(40) == 0 {
		if n := s.nodes[s.r.IntN(len(s.nodes))]; n.up {
			n.snapshot(s.r.IntN(4) > 0)
		}
	}
	for _, n := range s.nodes {
		if n.up && n.m.Role().Kind() == kraft.LeaderRole {
			n.handle(&kraft.AppendRequested{Epoch: n.m.QuorumState().Epoch, Records: 1 + s.r.Int32N(3), Size: 60, Schedule: true})
			n.plan(0)
		}
	}
}

// disturb breaks something now and then.
func (s *sim) disturb() {
	s.after(s.r.Int64N(1_500_000), s.disturb)
	n := s.nodes[s.r.IntN(len(s.nodes))]
	if !n.up {
		return
	}
	switch s.r.IntN(6) {
	case 0, 1:
		if s.graceful && s.r.IntN(2) == 0 {
			if s.abrupt && s.r.IntN(2) == 0 {
				n.ending = true
				return
			}
			n.handle(&kraft.Shutdown{TimeoutMs: 200})
			n.plan(0)
			return
		}
		n.crash()
	case 2:
		if n.m.Role().Kind() == kraft.LeaderRole {
			n.handle(&kraft.Resign{Epoch: n.m.QuorumState().Epoch})
			n.plan(0)
		}
	case 3: // it is paused
		n.polling = s.now + 1
		until := s.r.Int64N(600_000)
		n.polling = s.now + until
		s.after(until, n.poll)
	default:
		for _, o := range s.nodes {
			n.linksTo(o, func(l *simLink) {
				if s.r.IntN(2) == 0 {
					n.lose(l)
				}
			})
		}
	}
}

// fails lets the node learn that there will be no answer.
func (n *simNode) fails(r simRequest, why kraft.ErrorCode) {
	life := n.life
	n.s.after(n.s.leg(), func() {
		if n.up && n.life == life {
			n.receive(&kraft.RequestFailed{Response: kraft.Response{From: r.dest.Record, CorrelationID: r.dest.CorrelationID, Error: why}, API: kraft.APIKey(r.key)})
		}
	})
}

// linksTo visits the links to a node.
func (n *simNode) linksTo(to *simNode, visit func(*simLink)) {
	records := []kraft.NodeID{to.id}
	for i := range n.s.nodes {
		records = append(records, kraft.NodeID(-2-i))
	}
	for _, r := range records {
		if l := n.links[r]; l != nil && l.to == to {
			visit(l)
		}
	}
}

// snapshot freezes what a node knows to be committed, and perhaps moves its log start there.
func (n *simNode) snapshot(move bool) {
	end := n.log.HighWatermark
	if end <= n.log.Start || end > n.log.End {
		return
	}
	id := kraft.SnapshotID{Offset: end, Epoch: epochAt(n.log.Epochs, end-1)}
	if latest, ok := n.log.LatestSnapshot(); ok && latest.Offset >= end {
		return
	}
	c := n.log.ContentsAt(end)
	n.log.AddSnapshot(id, int64(len(n.s.snapshotBytes(id, c))), c)
	if n.right != nil {
		n.right.log.AddSnapshot(id, int64(len(n.s.snapshotBytes(id, c))), c)
	}
	n.handle(&kraft.SnapshotCreated{ID: id})
	if n.plan(0); move && n.up {
		if n.log.MoveStart(id); n.right != nil {
			n.right.log.MoveStart(id)
		}
	}
}

// snapshotBytes are those of a snapshot: the control records that it ends with, and a filler.
func (s *sim) snapshotBytes(id kraft.SnapshotID, c kraft.SnapshotContents) []byte {
	raw := wire.AppendDataBatch(nil, 0, id.Epoch, 1, make([]byte, 200))
	b := kraft.Batch{Base: 1, Epoch: id.Epoch}
	if c.HasKRaftVersion {
		b.Control = append(b.Control, kraft.ControlRecord{Type: kraft.KRaftVersionRecord, KRaftVersion: c.KRaftVersion})
	}
	if c.HasVoters {
		b.Control = append(b.Control, kraft.ControlRecord{Type: kraft.VotersRecord, Voters: c.Voters})
	}
	if len(b.Control) == 0 {
		return raw
	}
	raw, err := wire.AppendControlBatch(raw, b, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

// chunk is what a FetchSnapshot answer carries.
func (n *simNode) chunk(a *kraft.ReplyFetchSnapshot) []byte {
	if a.Error != kraft.None || a.PartitionError != kraft.None {
		return nil
	}
	c, _ := n.log.Contents(a.ID)
	raw := n.s.snapshotBytes(a.ID, c)
	return raw[a.Position:min(int64(len(raw)), a.Position+int64(max(a.MaxBytes, 1)))]
}

func epochAt(cache kraft.EpochCache, offset kraft.Offset) (epoch kraft.Epoch) {
	for _, e := range cache {
		if e.Start <= offset {
			epoch = e.Epoch
		}
	}
	return epoch
}

// contents are the control records of a snapshot, by whoever has it.
func (s *sim) contents(id kraft.SnapshotID) kraft.SnapshotContents {
	for _, n := range s.nodes {
		if c, ok := n.log.Contents(id); ok {
			return c
		}
	}
	return kraft.SnapshotContents{}
}

// operate has an operator add or remove a voter now and then.
func (s *sim) operate() {
	s.after(s.r.Int64N(2_000_000), s.operate)
	for _, leader := range s.nodes {
		if !leader.up || leader.m.Role().Kind() != kraft.LeaderRole {
			continue
		}
		voters := leader.m.Inspect().Voters
		o := s.nodes[s.r.IntN(len(s.nodes))]
		r := simRequest{key: wire.KeyAddRaftVoter, version: 0}
		cluster := "sim"
		switch v := voters.Find(o.id); {
		case v == nil && o.up:
			q := kmsg.NewPtrAddRaftVoterRequest()
			q.ClusterID, q.VoterID, q.VoterDirectoryID, q.TimeoutMillis = &cluster, int32(o.id), o.config.DirectoryID, 1000
			at := simAddress(o.id)
			q.Listeners = append(q.Listeners, kmsg.AddRaftVoterRequestListener{Name: listenerName, Host: at.Host, Port: at.Port})
			r.body = q.AppendTo(nil)
		case v != nil && voters.Len() > 3:
			q := kmsg.NewPtrRemoveRaftVoterRequest()
			q.ClusterID, q.VoterID, q.VoterDirectoryID = &cluster, int32(o.id), v.Key.DirectoryID
			r.key, r.body = wire.KeyRemoveRaftVoter, q.AppendTo(nil)
		default:
			continue
		}
		s.conns++
		operator := &simNode{s: s, id: kraft.NoNode, up: true}
		l := &simLink{to: leader, open: true, conn: ConnID{0, s.conns}, life: leader.life}
		conn := l.conn
		leader.operators = append(leader.operators, l)
		s.message(operator, leader, &r, conn, nil)
		s.after(s.leg(), func() {
			if leader.up && leader.life == l.life {
				leader.asks(operator, l, conn, r)
			}
		})
		return
	}
}

// hangUp ends the connections of operators.
func (n *simNode) hangUp() {
	for _, l := range n.operators {
		l.open = false
		n.s.closed(l.conn)
	}
	n.operators = nil
}

// probe asks a node that is to become a voter what it supports. These requests are not shown to the checker.
func (n *simNode) probe(target *simNode, to kraft.Destination) {
	life := n.life
	n.s.after(n.s.leg()+n.s.leg(), func() {
		switch {
		case !n.up || n.life != life:
		case !target.up || n.s.r.IntN(5) == 0:
			n.fails(simRequest{key: wire.KeyAPIVersions, dest: to}, kraft.BrokerNotAvailable)
		default:
			n.receive(&kraft.ReceiveAPIVersionsResponse{
				Response: kraft.Response{From: to.Record, CorrelationID: to.CorrelationID}, HasKRaftVersion: true, KRaftVersions: kraft.VersionRange{Max: 1},
			})
		}
	})
}
