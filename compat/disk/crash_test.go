package disk

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
	"github.com/understudy-kafka/understudy/wire"
)

// kafkaOpensCrashes lets our log go on with a directory of Kafka in memory, ends it by a crash at a random operation, and lets Kafka
// start on what is left, without any repair by us. What had been flushed must still be there.
func kafkaOpensCrashes(t *testing.T, q *kafka.Quorum, data string) {
	t.Helper()
	tries := 1
	if kafkatest.Matrix() {
		tries = 2
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range tries {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		fsys := load(t, data)
		flushed := liveUntil(t, fsys, r, 1+r.IntN(70))
		after := fsys.Crash(r)
		to := filepath.Join(t.TempDir(), "data")
		must(t, after.CopyTo("data", to))
		runKafkaOn(t, q, to, flushed)
	}
}

// load copies a directory into memory.
func load(t *testing.T, data string) *memfs.FS {
	t.Helper()
	fsys := memfs.New()
	must(t, filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(data, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		fsys.Put("data/"+filepath.ToSlash(rel), b)
		return err
	}))
	return fsys
}

var errPower = errors.New("the power is gone")

// liveUntil lets a leader of a new epoch append, flush, roll and truncate until the n-th operation fails, and returns what was flushed.
func liveUntil(t *testing.T, fsys *memfs.FS, r *rand.Rand, n int) kraft.Offset {
	t.Helper()
	l, err := storage.Open(fsys, "data/"+storage.PartitionDir, storage.Options{SegmentBytes: 4096})
	must(t, err)
	epoch, _ := l.LastEpoch()
	epoch++
	fsys.Before = func(op memfs.Op) (int, error) {
		if n--; n > 0 {
			return 0, nil
		}
		return r.IntN(op.Size + 1), errPower
	}
	noop := [][]byte{{1, 20, 0, 0}}
	flushed := l.End
	step := func(err error) bool {
		if err != nil && !errors.Is(err, errPower) {
			t.Fatal(err)
		}
		return err == nil
	}
	if !step(l.Persist(kraft.QuorumState{Epoch: epoch, Leader: 1, Voted: kraft.NoReplica}, 1, kraft.VoterSet{})) || !step(l.AssignEpoch(epoch)) {
		return flushed
	}
	_, err = l.Execute(&kraft.AppendLeaderChange{Batch: kraft.Batch{Base: l.End, Last: l.End, Epoch: epoch, Control: []kraft.ControlRecord{
		{Type: kraft.LeaderChangeRecord, Leader: 1, VoterIDs: []kraft.NodeID{1}, Granting: []kraft.NodeID{1}},
	}}}, &storage.Payload{Timestamp: time.Now().UnixMilli()})
	for ok := step(err); ok; {
		for range 30 {
			if ok = ok && step(l.Append(wire.AppendDataBatch(nil, l.End, epoch, time.Now().UnixMilli(), noop...))); !ok {
				return flushed
			}
		}
		if ok = step(l.Flush()); ok {
			flushed = l.End
		}
		if ok && r.IntN(3) == 0 {
			flushed = min(flushed, l.End-3)
			ok = step(l.TruncateTo(l.End - 3))
		}
	}
	return flushed
}
