package twin

import (
	"fmt"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Solo stands in for the oracle where no Java is at hand: machines of ours over logs in memory. A Twin beside it
// compares two of our own sides, which differ in what the Twin is given: another log, for instance.
type Solo struct {
	profile compat.Profile
	nodes   map[string]*node
}

// Alone is a Twin whose oracle is a Solo.
func Alone(version string) *Twin {
	s := &Solo{profile: ProfileOf(version), nodes: map[string]*node{}}
	return pair(s, version)
}

// Do is part of oracle.Stepper.
func (s *Solo) Do(c oracle.Command) (*oracle.Answer, error) {
	a := &oracle.Answer{}
	switch c.Cmd {
	case "reset":
		s.nodes = map[string]*node{}
		return a, nil
	case "init":
		n := newNode(s.profile, c, NewCoverage(), newHostLog())
		s.nodes[c.Node] = n
		if err := s.seed(n); err != nil {
			return nil, err
		}
	}
	n := s.nodes[c.Node]
	if n == nil {
		return nil, fmt.Errorf("command %s: no node %s", c.Cmd, c.Node)
	}
	if c.Cmd == "snapshotBytes" {
		a.Bytes = n.log.snapshot(kraft.SnapshotID{Offset: kraft.Offset(c.Offset), Epoch: kraft.Epoch(c.Epoch)})
		return a, nil
	}
	if !n.dead || c.Cmd == "restart" || c.Cmd == "init" {
		s.admit(n, c, a)
	}
	o := n.do(c, a)
	if len(o.problems) > 0 {
		return nil, fmt.Errorf("command %s of %s: %v", c.Cmd, c.Node, o.problems)
	}
	s.answer(n, c, o, a)
	return a, nil
}

// seed fills the log that the node starts with.
func (s *Solo) seed(n *node) error {
	if len(n.init.Log) > 0 {
		_, err := appendAll(n.log, n.init.Log, -1)
		n.log.flush()
		return err
	}
	if n.init.KRaft == 1 && len(n.init.Voters) > 0 {
		n.log.addSnapshot(kraft.BootstrapSnapshot, bootstrapBytes(voterSet(n.init.Voters, true, channel(&n.init))))
	}
	return nil
}

// admit refuses what the harness refuses before it reaches the client, and makes the snapshots that the state machine above makes.
func (s *Solo) admit(n *node, c oracle.Command, a *oracle.Answer) {
	var err error
	switch c.Cmd {
	case "request":
		_, err = n.decoder.KRaftRequest(c.API, c.Version, c.Body, kraft.Request{Listener: channel(&n.init)})
	case "response":
		f, ok := n.inFlight[c.Corr]
		switch {
		case !ok:
			err = fmt.Errorf("request %d is not in flight", c.Corr)
		case c.Error == "":
			if _, err = n.decoder.KRaftResponse(f.key, c.Version, c.Body, kraft.Response{}); err == nil {
				_, _, err = oracle.Decode(oracle.Message{Response: true, API: f.key, Version: c.Version, Body: c.Body})
			}
		}
	case "snapshot":
		id := kraft.SnapshotID{Offset: kraft.Offset(c.Offset), Epoch: kraft.Epoch(c.Epoch)}
		log := n.log.View()
		_, held := log.FindSnapshot(id)
		position, _ := log.Validate(id.Offset, id.Epoch)
		a.Created = !held && id.Offset >= log.Start && id.Offset <= log.HighWatermark && position == kraft.ValidPosition && log.Base(id.Offset) == id.Offset
		if a.Created {
			n.made = stateBytes(n, c)
		}
	}
	if err != nil {
		a.Error = err.Error()
	}
}

// stateBytes is a snapshot with the control records in force and the command's records.
func stateBytes(n *node, c oracle.Command) []byte {
	head := wire.NewBatch(0, kraft.Epoch(c.Epoch), c.Timestamp)
	head.Attributes = wire.AttrControl
	records := []wire.Record{wire.NewControl(wire.SnapshotHeader{Timestamp: c.Timestamp})}
	history, err := n.log.history()
	check(err)
	var version, voters *wire.Record
	for _, h := range history {
		if h.Offset >= kraft.Offset(c.Offset) {
			break
		}
		if k, err := wire.ControlOf(h.Record); err == nil {
			r := wire.NewControl(k)
			switch h.Record.Type {
			case kraft.KRaftVersionRecord:
				version = &r
			case kraft.VotersRecord:
				voters = &r
			case kraft.LeaderChangeRecord, kraft.OtherControlRecord:
			}
		}
	}
	for _, r := range []*wire.Record{version, voters} {
		if r != nil {
			records = append(records, *r)
		}
	}
	b := wire.AppendBatch(nil, head, records...)
	next := kraft.Offset(len(records))
	if len(c.Records) > 0 {
		b = wire.AppendDataBatch(b, next, head.Epoch, c.Timestamp, c.Records...)
		next += kraft.Offset(len(c.Records))
	}
	head.BaseOffset = next
	return wire.AppendBatch(b, head, wire.NewControl(wire.SnapshotFooter{}))
}

func (s *Solo) answer(n *node, c oracle.Command, o outcome, a *oracle.Answer) {
	a.Effects, a.Waits, a.Finished, a.Now, a.Deleted = o.effects, o.waits, n.finished, int64(n.now), o.deleted
	if n.dead {
		if a.Fatal = o.fatal; a.Fatal == "" {
			a.Fatal = "ended before"
		}
	}
	switch c.Cmd {
	case "append", "schedule", "resign", "upgrade":
		a.Offset = int64(o.offset)
		if o.refused {
			a.Error = "refused"
		}
	}
	if c.State && n.m != nil {
		a.State = n.state(nil)
	}
}
