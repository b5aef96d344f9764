package shadow

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// firstRun is a quorum that node 1 leads in epoch 5 up to high watermark 12, and what is to be remembered of it.
func firstRun(t *testing.T) *Memory {
	t.Helper()
	s := newStage(t)
	settled(s)
	for _, id := range nodes(2, 3) {
		s.ask(id, 1, fetch(5, 10, 5)).answer(served(5, 10, data(10, 5, "a", "b")))
	}
	for _, id := range nodes(2, 3) {
		s.ask(id, 1, fetch(5, 12, 5)).answer(served(5, 12))
	}
	s.ask(1, 2, fetch(5, 12, 5)).answer(notLeader(5, 1)) // so that its directory id is known
	s.conforms()
	m := s.c.Memory()
	if m == nil || m.Watermark.Offset != 12 || m.Watermark.Epoch != 5 || m.Watermark.Leader != 1 || len(m.Voters) != 3 || len(m.Nodes) != 3 {
		t.Fatalf("%+v", m)
	}
	if err := m.Valid(); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(m) // as it is kept
	if err != nil {
		t.Fatal(err)
	}
	back := new(Memory)
	if err := json.Unmarshal(raw, back); err != nil {
		t.Fatal(err)
	}
	return back
}

// later is the same cluster, some days after.
func later(t *testing.T, m *Memory) *stage {
	s := newStage(t, func(o *Options) {
		o.Recall = func(cluster string) *Memory {
			if cluster == m.ClusterID {
				return m
			}
			return nil
		}
	})
	s.at += 3 * 86_400 * oneSecond
	return s
}

func TestMemory_QuorumThatLostCommittedRecords(t *testing.T) {
	s := later(t, firstRun(t))
	s.ask(2, 3, standAt(6, kraft.LogEnd{LastEpoch: 4, LastOffset: 9}, false)).answer(granted(6))
	s.ask(3, 2, fetch(6, 9, 4)).answer(served(6, -1, leaderChange(9, 6, 2, nodes(1, 2, 3), nodes(2, 3))))
	s.ask(3, 2, fetch(6, 10, 6)).answer(served(6, 10))
	f := s.diverges("M9", 2)
	if !strings.Contains(f.Text, "answers high watermark 10") || !strings.Contains(f.Proof[0].Line, "remembered: leader 1 answered high watermark 12 in epoch 5") {
		t.Errorf("%+v", f)
	}
	if s.c.Memory() != nil {
		t.Error("what is disputed is remembered")
	}
}

func TestMemory_VoterThatForgotItsVote(t *testing.T) { // node 2 voted for node 1 in epoch 5
	s := later(t, firstRun(t))
	s.ask(2, 3, fetch(5, 12, 5)).answer(notLeader(5, -1)) // its directory id is the same
	s.ask(3, 2, stand(5)).answer(granted(5))
	s.ask(2, 3, fetch(5, 12, 5)).answer(notLeader(5, -1))
	found := false
	for _, f := range s.finish().Findings {
		found = found || f.Rule == "M1" && f.Node == 2
	}
	if !found {
		t.Error(s.text())
	}
}

func TestMemory_NodeThatForgotItsEpoch(t *testing.T) {
	s := later(t, firstRun(t))
	s.ask(2, 1, fetch(5, 12, 5)).answer(notLeader(5, -1))
	s.ask(1, 2, fetch(4, 12, 5)).answer(notLeader(4, -1))
	s.ask(2, 1, fetch(5, 12, 5)).answer(notLeader(5, -1))
	s.diverges("M3", 2)
}

func TestMemory_Legal(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(s *stage)
	}{
		{"it goes on where it was", func(s *stage) {
			s.ask(2, 3, standAt(6, kraft.LogEnd{LastEpoch: 5, LastOffset: 12}, false)).answer(granted(6))
			s.ask(3, 2, fetch(6, 12, 5)).answer(served(6, -1, leaderChange(12, 6, 2, nodes(1, 2, 3), nodes(2, 3))))
			s.ask(3, 2, fetch(6, 13, 6)).answer(served(6, 13))
		}},
		{"all disks are new", func(s *stage) {
			for _, id := range nodes(1, 2, 3) {
				s.disks[id]++
			}
			s.ask(2, 3, fetch(0, 0, 0)).answer(notLeader(0, -1))
			s.ask(3, 2, fetch(0, 0, 0)).answer(notLeader(0, -1))
			s.ask(2, 3, standAt(1, kraft.LogEnd{}, false)).answer(granted(1))
			s.ask(3, 2, fetch(1, 0, 0)).answer(served(1, -1, leaderChange(0, 1, 2, nodes(1, 2, 3), nodes(2, 3))))
			s.ask(3, 2, fetch(1, 1, 1)).answer(served(1, 1))
		}},
		{"the same vote again", func(s *stage) {
			s.ask(1, 2, stand(5)).answer(granted(5))
		}},
		{"a node was off all the time", func(s *stage) {
			s.ask(3, 2, fetch(5, 12, 5)).answer(fenced(7, -1))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := later(t, firstRun(t))
			tt.play(s)
			s.harmless()
			if m := s.c.Memory(); m == nil || m.Valid() != nil {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestMemory_GrowsFromRunToRun(t *testing.T) {
	m := firstRun(t)
	s := later(t, m)
	s.ask(3, 2, fetch(6, 12, 5)).answer(served(6, -1, leaderChange(12, 6, 2, nodes(1, 2, 3), nodes(2, 3))))
	next := s.c.Memory()
	if next == nil || next.Watermark.Offset != 12 || next.Watermark.Epoch != 5 || next.At <= m.At {
		t.Fatalf("%+v", next)
	}
	epochs := map[kraft.NodeID]kraft.Epoch{}
	votes := 0
	for i := range next.Nodes {
		epochs[next.Nodes[i].ID] = next.Nodes[i].Epoch
		votes += len(next.Nodes[i].Votes)
	}
	if epochs[1] != 5 || epochs[2] != 6 || epochs[3] != 6 || votes != 2 {
		t.Errorf("%v, %d votes", epochs, votes)
	}
}

// An old recording is not judged by what came after it.
func TestMemory_OfLaterIsNotUsed(t *testing.T) {
	m := firstRun(t)
	m.At += 9 * 86_400 * oneSecond
	s := later(t, m)
	s.ask(3, 2, fetch(6, 9, 4)).answer(served(6, -1, leaderChange(9, 6, 2, nodes(1, 2, 3), nodes(2, 3))))
	s.ask(3, 2, fetch(6, 10, 6)).answer(served(6, 10))
	s.harmless()
	s.remarks("neither used nor changed")
	if s.c.Memory() != nil {
		t.Error("it would be changed")
	}
}

func TestMemory_AlteredStreamsAreNotRemembered(t *testing.T) {
	s := newStage(t)
	s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
	s.ask(2, 1, fetch(5, 9, 5)).altered(served(5, 9), served(5, 9999))
	s.harmless()
	if m := s.c.Memory(); m != nil {
		t.Errorf("%+v", m)
	}
}

func TestMemory_Valid(t *testing.T) {
	for name, change := range map[string]func(*Memory){
		"no cluster":      func(m *Memory) { m.ClusterID = "" },
		"no instant":      func(m *Memory) { m.At = 0 },
		"watermark":       func(m *Memory) { m.Watermark.Epoch = -1 },
		"node twice":      func(m *Memory) { m.Nodes = append(m.Nodes, m.Nodes[0]) },
		"directory id":    func(m *Memory) { m.Nodes[0].DirectoryID = "x" },
		"vote":            func(m *Memory) { m.Nodes[0].Votes = []MemoryVote{{Epoch: -1}} },
		"negative node":   func(m *Memory) { m.Nodes[0].ID = -1 },
		"far too many":    func(m *Memory) { m.Voters = make([]MemoryKey, 2000) },
		"candidate's key": func(m *Memory) { m.Nodes[0].Votes = []MemoryVote{{Candidate: MemoryKey{DirectoryID: "!"}}} },
	} {
		m := firstRun(t)
		change(m)
		if m.Valid() == nil {
			t.Errorf("%s: nothing is wrong with %+v", name, m)
		}
	}
}
