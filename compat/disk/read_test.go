package disk

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/doctor"
	"github.com/understudy-kafka/understudy/kraft/storage/doctor/doctortest"
	"github.com/understudy-kafka/understudy/wire"
)

// churn makes records, rolls, snapshots and epochs.
func churn(ctx context.Context, q *kafka.Quorum, id kraft.NodeID) error {
	if err := grow(ctx, q, id, 2, "first"); err != nil {
		return err
	}
	if err := q.Stop(ctx, id); err != nil {
		return err
	}
	if err := q.Restart(ctx, id); err != nil {
		return err
	}
	if err := q.WaitReady(ctx); err != nil {
		return err
	}
	return grow(ctx, q, id, 3, "second")
}

// grow writes until there are so many segments, and a snapshot. 3.9 has no records that can be made without a broker, but for those that
// it writes when idle.
func grow(ctx context.Context, q *kafka.Quorum, id kraft.NodeID, segments int, prefix string) error {
	partition := filepath.Join(q.Node(id).DataDir, storage.PartitionDir)
	for i := 0; ; i++ {
		logs, err1 := filepath.Glob(filepath.Join(partition, "*.log"))
		snapshots, err2 := filepath.Glob(filepath.Join(partition, "*.checkpoint"))
		if err1 != nil || err2 != nil || len(logs) >= segments && len(snapshots) > 1 {
			return errors.Join(err1, err2)
		}
		if q.Node(id).Release.AtLeast(4, 0) {
			if err := q.WriteMetadata(ctx, prefix+itoa(int64(i)), 40); err != nil {
				return err
			}
		} else if time.Sleep(20 * time.Millisecond); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// TestKafka_DirectoriesOfEachReleaseAreReadDumpedAndWrittenAgain takes a directory that the release made through its whole life here.
func TestKafka_DirectoriesOfEachReleaseAreReadDumpedAndWrittenAgain(t *testing.T) {
	t.Parallel()
	list := releases(t)
	program := built(t)
	for _, release := range list {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			q := made(t, release, kafka.Dynamic)
			data := copyDir(t, q.Node(1).DataDir)
			d := dist(t, kafka.MustRelease(release))
			silent(t, data)
			damaged(t, data)
			writtenAgain(t, data)
			if release < "4" {
				dumpsEqual(t, program, d, data)
				return // 3.9 is only read
			}
			kafkaIsRefused(t, q)
			ours := copyDir(t, data)
			end, snapshot := goOn(t, q.ClusterID, ours)
			dumpsEqual(t, program, d, data, ours)
			kafkaOpensCrashes(t, q, data)
			runKafkaOn(t, q, ours, end, snapshot)
		})
	}
}

// silent: the doctor has nothing to say of a healthy directory; of a copy of a running one only that a tail is torn or a file unfinished.
func silent(t *testing.T, dirs ...string) {
	t.Helper()
	r, err := doctor.Examine(storage.OS(), dirs...)
	if err != nil || !r.Election.CanElect {
		t.Errorf("%v\n%v", err, r)
		return
	}
	for _, f := range r.Findings {
		if len(dirs) == 1 || f.Kind != "torn-tail" && f.Kind != "leftover" {
			t.Errorf("found on healthy directories: %v", &f)
		}
	}
}

// damaged applies every kind of damage to copies of the directory: the doctor must name it, and nothing else.
func damaged(t *testing.T, data string) {
	t.Helper()
	for _, c := range doctortest.Damages {
		if err := c.Check(data); err != nil {
			t.Error(err)
		}
	}
}

// dumpsEqual compares what our program prints with what Kafka's own tool of the release prints. Before 4.1 that tool leaves out the fields
// of a LeaderChange; then the tool of 4.4.0 is asked as well.
func dumpsEqual(t *testing.T, program string, d kafka.Dist, dirs ...string) {
	t.Helper()
	var files []string
	for _, data := range dirs {
		files = append(files, logFiles(t, data)...)
		if bootstrap := filepath.Join(data, storage.BootstrapFile); exists(bootstrap) {
			files = append(files, bootstrap)
		}
	}
	out, err := child.Run(exec.CommandContext(t.Context(), program, append([]string{"dump", "--secrets"}, files...)...))
	if err != nil {
		t.Fatalf("%v\n%s", err, child.Tail(out, 20))
	}
	ours := strings.Split(out, "\n")
	tools := []kafka.Dist{d}
	if !d.Release().AtLeast(4, 1) {
		tools = append(tools, dist(t, kafka.MustRelease("4.4.0")))
	}
	for _, tool := range tools {
		want, got := strings.Split(dumpLog(t, tool, files...), "\n"), slices.Clone(ours)
		if len(got) != len(want) {
			t.Fatalf("%d lines, Kafka %v prints %d", len(got), tool.Release(), len(want))
		}
		for i := range want {
			if !tool.Release().AtLeast(4, 1) && strings.Contains(want[i], "controlType: LEADER_CHANGE(2)") {
				want[i], _, _ = strings.Cut(want[i], "controlType")
				got[i], _, _ = strings.Cut(got[i], "LeaderChange")
			}
			if got[i] != want[i] {
				t.Fatalf("line %d:\nours  %s\nKafka %v %s", i+1, got[i], tool.Release(), want[i])
			}
		}
		t.Logf("%d lines equal to those of Kafka %v, of %d files", len(want), tool.Release(), len(files))
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func dumpOurs(t *testing.T, dst []byte, file string) []byte {
	t.Helper()
	dst = append(dst, "Dumping "+file+"\n"...)
	if id, ok := storage.ParseSnapshotName(filepath.Base(file)); ok {
		dst = append(dst, "Snapshot end offset: "+itoa(int64(id.Offset))+", epoch: "+itoa(int64(id.Epoch))+"\n"...)
	} else {
		dst = append(dst, "Log starting offset: "+strings.TrimLeft(strings.TrimSuffix(filepath.Base(file), ".log"), "0")...)
		if bytes.HasSuffix(dst, []byte(" ")) {
			dst = append(dst, '0')
		}
		dst = append(dst, '\n')
	}
	eachBatch(t, file, func(b *wire.Batch, at int64) {
		dst = wire.AppendBatchLine(dst, b, at)
		if err := b.Each(func(r wire.Record) error {
			dst = wire.AppendRecordLine(dst, b, &r, wire.JSONOptions{Secrets: true})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	return dst
}

// writtenAgain opens the directory, appends all its batches to a new log, cut into the same segments, and compares every byte of what
// Kafka determines.
func writtenAgain(t *testing.T, data string) {
	t.Helper()
	from := filepath.Join(data, storage.PartitionDir)
	again := filepath.Join(t.TempDir(), storage.PartitionDir)
	l, err := storage.Open(storage.OS(), again, storage.Options{SegmentBytes: segmentBytes, Unmarked: true})
	if err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(from, "*.log"))
	if err != nil || !strings.HasSuffix(segments[0], "/00000000000000000000.log") {
		t.Fatalf("segments %v %v", segments, err)
	}
	for _, file := range segments {
		eachBatch(t, file, func(b *wire.Batch, _ int64) {
			if err := l.Append(b.Bytes); err != nil {
				t.Fatal(err)
			}
		})
	}
	state, ok, err := storage.ReadQuorumState(storage.OS(), from)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := l.Persist(state.QuorumState, state.DataVersion, voterIDs(state.VoterIDs)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	names := []string{storage.QuorumStateFile, storage.EpochsFile, storage.PartitionFile}
	for i, file := range segments {
		stem := strings.TrimSuffix(filepath.Base(file), ".log")
		names = append(names, stem+".log")
		epochs := map[kraft.Epoch]bool{}
		eachBatch(t, file, func(b *wire.Batch, _ int64) { epochs[b.Epoch] = true })
		if i < len(segments)-1 && len(epochs) == 1 { // a restart forgets how far the last entry lies back
			names = append(names, stem+".index", stem+".timeindex")
		}
	}
	if index, err := os.ReadFile(strings.TrimSuffix(segments[0], "log") + "index"); err != nil || len(index) < 16 {
		t.Errorf("too small to compare indexes: %d bytes, %v", len(index), err)
	}
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(again, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, Kafka has %d, %v", name, len(got), len(want), err)
		}
	}
	for _, file := range logFiles(t, data) { // snapshots, too, hold nothing that our encoder would write otherwise
		eachBatch(t, file, func(b *wire.Batch, at int64) {
			var records []wire.Record
			if err := b.Each(func(r wire.Record) error { records = append(records, r); return nil }); err != nil {
				t.Fatal(err)
			}
			if got := wire.AppendBatch(nil, *b, records...); !bytes.Equal(got, b.Bytes) {
				t.Errorf("%s: the batch at %d is encoded otherwise", file, at)
			}
		})
	}
}

// goOn opens the directory here, appends, rolls, truncates, makes a snapshot and moves the log start to it, and repairs a torn tail.
func goOn(t *testing.T, cluster, data string) (kraft.Offset, kraft.SnapshotID) {
	t.Helper()
	dir, err := storage.OpenDirectory(storage.OS(), data, storage.Identity{NodeID: 1, ClusterID: cluster})
	if err != nil {
		t.Fatal(err)
	}
	l, err := dir.OpenLog(storage.Options{SegmentBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	epoch, _ := l.LastEpoch()
	epoch++
	noop := [][]byte{{1, 20, 0, 0}, {1, 20, 0, 0}}
	now := time.Now().UnixMilli()
	must(t, l.Persist(kraft.QuorumState{Epoch: epoch, Leader: 1, Voted: kraft.NoReplica}, 1, kraft.VoterSet{}), l.AssignEpoch(epoch))
	_, err = l.Execute(&kraft.AppendLeaderChange{Batch: kraft.Batch{Base: l.End, Last: l.End, Epoch: epoch, Control: []kraft.ControlRecord{
		{Type: kraft.LeaderChangeRecord, Leader: 1, VoterIDs: []kraft.NodeID{1}, Granting: []kraft.NodeID{1}},
	}}}, &storage.Payload{Timestamp: now})
	must(t, err)
	segments := len(l.SegmentBases())
	for range 120 { // rolls
		must(t, l.Append(wire.AppendDataBatch(nil, l.End, epoch, now, noop...)))
	}
	must(t, l.Flush(), l.TruncateTo(l.End-41)) // within a batch
	must(t, l.Append(wire.AppendDataBatch(nil, l.End+1, epoch, now, noop...)), l.Flush())
	if len(l.SegmentBases()) <= segments {
		t.Errorf("no roll: %v", l.SegmentBases())
	}
	l.AdvanceHighWatermark(l.End)
	latest := snapshotOurs(t, l, data)
	if moved, err := l.MoveStart(latest); err != nil || !moved {
		t.Errorf("the log start did not move to %v: %v, %v", latest, err, l.View())
	}
	must(t, l.Append(wire.AppendDataBatch(nil, l.End, epoch, now, noop...)))
	end := l.End
	must(t, l.Close(), dir.Close())
	torn, err := os.OpenFile(filepath.Join(data, storage.PartitionDir, lastSegment(t, data)), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = torn.Write(wire.AppendDataBatch(nil, end, epoch, now, noop...)[:50])
	must(t, err, torn.Close())
	l, err = storage.Open(storage.OS(), filepath.Join(data, storage.PartitionDir), storage.Options{})
	must(t, err)
	if l.End != end || len(l.Recovered) != 1 {
		t.Errorf("recovered %v %q, want an end of %d", l.View(), l.Recovered, end)
	}
	must(t, l.Close())
	return end, latest
}

// snapshotOurs writes a snapshot at the log end: all records of the latest one and of the log behind it.
func snapshotOurs(t *testing.T, l *storage.Log, data string) kraft.SnapshotID {
	t.Helper()
	old, _ := l.LatestSnapshot()
	partition := filepath.Join(data, storage.PartitionDir)
	values := dataRecords(t, 0, filepath.Join(partition, storage.SnapshotName(old)))
	values = append(values, dataRecords(t, old.Offset, segmentNames(t, data)...)...)
	c, err := storage.ReadSnapshotContents(storage.OS(), filepath.Join(partition, storage.SnapshotName(old)))
	must(t, err)
	voters, err := wire.ControlOf(kraft.ControlRecord{Type: kraft.VotersRecord, Voters: c.Voters})
	must(t, err)
	epoch, _ := l.LastEpoch()
	id := kraft.SnapshotID{Offset: l.End, Epoch: epoch}
	w, ok, err := l.CreateSnapshot(id)
	if err != nil || !ok {
		t.Fatalf("snapshot %v: %t %v", id, ok, err)
	}
	now := time.Now().UnixMilli()
	head := wire.NewBatch(0, epoch, now)
	head.Attributes = wire.AttrControl
	must(t, w.Append(wire.AppendBatch(nil, head, wire.NewControl(wire.SnapshotHeader{Timestamp: now}), wire.NewControl(wire.KRaftVersion{Level: c.KRaftVersion}), wire.NewControl(voters))))
	must(t, w.Append(wire.AppendDataBatch(nil, 3, epoch, now, values...)))
	head.BaseOffset = kraft.Offset(3 + len(values))
	must(t, w.Append(wire.AppendBatch(nil, head, wire.NewControl(wire.SnapshotFooter{}))), w.Freeze())
	return id
}

// dataRecords are the records of the state machine in the files from the offset on, without those that say nothing.
func dataRecords(t *testing.T, from kraft.Offset, files ...string) (values [][]byte) {
	t.Helper()
	for _, file := range files {
		eachBatch(t, file, func(b *wire.Batch, _ int64) {
			if b.Control() {
				return
			}
			must(t, b.Each(func(r wire.Record) error {
				if r.Offset >= from && !bytes.Equal(r.Value, []byte{1, 20, 0, 0}) {
					values = append(values, bytes.Clone(r.Value))
				}
				return nil
			}))
		})
	}
	return values
}

// tellsAgain waits for a snapshot that Kafka makes of what it read, and checks that it has every configuration of ours.
func tellsAgain(ctx context.Context, t *testing.T, data string, ours kraft.SnapshotID, want [][]byte) {
	t.Helper()
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		entries, err := os.ReadDir(filepath.Join(data, storage.PartitionDir))
		must(t, err)
		for _, e := range entries {
			id, ok := storage.ParseSnapshotName(e.Name())
			if !ok || id.Offset <= ours.Offset {
				continue
			}
			got := dataRecords(t, 0, filepath.Join(data, storage.PartitionDir, e.Name()))
			for _, value := range want {
				if m, err := wire.DecodeMetadata(value); err != nil || m.Name == "ConfigRecord" && !slices.ContainsFunc(got, func(b []byte) bool { return bytes.Equal(b, value) }) {
					t.Errorf("Kafka's snapshot %v lacks %v of ours %v (%v)", id, &m, ours, err)
					return
				}
			}
			t.Logf("Kafka's snapshot %v has the configurations of ours, %v, of %d records", id, ours, len(want))
			return
		}
	}
	t.Errorf("Kafka has made no snapshot behind ours, %v", ours)
}

// runKafkaOn replaces the node's directory and starts Kafka on it. It must lead, keep all batches up to the offset and have read our
// snapshots.
func runKafkaOn(t *testing.T, q *kafka.Quorum, data string, upTo kraft.Offset, ours ...kraft.SnapshotID) {
	t.Helper()
	node := q.Node(1)
	want := readAll(t, data, upTo)
	must(t, os.RemoveAll(node.DataDir), os.CopyFS(node.DataDir, os.DirFS(data)))
	ctx := kafkatest.Deadline(t, 2*time.Minute)
	must(t, q.Restart(ctx, 1), q.WaitReady(ctx), q.WriteMetadata(ctx, "third", 2))
	for _, id := range ours {
		tellsAgain(ctx, t, node.DataDir, id, dataRecords(t, 0, filepath.Join(data, storage.PartitionDir, storage.SnapshotName(id))))
	}
	must(t, q.Kill(1))
	if got := readAll(t, node.DataDir, 1<<40); !bytes.Contains(got, want[max(0, len(want)-3000):]) {
		t.Errorf("Kafka has not kept the log up to %d: %d bytes of %d", upTo, len(got), len(want))
	}
}
