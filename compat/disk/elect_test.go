package disk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
// lost, and then starts the quorum on them. The long tier deals all situations out to the releases, and has some of a static
// quorum; the short one takes the first on 4.4.0.
func TestKafka_ElectsWhomTheDoctorNames(t *testing.T) {
	t.Parallel()
	var list []string
	for _, release := range releases(t) {
		if release > "4" {
			list = append(list, release)
		}
	}
	for n, release := range list {
		var mine []situation
		for i, s := range situations {
			if kafkatest.Matrix() && i%len(list) == n || !kafkatest.Matrix() && i == 0 && release == "4.4.0" {
				mine = append(mine, s)
			}
		}
		if len(mine) > 0 {
			t.Run(release, func(t *testing.T) {
				t.Parallel()
				stagedElections(t, release, kafka.Dynamic, mine)
			})
		}
		if kafkatest.Matrix() && release == staticRelease {
			t.Run(release+" static", func(t *testing.T) {
				t.Parallel()
				stagedElections(t, release, kafka.Static, staticSituations)
			})
		}
	}
}

// staticRelease is the one that the situations of a static quorum are started on.
const staticRelease = "4.1.2"

func stagedElections(t *testing.T, release string, voters kafka.Voters, list []situation) {
	q, _ := kafkatest.Start(t, kafka.Config{Release: kafka.MustRelease(release), Voters: voters})
	ctx := kafkatest.Deadline(t, 8*time.Minute)
	must(t, q.WriteMetadata(ctx, "before", 5))
	silent(t, liveCopies(t, q)...)
	base := map[kraft.NodeID]string{}
	for _, id := range q.Controllers() { // one stopped in order would be followed by another leader
		must(t, q.Kill(id))
		base[id] = copyDir(t, q.Node(id).DataDir)
	}
	even(t, base)
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) {
			for try := 1; !s.start(ctx, t, q, base); try++ {
				if try == 8 {
					t.Fatalf("in each of %d starts one leader followed another before anything could be compared", try)
				}
			}
		})
	}
}

// start stages the situation, asks the doctor, and lets Kafka decide. It reports false if one leader followed another: which of them
// the others heard of then decides what is lost.
func (s *situation) start(ctx context.Context, t *testing.T, q *kafka.Quorum, base map[kraft.NodeID]string) bool {
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
	before := map[kraft.NodeID]contents{}
	for _, id := range s.nodes {
		paths = append(paths, dirs[id])
		before[id] = readContents(t, dirs[id])
	}
	r, err := doctor.Examine(storage.OS(), paths...)
	must(t, err)
	var winners []kraft.NodeID
	for _, c := range r.Election.Candidates {
		winners = append(winners, c.Node.ID)
	}
	slices.Sort(winners)
	if !slices.Equal(winners, s.only) {
		t.Errorf("the doctor names %v, want %v\n%v", winners, s.only, r)
	}
	started := time.Now()
	must(t, q.Start(ctx, s.nodes...))
	if !r.Election.CanElect {
		short, cancel := context.WithTimeout(ctx, 4*time.Second)
		defer cancel()
		if elected, err := q.WaitLeader(short); err == nil {
			t.Errorf("node %v leads, but the doctor sees no majority\n%v", elected.Node, r)
		}
		return true
	}
	must(t, q.WaitReady(ctx, s.nodes...))
	_, err = q.WaitLeader(ctx)
	must(t, err)
	for _, id := range s.nodes {
		must(t, q.Kill(id))
	}
	elected := leadersSince(q.Truth(), started)
	if !slices.Contains(winners, elected[0]) {
		t.Errorf("node %v leads, but the doctor named %v\n%v", elected[0], winners, r)
	}
	if len(elected) > 1 {
		t.Logf("leaders %v, one after the other: once more", elected)
		return false
	}
	lost(t, r, elected[0], dirs, before)
	return true
}

// leadersSince lists who was elected since then, in order.
func leadersSince(truth kafka.Truth, since time.Time) []kraft.NodeID {
	var list []kraft.NodeID
	for _, l := range truth.Leaders() {
		if l.At.After(since) {
			list = append(list, l.Node)
		}
	}
	return list
}

type situation struct {
	name  string
	nodes []kraft.NodeID // who starts
	only  []kraft.NodeID // who alone can win
	stage func(t *testing.T, dirs map[kraft.NodeID]string)
}

// situations are staged one after the other on copies of the same three directories.
var situations = []situation{
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
	{"2 has a torn tail, 1 is away", []kraft.NodeID{2, 3}, []kraft.NodeID{2, 3}, func(t *testing.T, dirs map[kraft.NodeID]string) { tear(t, dirs[2], 30) }},
	{"2 and 3 are away", []kraft.NodeID{1}, nil, func(*testing.T, map[kraft.NodeID]string) {}},
	{"1 leads its own epoch, 2 a later one", []kraft.NodeID{1, 2}, []kraft.NodeID{2}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		lead(t, dirs[1], dirs[3])
		must(t, raise(t, dirs[2], 2))
		lead(t, dirs[2], dirs[3])
	}},
	{"all are cut to different ends", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{1, 2}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		shorten(t, dirs[2], 1)
		shorten(t, dirs[3], 2)
	}},
	{"2 was formatted anew", []kraft.NodeID{2, 3}, nil, func(t *testing.T, dirs map[kraft.NodeID]string) {
		identify(t, dirs[2], func(m *storage.Meta) { m.DirectoryID = storage.NewDirectoryID() })
	}},
	{"3 was formatted anew, all start", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{1, 2}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		identify(t, dirs[3], func(m *storage.Meta) { m.DirectoryID = storage.NewDirectoryID() })
	}},
	{"the state of 1 is unreadable", []kraft.NodeID{2, 3}, []kraft.NodeID{2, 3}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		must(t, os.WriteFile(filepath.Join(dirs[1], storage.PartitionDir, storage.QuorumStateFile), nil, 0o600))
	}},
	{"1 appended what nobody has, 3 is away", []kraft.NodeID{1, 2}, []kraft.NodeID{1}, func(t *testing.T, dirs map[kraft.NodeID]string) { extend(t, dirs[1], 4) }},
	{"1 appended what nobody has", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{1, 2, 3}, func(t *testing.T, dirs map[kraft.NodeID]string) { extend(t, dirs[1], 4) }},
	{"3 wrote a late epoch, 1 and 2 went on without it", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{1, 3}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		extend(t, dirs[1], 5)
		extend(t, dirs[2], 2)
		lead(t, dirs[3], dirs[2])
	}},
	{"3 wrote a late epoch and meets the longer log of 1", []kraft.NodeID{1, 3}, []kraft.NodeID{3}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		extend(t, dirs[1], 5)
		lead(t, dirs[3], dirs[2])
	}},
	{"the epochs and indexes of all are gone", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{1, 2, 3}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		for _, dir := range dirs {
			must(t, os.Remove(filepath.Join(dir, storage.PartitionDir, storage.EpochsFile)))
			for _, file := range segmentNames(t, dir) {
				must(t, os.Remove(strings.TrimSuffix(file, ".log")+".index"))
			}
		}
	}},
}

// staticSituations are those of a quorum whose voters stand in controller.quorum.voters (kraft.version 0): they are known by their ids alone.
var staticSituations = []situation{
	{"nothing happened", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{1, 2, 3}, func(*testing.T, map[kraft.NodeID]string) {}},
	{"1 is away, 3 is cut short", []kraft.NodeID{2, 3}, []kraft.NodeID{2}, func(t *testing.T, dirs map[kraft.NodeID]string) { shorten(t, dirs[3], 2) }},
	{"2 is away, 1 wrote an epoch of its own", []kraft.NodeID{1, 3}, []kraft.NodeID{1}, func(t *testing.T, dirs map[kraft.NodeID]string) { lead(t, dirs[1], dirs[3]) }},
	{"1 has another directory id", []kraft.NodeID{1, 2, 3}, []kraft.NodeID{1, 2, 3}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		identify(t, dirs[1], func(m *storage.Meta) { m.DirectoryID = storage.NewDirectoryID() })
	}},
	{"2 was formatted anew, 3 is away", []kraft.NodeID{1, 2}, []kraft.NodeID{1}, func(t *testing.T, dirs map[kraft.NodeID]string) {
		must(t, raise(t, dirs[1], 1), os.RemoveAll(filepath.Join(dirs[2], storage.PartitionDir))) // a leader would be told that it leads, and end
		identify(t, dirs[2], func(m *storage.Meta) { m.DirectoryID = storage.NewDirectoryID() })
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
	must(t, l.Persist(kraft.QuorumState{Epoch: epoch, Leader: id, Voted: kraft.NoReplica}, s.DataVersion, voterIDs(s.VoterIDs)), l.AssignEpoch(epoch))
	_, err = l.Execute(&kraft.AppendLeaderChange{Batch: kraft.Batch{Base: l.End, Last: l.End, Epoch: epoch, Control: []kraft.ControlRecord{
		{Type: kraft.LeaderChangeRecord, Leader: id, VoterIDs: []kraft.NodeID{1, 2, 3}, Granting: []kraft.NodeID{id, 3}},
	}}}, &storage.Payload{Timestamp: time.Now().UnixMilli()})
	must(t, err, l.Append(wire.AppendDataBatch(nil, l.End, epoch, time.Now().UnixMilli(), []byte{1, 20, 0, 0})), l.Close())
	l, err = storage.Open(storage.OS(), filepath.Join(granter, storage.PartitionDir), storage.Options{Unmarked: true})
	must(t, err)
	voted := kraft.ReplicaKey{ID: id, DirectoryID: meta.DirectoryID}
	s, _ = l.Stored()
	must(t, l.Persist(kraft.QuorumState{Epoch: epoch, Leader: kraft.NoNode, Voted: voted}, s.DataVersion, voterIDs(s.VoterIDs)), l.Close())
}

// raise lets a node have heard of later epochs, without a leader.
func raise(t *testing.T, dir string, epochs kraft.Epoch) error {
	t.Helper()
	l, err := storage.Open(storage.OS(), filepath.Join(dir, storage.PartitionDir), storage.Options{Unmarked: true})
	must(t, err)
	s, _ := l.Stored()
	must(t, l.Persist(kraft.QuorumState{Epoch: s.Epoch + epochs, Leader: kraft.NoNode, Voted: kraft.NoReplica}, s.DataVersion, voterIDs(s.VoterIDs)))
	return l.Close()
}

// contents are the batches of a log by each offset that they hold.
type contents map[kraft.Offset]string

func readContents(t *testing.T, data string) contents {
	t.Helper()
	c := contents{}
	if list, err := filepath.Glob(filepath.Join(data, storage.PartitionDir, "*.log")); err == nil && len(list) == 0 {
		return c // they were taken away
	}
	for raw := readAll(t, data, 1<<40); len(raw) > 0; {
		b, rest, err := wire.NextBatch(raw)
		must(t, err)
		for o := b.BaseOffset; o <= b.LastOffset(); o++ {
			c[o] = fmt.Sprintf("%d@%d %08x", b.BaseOffset, b.Epoch, b.CRC)
		}
		raw = rest
	}
	return c
}

// lost compares, offset by offset, what each node held before with what the winner's log holds, and its own. What is missing must be
// what the doctor said would be lost, no more and no less.
func lost(t *testing.T, r *doctor.Report, winner kraft.NodeID, dirs map[kraft.NodeID]string, before map[kraft.NodeID]contents) {
	t.Helper()
	said := map[string]contents{}
	for _, c := range r.Election.Candidates {
		if c.Node.ID == winner {
			for _, l := range c.Loses {
				said[l.Directory] = contents{}
				for o := l.From; o < l.To; o++ {
					said[l.Directory][o] = ""
				}
			}
		}
	}
	now := readContents(t, dirs[winner])
	total := 0
	for id, held := range before {
		own := readContents(t, dirs[id])
		for o, batch := range held {
			_, foreseen := said[filepath.Clean(dirs[id])][o]
			if kept := now[o] == batch; kept == foreseen {
				t.Errorf("offset %d of node %v, %s, kept by the winner %v: %t, said to be lost: %t\n%v", o, id, batch, winner, kept, foreseen, r)
				return
			}
			if foreseen && own[o] == batch {
				t.Errorf("offset %d of node %v, %s, was to be lost, and is still there", o, id, batch)
			}
		}
		total += len(held)
		for o := range said[filepath.Clean(dirs[id])] {
			if held[o] == "" {
				t.Errorf("offset %d of node %v was never there, but is said to be lost", o, id)
			}
		}
	}
	t.Logf("node %v leads; %d offsets compared, %d lists of losses", winner, total, len(said))
}

// tear leaves zeros behind the last batch.
func tear(t *testing.T, dir string, n int) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, storage.PartitionDir, lastSegment(t, dir)), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.Write(make([]byte, n))
	must(t, err, f.Close())
}

// extend appends batches in the epoch of the log, as its leader does before anybody fetches them: the same to each node.
func extend(t *testing.T, dir string, batches int) {
	t.Helper()
	l, err := storage.Open(storage.OS(), filepath.Join(dir, storage.PartitionDir), storage.Options{Unmarked: true})
	must(t, err)
	epoch, _ := l.LastEpoch()
	for range batches {
		must(t, l.Append(wire.AppendDataBatch(nil, l.End, epoch, 1_700_000_000_000, []byte{1, 20, 0, 0}, []byte{1, 20, 0, 0})))
	}
	must(t, l.Close())
}

// identify changes meta.properties.
func identify(t *testing.T, dir string, change func(*storage.Meta)) {
	t.Helper()
	meta, err := storage.ReadMeta(storage.OS(), dir)
	must(t, err)
	change(&meta)
	must(t, storage.WriteMeta(storage.OS(), dir, meta, time.Now()))
}
