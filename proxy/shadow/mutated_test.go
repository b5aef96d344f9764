package shadow

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// loaded is a capture in memory.
type loaded []recordings.Observation

func load(t testing.TB, name string) loaded {
	var list loaded
	capture(t, name, func(o *recordings.Observation) {
		list = append(list, keep(o))
	})
	return list
}

// keep copies an observation of a capture, which has no faults.
func keep(o *recordings.Observation) recordings.Observation {
	kept := *o
	kept.Frame.Bytes = bytes.Clone(o.Frame.Bytes)
	if o.Gap != nil {
		gap := *o.Gap
		kept.Gap = &gap
	}
	return kept
}

func (l loaded) check(options Options) *Report {
	c := New(options)
	for i := range l {
		o := l[i]
		c.Observe(&o)
	}
	return c.Finish()
}

// mutate changes one message of the capture: the first for which change returns true. The request of a response is
// given with it. The frame is marked as altered by a fault rule.
func (l loaded) mutate(t *testing.T, change func(req kmsg.Request, resp kmsg.Response) bool) (loaded, *recordings.Observation) {
	t.Helper()
	type open struct {
		conn *recordings.Conn
		id   int32
	}
	requests := map[open]kmsg.Request{}
	for i := range l {
		o := &l[i]
		if o.Kind != recordings.KindFrame {
			continue
		}
		var mutated []byte
		if o.Dir == wire.Request {
			h, body, err := wire.ParseRequestHeader(o.Frame.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if !wire.Raft(h.Key) {
				continue
			}
			r := kmsg.RequestForKey(h.Key)
			r.SetVersion(h.Version)
			if err := r.ReadFrom(bytes.Clone(body)); err != nil {
				t.Fatal(err)
			}
			requests[open{o.Conn, h.CorrelationID}] = r
			if change(r, nil) {
				mutated = encodeRequest(r, h.CorrelationID, string(h.ClientID))
			}
		} else {
			id := int32(binary.BigEndian.Uint32(o.Frame.Bytes))
			req := requests[open{o.Conn, id}]
			if req == nil {
				continue
			}
			_, body, err := wire.ParseResponseHeader(o.Frame.Bytes, req.Key(), req.GetVersion())
			if err != nil {
				t.Fatal(err)
			}
			r := kmsg.ResponseForKey(req.Key())
			r.SetVersion(req.GetVersion())
			if err := r.ReadFrom(bytes.Clone(body)); err != nil {
				t.Fatal(err)
			}
			if change(req, r) {
				mutated = encodeResponse(r, id)
			}
		}
		if mutated != nil {
			out := slices.Clone(l)
			out[i].Fault = &recordings.Fault{Rule: "mutate", Sent: o.Frame.Bytes, Delivered: true}
			out[i].Frame = wire.Frame{Bytes: mutated, Size: len(mutated)}
			return out, &out[i]
		}
	}
	t.Fatal("nothing was changed")
	return nil, nil
}

// part is the one partition of a Fetch answer.
func part(r kmsg.Response) *kmsg.FetchResponseTopicPartition {
	f, ok := r.(*kmsg.FetchResponse)
	if !ok || len(f.Topics) != 1 {
		return nil
	}
	return &f.Topics[0].Partitions[0]
}

// nth returns true at the nth call with true.
func nth(n int) func(bool) bool {
	return func(yes bool) bool {
		if yes {
			n--
		}
		return yes && n == 0
	}
}

// alteredFrame is a lie that a real controller might tell, and who is to be blamed for what.
type alteredFrame struct {
	name   string
	rule   string
	node   kraft.NodeID
	epoch  kraft.Epoch
	change func(kmsg.Request, kmsg.Response) bool
}

func alteredFrames() []alteredFrame {
	third := nth(3)
	tenth := nth(10)
	return []alteredFrame{
		{"a refused vote becomes a granted one", "M1", 3, 2, func(req kmsg.Request, resp kmsg.Response) bool {
			v, ok := resp.(*kmsg.VoteResponse)
			if !ok || req.(*kmsg.VoteRequest).Topics[0].Partitions[0].CandidateID != 2 || v.Topics[0].Partitions[0].VoteGranted {
				return false
			}
			v.Topics[0].Partitions[0].VoteGranted = true
			return true
		}},
		{"an answer names another leader", "M2", 1, 1, func(_ kmsg.Request, resp kmsg.Response) bool {
			p := part(resp)
			if p == nil || p.CurrentLeader.LeaderID != 1 || !third(true) {
				return false
			}
			p.CurrentLeader.LeaderID = 3
			return true
		}},
		{"an answer comes with yesterday's epoch", "M3", 2, 0, func(_ kmsg.Request, resp kmsg.Response) bool {
			p := part(resp)
			if p == nil || p.ErrorCode != int16(kraft.NotLeaderOrFollower) || p.CurrentLeader.LeaderEpoch != 1 {
				return false
			}
			p.CurrentLeader.LeaderEpoch, p.CurrentLeader.LeaderID = 0, -1
			return true
		}},
		{"the watermark falls", "M9", 1, 1, func(_ kmsg.Request, resp kmsg.Response) bool {
			p := part(resp)
			if p == nil || p.HighWatermark < 20 {
				return false
			}
			p.HighWatermark = 4
			return true
		}},
		{"the watermark is raised for a moment", "M9", 1, 1, func(_ kmsg.Request, resp kmsg.Response) bool {
			p := part(resp)
			if p == nil || p.HighWatermark < 20 {
				return false
			}
			p.HighWatermark = 4000
			return true
		}},
		{"a record is swapped", "M6", 1, 1, func(_ kmsg.Request, resp kmsg.Response) bool {
			p := part(resp)
			if p == nil || len(p.RecordBatches) < 100 || !tenth(true) {
				return false
			}
			p.RecordBatches[len(p.RecordBatches)-3] ^= 1
			return true
		}},
		{"a replica fetches from further back", "M12", 3, 1, func(req kmsg.Request, resp kmsg.Response) bool {
			f, ok := req.(*kmsg.FetchRequest)
			if resp != nil || !ok || f.ReplicaState.ID != 3 || f.Topics[0].Partitions[0].FetchOffset < 30 {
				return false
			}
			f.Topics[0].Partitions[0].FetchOffset -= 5
			return true
		}},
		{"a snapshot above the watermark is offered", "M17", 1, 1, func(_ kmsg.Request, resp kmsg.Response) bool {
			p := part(resp)
			if p == nil || p.HighWatermark < 20 || len(p.RecordBatches) > 0 {
				return false
			}
			p.SnapshotID.Epoch, p.SnapshotID.EndOffset = 1, p.HighWatermark+1
			return true
		}},
		{"a replica comes with another directory id", "M18", 3, -1, func(req kmsg.Request, resp kmsg.Response) bool {
			f, ok := req.(*kmsg.FetchRequest)
			if resp != nil || !ok || f.ReplicaState.ID != 3 || f.Topics[0].Partitions[0].FetchOffset < 30 {
				return false
			}
			f.Topics[0].Partitions[0].ReplicaDirectoryID[3] ^= 1
			return true
		}},
		{"a vote is granted in another epoch", "M19", 2, 2, func(_ kmsg.Request, resp kmsg.Response) bool {
			v, ok := resp.(*kmsg.VoteResponse)
			if !ok || !v.Topics[0].Partitions[0].VoteGranted || v.Topics[0].Partitions[0].LeaderEpoch != 1 {
				return false
			}
			v.Topics[0].Partitions[0].LeaderEpoch = 2
			return true
		}},
		{"a candidate stands for an epoch that is over", "M14", 2, 1, func(req kmsg.Request, resp kmsg.Response) bool {
			v, ok := req.(*kmsg.VoteRequest)
			if resp != nil || !ok || v.Topics[0].Partitions[0].PreVote || v.Topics[0].Partitions[0].CandidateEpoch != 3 {
				return false
			}
			v.Topics[0].Partitions[0].CandidateEpoch = 1
			return true
		}},
	}
}

// moreAlteredFrames are lies about epochs, names, errors, records and logs.
func moreAlteredFrames() []alteredFrame {
	// answered alters a Fetch answer of the settled leader that carries no records.
	answered := func(change func(*kmsg.FetchRequest, *kmsg.FetchResponseTopicPartition)) func(kmsg.Request, kmsg.Response) bool {
		return func(req kmsg.Request, resp kmsg.Response) bool {
			p := part(resp)
			if p == nil || p.HighWatermark < 20 || len(p.RecordBatches) > 0 || p.CurrentLeader.LeaderID != 1 || p.ErrorCode != 0 {
				return false
			}
			change(req.(*kmsg.FetchRequest), p)
			return true
		}
	}
	// asked alters a Fetch of node 3 well within its epoch.
	asked := func(change func(*kmsg.FetchRequest)) func(kmsg.Request, kmsg.Response) bool {
		return func(req kmsg.Request, resp kmsg.Response) bool {
			f, ok := req.(*kmsg.FetchRequest)
			if resp != nil || !ok || f.ReplicaState.ID != 3 || f.Topics[0].Partitions[0].FetchOffset < 30 {
				return false
			}
			change(f)
			return true
		}
	}
	// stood alters a request for a standard vote in epoch 3.
	stood := func(change func(*kmsg.VoteRequestTopicPartition)) func(kmsg.Request, kmsg.Response) bool {
		return func(req kmsg.Request, resp kmsg.Response) bool {
			v, ok := req.(*kmsg.VoteRequest)
			if resp != nil || !ok || v.Topics[0].Partitions[0].PreVote || v.Topics[0].Partitions[0].CandidateEpoch != 3 {
				return false
			}
			change(&v.Topics[0].Partitions[0])
			return true
		}
	}
	fails := func(code kraft.ErrorCode) func(kmsg.Request, kmsg.Response) bool {
		return answered(func(_ *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) { p.ErrorCode = int16(code) })
	}
	tenth, fifth := nth(10), nth(5)
	other := "9AiLyPbODx8rFNxFCwo4iw"
	return []alteredFrame{
		{"a leader fences its own epoch", "M19", 1, 1, fails(kraft.FencedLeaderEpoch)},
		{"a leader does not know its own epoch", "M19", 1, 1, fails(kraft.UnknownLeaderEpoch)},
		{"a Fetch is refused for the voter's key", "M19", 1, 1, fails(kraft.InvalidVoterKey)},
		{"a Fetch is refused for its position in a snapshot", "M19", 1, 1, fails(kraft.PositionOutOfRange)},
		{"a Fetch is refused for the voter set", "M19", 1, 1, fails(kraft.InconsistentVoterSet)},
		{"a Fetch finds no snapshot", "M19", 1, 1, fails(kraft.SnapshotNotFound)},
		{"a leader serves in an older epoch", "M19", 1, 0, answered(func(_ *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) { p.CurrentLeader.LeaderEpoch-- })},
		{"a leader serves in an epoch to come", "M19", 1, 2, answered(func(_ *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) { p.CurrentLeader.LeaderEpoch++ })},
		{"the bootstrap snapshot is offered", "M17", 1, 1, answered(func(_ *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) {
			p.SnapshotID.Epoch, p.SnapshotID.EndOffset = 0, 0
		})},
		{"a replica is told to truncate what is committed", "M8", 1, 1, answered(func(_ *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) {
			p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 0, 1
		})},
		{"the watermark is not known any more", "M9", 1, 1, answered(func(_ *kmsg.FetchRequest, p *kmsg.FetchResponseTopicPartition) { p.HighWatermark = -1 })},
		{"the watermark is at the start of the epoch", "M10", 1, 1, func(_ kmsg.Request, resp kmsg.Response) bool {
			p := part(resp)
			if p == nil || p.HighWatermark != -1 || p.CurrentLeader.LeaderID != 1 || len(p.RecordBatches) == 0 {
				return false
			}
			p.HighWatermark = 0
			return true
		}},
		{"a batch has another epoch", "M5", 1, 1, func(_ kmsg.Request, resp kmsg.Response) bool { // which lies outside its CRC
			p := part(resp)
			if p == nil || p.CurrentLeader.LeaderID != 1 || len(p.RecordBatches) < 100 || !tenth(true) {
				return false
			}
			p.RecordBatches[15]--
			return true
		}},
		{"a batch stands at another offset", "M6", 1, 1, func(_ kmsg.Request, resp kmsg.Response) bool {
			p := part(resp)
			if p == nil || p.CurrentLeader.LeaderID != 1 || len(p.RecordBatches) < 100 || !fifth(true) {
				return false
			}
			p.RecordBatches[7]--
			return true
		}},
		{"a replica goes back to an older epoch", "M3", 3, 0, asked(func(f *kmsg.FetchRequest) { f.Topics[0].Partitions[0].CurrentLeaderEpoch-- })},
		{"a replica comes from another cluster", "M18", 3, -1, asked(func(f *kmsg.FetchRequest) { f.ClusterID = &other })},
		{"a replica fetches in another's name", "M19", 3, 1, asked(func(f *kmsg.FetchRequest) { f.ReplicaState.ID = 2 })},
		{"a candidate stands in another's name", "M19", 2, 3, stood(func(p *kmsg.VoteRequestTopicPartition) { p.CandidateID = 3 })},
		{"a candidate has records of a later epoch", "M14", 2, 3, stood(func(p *kmsg.VoteRequestTopicPartition) { p.LastOffsetEpoch = 4 })},
		{"a vote goes to a shorter log", "M15", 3, 3, stood(func(p *kmsg.VoteRequestTopicPartition) { p.LastOffsetEpoch, p.LastOffset = 0, 0 })},
		{"a vote is granted with an error", "M19", 3, 3, func(req kmsg.Request, resp kmsg.Response) bool {
			v, ok := resp.(*kmsg.VoteResponse)
			if !ok || req.(*kmsg.VoteRequest).Topics[0].Partitions[0].CandidateEpoch != 3 || !v.Topics[0].Partitions[0].VoteGranted {
				return false
			}
			v.Topics[0].Partitions[0].ErrorCode = int16(kraft.InvalidVoterKey)
			return true
		}},
	}
}

func TestMutated_RealFrames(t *testing.T) {
	original := load(t, "440-dynamic-start-kill")
	for _, tt := range append(alteredFrames(), moreAlteredFrames()...) {
		t.Run(tt.name, func(t *testing.T) {
			mutated, frame := original.mutate(t, tt.change)
			r := mutated.check(Options{FaultAsPeer: true})
			for _, f := range r.Findings {
				if f.Rule == tt.rule && f.Node == tt.node && f.Epoch == tt.epoch && r.Verdict == Diverges {
					if tt.name != "the watermark is raised for a moment" && !slices.ContainsFunc(f.Proof, func(e Evidence) bool { return e.Number == frame.Number }) {
						t.Errorf("frame %d is not in the proof %+v", frame.Number, f.Proof)
					}
					// what answers an altered request does not answer what its server got, so only answers are tried
					if r := mutated.check(Options{}); frame.Dir == wire.Response && len(r.Findings) > 0 {
						t.Errorf("held against nodes that sent something else: %+v", r.Findings)
					}
					return
				}
			}
			t.Errorf("want %s at node %d in epoch %d: %s %+v", tt.rule, tt.node, tt.epoch, r.Verdict, r.Findings)
		})
	}
}

// TestMutated_RecordsOfRealFrames alters record batches, whose CRC is then made right again.
func TestMutated_RecordsOfRealFrames(t *testing.T) {
	batches := func(resp kmsg.Response, change func(b []byte, i int) bool) bool {
		p := part(resp)
		if p == nil {
			return false
		}
		rest := p.RecordBatches
		for i := 0; len(rest) > 0; i++ {
			b, next, err := wire.NextBatch(rest)
			if err != nil {
				return false
			}
			if change(b.Bytes, i) {
				sealed := wire.AppendRawBatch(nil, mustBatch(b.Bytes))
				copy(b.Bytes, sealed)
				return true
			}
			rest = next
		}
		return false
	}
	tests := []struct {
		name   string
		rule   string
		change func(kmsg.Request, kmsg.Response) bool
	}{
		{"the epoch's first record is no control record", "M5", func(_ kmsg.Request, resp kmsg.Response) bool {
			return batches(resp, func(b []byte, _ int) bool {
				if !isLeaderChange(b) {
					return false
				}
				b[22] &^= wire.AttrControl
				return true
			})
		}},
		{"nobody granted the epoch", "M4", func(_ kmsg.Request, resp kmsg.Response) bool {
			return batches(resp, func(b []byte, _ int) bool {
				if !isLeaderChange(b) {
					return false
				}
				// the ids of the voters that granted it follow behind those of the voters: 1, 2, 3, then 1 and another
				i := bytes.LastIndex(b, []byte{3, 0, 0, 0, 1, 0, 0, 0, 0})
				if i < 0 {
					i = bytes.LastIndex(b, []byte{4, 0, 0, 0, 1, 0, 0, 0, 0})
				}
				for at := i + 1; i >= 0 && at+5 <= len(b)-1 && at < i+1+5*int(b[i]-1); at += 5 {
					b[at+3] = 77
				}
				return i >= 0
			})
		}},
		{"an epoch falls along the log", "M7", func(_ kmsg.Request, resp kmsg.Response) bool {
			return batches(resp, func(b []byte, i int) bool {
				if i == 0 {
					return false
				}
				b[15]--
				return true
			})
		}},
	}
	original := load(t, "440-dynamic-start-kill")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mutated, _ := original.mutate(t, tt.change)
			r := mutated.check(Options{FaultAsPeer: true})
			if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == tt.rule && f.Node >= 1 }) {
				t.Errorf("want %s: %s %+v", tt.rule, r.Verdict, r.Findings)
			}
		})
	}
}

func mustBatch(raw []byte) wire.Batch {
	b, _, err := wire.NextBatch(raw)
	if err != nil {
		panic(err)
	}
	return b
}

func isLeaderChange(raw []byte) bool {
	b := batch{head: mustBatch(raw)}
	_, ok := b.leaderChange()
	return ok
}
