package wire

import (
	"errors"
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
)

// KRaftBatches lists the record batches of a log or of a Fetch response as a machine sees them, up to the first that is
// not whole. With a fault they are those before the first corrupt one, and epoch is what that one states if it can be told
// from what lies behind it.
func KRaftBatches(dst []kraft.Batch, records []byte) (list []kraft.Batch, fault kraft.RecordsFault, epoch kraft.Epoch) {
	for len(records) > 0 {
		b, rest, err := NextBatch(records)
		if errors.Is(err, ErrCut) {
			break // the answer was cut at its limit of bytes
		}
		if err != nil {
			return dst, kraft.RecordsCorrupt, 0
		}
		if records = rest; fault == kraft.BatchCorrupt {
			continue
		}
		if !b.CRCValid() {
			fault, epoch = kraft.BatchCorrupt, b.Epoch
			continue
		}
		k := kraft.Batch{Base: b.BaseOffset, Last: b.LastOffset(), Epoch: b.Epoch, Size: int32(len(b.Bytes))}
		if b.Control() {
			if k.Control, err = controlRecords(&b); err != nil {
				fault, epoch = kraft.BatchCorrupt, b.Epoch
				continue
			}
		}
		dst = append(dst, k)
	}
	return dst, fault, epoch
}

func controlRecords(b *Batch) ([]kraft.ControlRecord, error) {
	var list []kraft.ControlRecord
	err := b.Each(func(r Record) error {
		c, err := DecodeControl(r.Key, r.Value)
		if errors.Is(err, ErrUnsupported) { // of a later release: it decides nothing that this one knows
			list = append(list, kraft.ControlRecord{})
			return nil
		}
		if err != nil {
			return err
		}
		list = append(list, KRaftControl(c))
		return nil
	})
	return list, err
}

// KRaftControl is a control record as a machine sees it.
func KRaftControl(c ControlRecord) kraft.ControlRecord {
	switch c := c.(type) {
	case LeaderChange:
		k := kraft.ControlRecord{Type: kraft.LeaderChangeRecord, Leader: c.Leader}
		for _, v := range c.Voters {
			k.VoterIDs = append(k.VoterIDs, v.ID)
		}
		for _, v := range c.Granting {
			k.Granting = append(k.Granting, v.ID)
		}
		return k
	case KRaftVersion:
		return kraft.ControlRecord{Type: kraft.KRaftVersionRecord, KRaftVersion: c.Level}
	case Voters:
		voters := make([]kraft.Voter, 0, len(c.Voters))
		for _, v := range c.Voters {
			endpoints := make([]kraft.Endpoint, 0, len(v.Endpoints))
			for _, e := range v.Endpoints {
				endpoints = append(endpoints, endpoint(e.Name, e.Host, e.Port))
			}
			voters = append(voters, kraft.Voter{
				Key: v.Key, Endpoints: kraft.NewEndpoints(endpoints...), Versions: kraft.VersionRange{Min: v.MinVersion, Max: v.MaxVersion},
			})
		}
		return kraft.ControlRecord{Type: kraft.VotersRecord, Voters: kraft.NewVoterSet(voters...)}
	}
	return kraft.ControlRecord{}
}

// ControlOf is the record that a leader writes for a machine's control record.
func ControlOf(k kraft.ControlRecord) (ControlRecord, error) {
	switch k.Type {
	case kraft.LeaderChangeRecord:
		c := LeaderChange{Leader: k.Leader}
		for _, id := range k.VoterIDs {
			c.Voters = append(c.Voters, kraft.ReplicaKey{ID: id})
		}
		for _, id := range k.Granting {
			c.Granting = append(c.Granting, kraft.ReplicaKey{ID: id})
		}
		return c, nil
	case kraft.KRaftVersionRecord:
		return KRaftVersion{Level: k.KRaftVersion}, nil
	case kraft.VotersRecord:
		c := Voters{}
		for i := range k.Voters.Len() {
			v := k.Voters.At(i)
			w := Voter{Key: v.Key, MinVersion: v.Versions.Min, MaxVersion: v.Versions.Max}
			for j := range v.Endpoints.Len() {
				e := v.Endpoints.At(j)
				w.Endpoints = append(w.Endpoints, Endpoint{Name: e.Name, Host: e.Host, Port: e.Port})
			}
			c.Voters = append(c.Voters, w)
		}
		return c, nil
	case kraft.OtherControlRecord:
	}
	return nil, fmt.Errorf("control record %v: %w", k, ErrUnsupported)
}

// AppendControlBatch appends the batch of control records that a leader writes.
func AppendControlBatch(dst []byte, b kraft.Batch, timestamp int64) ([]byte, error) {
	records := make([]Record, 0, len(b.Control))
	for _, k := range b.Control {
		c, err := ControlOf(k)
		if err != nil {
			return dst, err
		}
		records = append(records, NewControl(c))
	}
	head := NewBatch(b.Base, b.Epoch, timestamp)
	head.Attributes = AttrControl
	return AppendBatch(dst, head, records...), nil
}

// AppendDataBatch appends a batch of a state machine's records, which have values only.
func AppendDataBatch(dst []byte, base kraft.Offset, epoch kraft.Epoch, timestamp int64, values ...[]byte) []byte {
	records := make([]Record, 0, len(values))
	for _, v := range values {
		records = append(records, Record{Value: v})
	}
	return AppendBatch(dst, NewBatch(base, epoch, timestamp), records...)
}

// SnapshotContents are the control records of a whole snapshot, as far as a machine needs them. Of several of a kind the last
// counts.
func SnapshotContents(snapshot []byte) (kraft.SnapshotContents, error) {
	var s kraft.SnapshotContents
	batches, fault, _ := KRaftBatches(nil, snapshot)
	if fault != kraft.RecordsFine {
		return s, fmt.Errorf("snapshot of %d bytes, batch %d: %w", len(snapshot), len(batches), ErrMalformed)
	}
	for _, b := range batches {
		for _, c := range b.Control {
			switch c.Type {
			case kraft.KRaftVersionRecord:
				s.HasKRaftVersion, s.KRaftVersion = true, c.KRaftVersion
			case kraft.VotersRecord:
				s.HasVoters, s.Voters = true, c.Voters
			case kraft.LeaderChangeRecord, kraft.OtherControlRecord:
			}
		}
	}
	return s, nil
}
