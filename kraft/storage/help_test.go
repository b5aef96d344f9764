package storage_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
	"github.com/understudy-kafka/understudy/wire"
)

const logDir = "data/" + storage.PartitionDir

// data is a batch of n records.
func data(base kraft.Offset, n int, epoch kraft.Epoch, size int) []byte {
	values := make([][]byte, n)
	for i := range values {
		values[i] = fmt.Appendf(nil, "record %d of epoch %d %s", base+kraft.Offset(i), epoch, make([]byte, size))
	}
	return wire.AppendDataBatch(nil, base, epoch, 1000+int64(base), values...)
}

// voters is a control batch with a voter set of n voters.
func voters(t testing.TB, base kraft.Offset, epoch kraft.Epoch, n int) []byte {
	t.Helper()
	var list []kraft.Voter
	for i := range n {
		list = append(list, kraft.Voter{
			Key:       kraft.ReplicaKey{ID: kraft.NodeID(i + 1), DirectoryID: kraft.DirectoryID{15: byte(i + 1)}},
			Endpoints: kraft.NewEndpoints(kraft.Endpoint{Name: "CONTROLLER", Address: kraft.Address{Host: "h", Port: 9093}}),
			Versions:  kraft.VersionRange{Max: 1},
		})
	}
	b, err := wire.AppendControlBatch(nil, kraft.Batch{Base: base, Last: base + 1, Epoch: epoch, Control: []kraft.ControlRecord{
		{Type: kraft.KRaftVersionRecord, KRaftVersion: 1}, {Type: kraft.VotersRecord, Voters: kraft.NewVoterSet(list...)},
	}}, 1000+int64(base))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB, fsys storage.FS, opts storage.Options) *storage.Log {
	t.Helper()
	l, err := storage.Open(fsys, logDir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// must fails the test at the first error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// filled is a log of three epochs: offsets 0, 1-5, 6-7 (voters), 8-9, flushed.
func filled(t testing.TB, fsys storage.FS, opts storage.Options) *storage.Log {
	t.Helper()
	l := open(t, fsys, opts)
	must(t, l.Append(data(0, 1, 1, 10)), l.Append(data(1, 5, 1, 10)), l.Append(voters(t, 6, 2, 3)), l.Append(data(8, 2, 3, 10)), l.Flush())
	return l
}

func random() (*rand.Rand, uint64) {
	seed := rand.Uint64()
	return rand.New(rand.NewPCG(seed, 1)), seed
}

// snapshotBytes is a snapshot with two records of the state machine.
func snapshotBytes(id kraft.SnapshotID) []byte {
	b := wire.AppendBatch(nil, controlHead(0, id.Epoch), wire.NewControl(wire.SnapshotHeader{Timestamp: 1000}), wire.NewControl(wire.KRaftVersion{Level: 1}))
	b = wire.AppendDataBatch(b, 2, id.Epoch, 1000, fmt.Appendf(nil, "state at %v", id))
	return wire.AppendBatch(b, controlHead(3, id.Epoch), wire.NewControl(wire.SnapshotFooter{}))
}

func controlHead(base kraft.Offset, epoch kraft.Epoch) wire.Batch {
	head := wire.NewBatch(base, epoch, 1000)
	head.Attributes = wire.AttrControl
	return head
}

// snapshot makes a snapshot at a position of the log.
func snapshot(t testing.TB, l *storage.Log, id kraft.SnapshotID) {
	t.Helper()
	w, ok, err := l.CreateSnapshot(id)
	if err != nil || !ok {
		t.Fatalf("create snapshot %v: %t %v", id, ok, err)
	}
	must(t, w.Append(snapshotBytes(id)), w.Freeze())
}

func memory() *memfs.FS { return memfs.New() }
