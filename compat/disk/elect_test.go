package disk

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/doctor"
	"github.com/understudy-kafka/understudy/wire"
)

// TestKafka_ElectsWhomTheDoctorNames stages the directories of a stopped quorum of three, asks the doctor who can win and what would be
// lost, and then starts the quorum on them.
func TestKafka_ElectsWhomTheDoctorNames(t *testing.T) {
	for _, release := range releases(t) {
		if release != "4.4.0" && (release != "4.0.0" || !kafkatest.Matrix()) {
			continue
		}
		t.Run(release, func(t *testing.T) { stagedElections(t, release) })
	}
}

func stagedElections(t *testing.T, release string) {
	q, _ := kafkatest.Start(t, kafka.Config{Release: kafka.MustRelease(release), Voters: kafka.Dynamic})
	ctx := kafkatest.Deadline(t, 8*time.Minute)
	must(t, q.WriteMetadata(ctx, "before", 5))
	live := liveCopies(t, q)
	healthy(t, live...)
	for _, id := range q.Controllers() { // one stopped in order would be followed by another leader
		must(t, q.Kill(id))
	}
	base := map[kraft.NodeID]string{}
	for _, id := range q.Controllers() {
		base[id] = copyDir(t, q.Node(id).DataDir)
	}
	even(t, base)
	for i, s := range situations {
		if i > 0 && !kafkatest.Matrix() {
			break
		}
		t.Run(s.name, func(t *testing.T) {
			dirs := map[kraft.NodeID]string{}
			var paths []string
			defer func() { // also after a failure, for the next one
				for _, id := range q.Controllers() {
					if q.Running(id) {
						must(t, q.Kill(id))
					}
				}
			}()
			for _, id := range q.Controllers() {
				dirs[id] = q.Node(id).DataDir
				must(t, os.RemoveAll(dirs[id]), os.CopyFS(dirs[id], os.DirFS(base[id])))
			}
			s.stage(t, dirs)
			for _, id := range s.nodes {
				paths = append(paths, dirs[id])
			}
			r, err := doctor.Examine(storage.OS(), paths...)
			must(t, err)
			winner, winners := kraft.NoNode, []kraft.NodeID{}
			for _, c := range r.Election.Candidates {
				winners = append(winners, c.Node.ID)
			}
			slices.Sort(winners)
			if !slices.Equal(winners, s.only) {
				t.Errorf("the doctor names %v, want %v\n%v", winners, s.only, r)
			}
			must(t, q.Start(ctx, s.nodes...))
			if !r.Election.CanElect {
				short, cancel := context.WithTimeout(ctx, 4*time.Second)
				defer cancel()
				if elected, err := q.WaitLeader(short); err == nil {
					t.Errorf("node %v leads, but the doctor sees no majority\n%v", elected.Node, r)
				}
			} else {
				must(t, q.WaitReady(ctx, s.nodes...))
				elected, err := q.WaitLeader(ctx)
				must(t, err)
				winner = elected.Node
				if !slices.Contains(winners, winner) {
					t.Errorf("node %v leads, but the doctor named %v\n%v", winner, winners, r)
				}
			}
			for _, id := range s.nodes {
				must(t, q.Kill(id))
			}
			lost(t, r, winner, dirs)
		})
	}
}

// situations are staged one after the other on copies of the same three directories. Named are who starts, and who alone can win.
var situations = []struct {
	name  string
	nodes []kraft.NodeID
	only  []kraft.NodeID
	stage func(t *testing.T, dirs map[kraft.NodeID]string)
}{
	{"2 wrote an epoch of its own", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{1, 2, 3}, func(t *testing.T, dirs map[kraft.NodeID]string) { lead(t, dirs[2], dirs[3]) }},
	{"nothing happened", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{1, 2, 3}, func(*testing.T, map[kraft.NodeID]string) {}},
	{"1 and 2 are cut short", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{1, 2, 3}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		shorten(t, dirs[1], 3)
		shorten(t, dirs[2], 3)
	}},
	{"1 is away, 3 is cut short", []kraft.NodeID{2, 3}, []kraft.NodeID{2}, func(t *testing.T, dirs map[kraft.NodeID]string) { shorten(t, dirs[3], 2) }},
	{"2 is away, 1 wrote an epoch of its own", []kraft.NodeID{1, 3}, []kraft.NodeID{1}, func(t *testing.T, dirs map[kraft.NodeID]string) { lead(t, dirs[1], dirs[3]) }},
	{"the log of 1 was moved away", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{2, 3}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		for _, file := range segmentNames(t, dirs[1]) {
			must(t, os.Remove(file))
		}
	}},
	{"2 has a torn tail, 1 is away", []kraft.NodeID{2, 3}, []kraft.NodeID{2, 3}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		f, err := os.OpenFile(filepath.Join(dirs[2], storage.PartitionDir, lastSegment(t, dirs[2])), os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = f.Write(make([]byte, 30))
		must(t, err, f.Close())
	}},
	{"2 and 3 are away", []kraft.NodeID{1}, nil, func(*testing.T, map[kraft.NodeID]string) {}},
}

// even makes all logs as long as the shortest.
func even(t *testing.T, dirs map[kraft.NodeID]string) {
	t.Helper()
	var logs []*storage.Log
	end := kraft.Offset(1 << 60)
	for _, dir := range dirs {
		l, err := storage.Open(storage.OS(), filepath.Join(dir, storage.PartitionDir), storage.Options{Unmarked: true})
		must(t, err)
		logs, end = append(logs, l), min(end, l.End)
	}
	for _, l := range logs {
		must(t, l.TruncateTo(end), l.Close())
	}
}

// liveCopies copies the directories of running nodes.
func liveCopies(t *testing.T, q *kafka.Quorum) (dirs []string) {
	t.Helper()
	for _, id := range q.Controllers() {
		dirs = append(dirs, copyDir(t, q.Node(id).DataDir))
	}
	return dirs
}

// shorten takes batches off a log.
func shorten(t *testing.T, dir string, batches int) {
	t.Helper()
	l, err := storage.Open(storage.OS(), filepath.Join(dir, storage.PartitionDir), storage.Options{Unmarked: true})
	must(t, err)
	for range batches {
		must(t, l.TruncateTo(l.Base(l.End-1)))
	}
	must(t, l.Close())
}

// lead lets a node have won an epoch by the vote of another, and written to it before it could tell anybody.
func lead(t *testing.T, dir, granter string) {
	t.Helper()
	meta, err := storage.ReadMeta(storage.OS(), dir)
	must(t, err)
	id := meta.NodeID
	l, err := storage.Open(storage.OS(), filepath.Join(dir, storage.PartitionDir), storage.Options{Unmarked: true})
	must(t, err)
	s, _ := l.Stored()
	epoch := s.Epoch + 1
	must(t, l.Persist(kraft.QuorumState{Epoch: epoch, Leader: id, Voted: kraft.NoReplica}, 1, kraft.VoterSet{}), l.AssignEpoch(epoch))
	_, err = l.Execute(&kraft.AppendLeaderChange{Batch: kraft.Batch{Base: l.End, Last: l.End, Epoch: epoch, Control: []kraft.ControlRecord{
		{Type: kraft.LeaderChangeRecord, Leader: id, VoterIDs: []kraft.NodeID{1, 2, 3}, Granting: []kraft.NodeID{id, 3}},
	}}}, &storage.Payload{Timestamp: time.Now().UnixMilli()})
	must(t, err, l.Append(wire.AppendDataBatch(nil, l.End, epoch, time.Now().UnixMilli(), []byte{1, 20, 0, 0})), l.Close())
	l, err = storage.Open(storage.OS(), filepath.Join(granter, storage.PartitionDir), storage.Options{Unmarked: true})
	must(t, err)
	voted := kraft.ReplicaKey{ID: id, DirectoryID: meta.DirectoryID}
	must(t, l.Persist(kraft.QuorumState{Epoch: epoch, Leader: kraft.NoNode, Voted: voted}, 1, kraft.VoterSet{}), l.Close())
}

// lost checks that the logs are those of the winner now, but for what the doctor said would be lost.
func lost(t *testing.T, r *doctor.Report, winner kraft.NodeID, dirs map[kraft.NodeID]string) {
	t.Helper()
	for _, c := range r.Election.Candidates {
		if c.Node.ID != winner {
			continue
		}
		for _, l := range c.Loses {
			after, err := doctor.Examine(storage.OS(), l.Directory, dirs[winner])
			must(t, err)
			if after.Worst() >= doctor.Damage {
				t.Errorf("%s was to lose offsets %d to %d, but does not share the winner's log:\n%v", l.Directory, l.From, l.To, after)
			}
		}
	}
}
