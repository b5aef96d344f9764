package storage_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/memlog"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
	"github.com/understudy-kafka/understudy/wire"
)

var flagSeed = flag.Uint64("seed", 0, "seed of the random tests; 0: drawn")

// pair is a log on disk and one in memory that are told the same things.
type pair struct {
	t      *testing.T
	r      *rand.Rand
	fsys   *memfs.FS
	opts   storage.Options
	disk   *storage.Log
	memory *memlog.Log
	epoch  kraft.Epoch
}

// TestLog_DoesAsTheLogInMemory lets random histories run over both. Segments of one batch let the log start survive a restart exactly,
// as memory keeps it; Kafka, and this log with larger segments, come back with the begin of the first segment.
func TestLog_DoesAsTheLogInMemory(t *testing.T) {
	r, seed := random()
	if *flagSeed != 0 {
		seed = *flagSeed
		r = rand.New(rand.NewPCG(seed, 1))
	}
	defer func() {
		if t.Failed() {
			t.Logf("run again with -args -seed %d", seed)
		}
	}()
	for range 8 {
		fsys := memfs.New()
		p := &pair{t: t, r: r, fsys: fsys, opts: storage.Options{SegmentBytes: 1, Unmarked: r.IntN(2) == 0}, memory: memlog.New(), epoch: 1}
		p.disk = open(t, fsys, p.opts)
		for range 80 {
			what := p.step()
			p.compare(what)
			if t.Failed() {
				return
			}
		}
	}
}

func (p *pair) step() string {
	switch n := p.r.IntN(20); {
	case n < 7:
		return p.append()
	case n < 10:
		p.memory.Flush()
		must(p.t, p.disk.Flush())
		return "flush"
	case n < 12:
		p.epoch++
		p.memory.AssignEpoch(p.epoch)
		must(p.t, p.disk.AssignEpoch(p.epoch))
		return "assign epoch"
	case n < 13:
		at := p.memory.HighWatermark + kraft.Offset(p.r.IntN(int(p.memory.End-p.memory.HighWatermark)+2))
		p.memory.TruncateTo(at)
		must(p.t, p.disk.TruncateTo(at))
		return "truncate"
	case n < 15:
		at := p.memory.End - kraft.Offset(p.r.IntN(4))
		p.memory.AdvanceHighWatermark(at)
		p.disk.AdvanceHighWatermark(at)
		return "high watermark"
	case n < 16:
		return p.snapshot()
	case n < 17:
		return p.moveStart()
	case n < 18:
		return p.install()
	default:
		return p.restart()
	}
}

func (p *pair) append() string {
	var raw []byte
	next := p.memory.End
	for range 1 + p.r.IntN(2) {
		if p.r.IntN(6) == 0 {
			raw = append(raw, voters(p.t, next, p.epoch, 1+p.r.IntN(3))...)
			next += 2
			continue
		}
		n := 1 + p.r.IntN(3)
		raw = append(raw, data(next, n, p.epoch, p.r.IntN(600))...)
		next += kraft.Offset(n)
	}
	batches, _, _ := wire.KRaftBatches(nil, raw)
	for _, b := range batches { // one by one: each in a segment of its own
		must(p.t, p.memory.Append(b), p.disk.Append(raw[:b.Size]))
		raw = raw[b.Size:]
	}
	return "append"
}

func (p *pair) snapshot() string {
	at := p.disk.Base(p.disk.HighWatermark)
	if at > p.disk.HighWatermark || at == 0 || len(p.disk.Epochs) == 0 {
		return "nothing"
	}
	id := kraft.SnapshotID{Offset: at}
	for _, e := range p.disk.Epochs {
		if e.Start < at {
			id.Epoch = e.Epoch
		}
	}
	w, ok, err := p.disk.CreateSnapshot(id)
	if err != nil || !ok {
		return "no snapshot"
	}
	b := snapshotBytes(id)
	must(p.t, w.Append(b), w.Freeze())
	c, err := wire.SnapshotContents(b)
	must(p.t, err)
	p.memory.AddSnapshot(id, int64(len(b)), c)
	return "snapshot " + id.String()
}

func (p *pair) moveStart() string {
	if len(p.disk.Snapshots) == 0 {
		return "nothing"
	}
	id := p.disk.Snapshots[p.r.IntN(len(p.disk.Snapshots))].ID
	want := p.memory.MoveStart(id)
	got, err := p.disk.MoveStart(id)
	if err != nil || want != got {
		p.t.Errorf("move start to %v: %t %v, want %t", id, got, err, want)
	}
	return "move start to " + id.String()
}

// install fetches a snapshot beyond the log.
func (p *pair) install() string {
	p.epoch++
	id := kraft.SnapshotID{Offset: p.memory.End + kraft.Offset(p.r.IntN(5)), Epoch: p.epoch}
	b := snapshotBytes(id)
	c, err := wire.SnapshotContents(b)
	must(p.t, err)
	half := len(b) / 2
	for _, a := range []struct {
		action kraft.Action
		chunk  []byte
	}{
		{&kraft.BeginSnapshotFetch{ID: id}, nil},
		{&kraft.AppendSnapshot{ID: id, Bytes: int32(half)}, b[:half]},
		{&kraft.AppendSnapshot{ID: id, Position: int64(half), Bytes: int32(len(b) - half)}, b[half:]},
		{&kraft.InstallSnapshot{ID: id, Size: int64(len(b))}, nil},
	} {
		_, err1 := p.memory.Execute(a.action, &kraft.ReceiveFetchSnapshotResponse{Contents: c})
		_, err2 := p.disk.Execute(a.action, &storage.Payload{Chunk: a.chunk})
		must(p.t, err1, err2)
	}
	return "install " + id.String()
}

// restart reopens both, after a clean end or a crash. Of what was not flushed the disk says how much is left.
func (p *pair) restart() string {
	what := "restart"
	switch p.r.IntN(3) {
	case 0:
		must(p.t, p.disk.Close())
		p.memory.Flush()
	case 1:
		what, p.fsys = "crash", p.fsys.Crash(nil)
	default:
		what, p.fsys = "crash in the middle", p.fsys.Crash(p.r)
	}
	flushed := p.memory.Flushed()
	p.disk = open(p.t, p.fsys, p.opts)
	left := max(p.disk.End, p.memory.Start)
	if p.disk.BegunAnew { // what is left of the log ended before the snapshot
		left = p.memory.Start
	}
	p.memory.TruncateTo(left)
	p.memory.Crash(true)
	if bases := p.disk.SegmentBases(); bases[0] < p.memory.Start {
		p.memory.Start, p.memory.HighWatermark = bases[0], bases[0] // a truncation within its only batch left the segment's name below what it holds
	}
	if gap := p.memory.End; p.disk.Flushed() < min(flushed, gap) {
		p.t.Errorf("%s: %v, but offsets up to %d were flushed", what, p.disk.View(), flushed)
	}
	p.memory.Flush()
	return what
}

func (p *pair) compare(what string) {
	if !p.memory.View().Equal(p.disk.View()) {
		p.t.Fatalf("after %s:\nmemory %v\ndisk   %v", what, p.memory.View(), p.disk.View())
	}
	h1 := p.memory.History()
	h2, err := p.disk.History()
	must(p.t, err)
	n := 0
	for _, h := range h1 {
		if h.Record.Type == kraft.LeaderChangeRecord {
			continue
		}
		if n >= len(h2) || h2[n].Offset != h.Offset || h2[n].Record.String() != h.Record.String() {
			p.t.Fatalf("after %s: history\nmemory %v\ndisk   %v", what, h1, h2)
		}
		n++
	}
	for range 3 {
		at := p.memory.Start + kraft.Offset(p.r.IntN(int(p.memory.End-p.memory.Start)+1))
		if want, got := p.memory.Base(at), p.disk.Base(at); want != got {
			p.t.Fatalf("after %s: base of %d is %d, in memory %d", what, at, got, want)
		}
		raw, err := p.disk.Read(nil, at, p.memory.End, 1<<30)
		must(p.t, err)
		batches, fault, _ := wire.KRaftBatches(nil, raw)
		if want := p.memory.Batches(at, p.memory.End, 1<<30); fault != kraft.RecordsFine || len(batches) != len(want) {
			p.t.Fatalf("after %s: read %d batches from %d, in memory %d", what, len(batches), at, len(want))
		}
	}
	if err := p.disk.Err(); err != nil && !errors.Is(err, storage.ErrClosed) {
		p.t.Fatal(err)
	}
}
