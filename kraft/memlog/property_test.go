package memlog

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/understudy-kafka/understudy/kraft"
)

// A naive log: each record by itself, with the batch that it is in.
type naive struct {
	records []kraft.Batch // per offset
	flushed int
}

func (n *naive) truncate(to kraft.Offset) {
	// A batch goes as a whole, and leaves a gap: its records below the target do not exist any more.
	end := min(int(to), len(n.records))
	for i := range end {
		if n.records[i].Last >= to {
			n.records[i] = kraft.Batch{Base: -1}
		}
	}
	n.records = n.records[:end]
	n.flushed = min(n.flushed, end)
}

func (n *naive) crash(keep bool) {
	if !keep {
		n.truncate(kraft.Offset(n.flushed))
	}
	for len(n.records) > 0 && n.records[len(n.records)-1].Base < 0 {
		n.records = n.records[:len(n.records)-1]
	}
	n.flushed = len(n.records)
}

// batches are those with records in the range, each once.
func (n *naive) batches(from, upTo kraft.Offset) []kraft.Offset {
	var list []kraft.Offset
	for at := from; at < upTo && int(at) < len(n.records); at++ {
		if b := n.records[at]; b.Base >= 0 && (len(list) == 0 || list[len(list)-1] != b.Base) {
			list = append(list, b.Base)
		}
	}
	return list
}

func TestLog_EqualsRecordsOneByOne(t *testing.T) { rapid.Check(t, logEqualsRecords) }

func FuzzLog(f *testing.F) { f.Fuzz(rapid.MakeFuzz(logEqualsRecords)) }

func logEqualsRecords(t *rapid.T) {
	log, twin := New(), &naive{}
	epoch := kraft.Epoch(0)
	for range rapid.IntRange(0, 20).Draw(t, "steps") {
		switch rapid.IntRange(0, 6).Draw(t, "what") {
		case 0, 1, 2:
			epoch += kraft.Epoch(rapid.IntRange(0, 1).Draw(t, "epoch"))
			b := kraft.Batch{Base: log.End, Last: log.End + kraft.Offset(rapid.IntRange(0, 2).Draw(t, "records")), Epoch: epoch, Size: 10}
			if err := log.Append(b); err != nil {
				t.Fatal(err)
			}
			twin.records = append(twin.records, slices.Repeat([]kraft.Batch{b}, int(b.Last-b.Base+1))...)
		case 3:
			log.Flush()
			twin.flushed = len(twin.records)
		case 4:
			to := kraft.Offset(rapid.IntRange(0, len(twin.records)).Draw(t, "to"))
			log.TruncateTo(to)
			twin.truncate(to)
		case 5:
			keep := rapid.Bool().Draw(t, "keep")
			log.Crash(keep)
			twin.crash(keep)
		case 6: // a copy goes its own way
			other := log.Clone()
			other.TruncateTo(0)
			_ = other.Append(kraft.Batch{Base: 0, Last: 9, Epoch: 99, Size: 1})
			other.Flush()
		}
		same(t, log, twin)
	}
}

func same(t *rapid.T, log *Log, twin *naive) {
	if log.End != kraft.Offset(len(twin.records)) || log.Flushed() != kraft.Offset(twin.flushed) {
		t.Fatalf("ends at %d, flushed %d; want %d, %d", log.End, log.Flushed(), len(twin.records), twin.flushed)
	}
	from := kraft.Offset(rapid.IntRange(0, len(twin.records)).Draw(t, "from"))
	upTo := kraft.Offset(rapid.IntRange(int(from), len(twin.records)).Draw(t, "up to"))
	var got []kraft.Offset
	for _, b := range log.Batches(from, upTo, 1<<30) {
		got = append(got, b.Base)
	}
	if want := twin.batches(from, upTo); !slices.Equal(got, want) {
		t.Fatalf("[%d..%d) has the batches at %v, want %v", from, upTo, got, want)
	}
	for at, b := range twin.records {
		if b.Base >= 0 && log.Base(kraft.Offset(at)) != b.Base {
			t.Fatalf("the batch of %d begins at %d, want %d", at, log.Base(kraft.Offset(at)), b.Base)
		}
	}
	last := kraft.Epoch(0)
	for _, b := range twin.records {
		if b.Base >= 0 {
			last = b.Epoch
		}
	}
	if got, ok := log.LastEpoch(); ok && got < last {
		t.Fatalf("the last epoch is %d, want at least %d", got, last)
	}
}

// As many batches as fit, but at least one.
func TestBatches_EqualAddingUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := New()
		var sizes []int32
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			size := rapid.Int32Range(1, 50).Draw(t, "size")
			if err := log.Append(kraft.Batch{Base: log.End, Last: log.End, Epoch: 1, Size: size}); err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, size)
		}
		from := rapid.IntRange(0, len(sizes)-1).Draw(t, "from")
		most := rapid.Int32Range(0, 200).Draw(t, "bytes")
		want, total := 0, int32(0)
		for _, size := range sizes[from:] {
			if total += size; want > 0 && total > most {
				break
			}
			want++
		}
		if got := len(log.Batches(kraft.Offset(from), log.End, most)); got != want {
			t.Fatalf("%d batches of %v from %d in %d bytes, want %d", got, sizes, from, most, want)
		}
	})
}

// What a snapshot leaves of the log is what stands behind it, and the voters in force are the same as before.
func TestMoveStart_LeavesTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := New()
		epoch := kraft.Epoch(1)
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			epoch += kraft.Epoch(rapid.IntRange(0, 1).Draw(t, "epoch"))
			_ = log.Append(kraft.Batch{Base: log.End, Last: log.End, Epoch: epoch, Size: 10})
		}
		log.Flush()
		log.AdvanceHighWatermark(kraft.Offset(rapid.IntRange(0, int(log.End)).Draw(t, "high watermark")))
		before := log.Clone()
		id := kraft.SnapshotID{Offset: kraft.Offset(rapid.IntRange(0, int(log.End)).Draw(t, "snapshot"))}
		if id.Offset > 0 {
			id.Epoch = before.Batches(id.Offset-1, id.Offset, 1)[0].Epoch
		}
		log.AddSnapshot(id, 7, kraft.SnapshotContents{})
		if moved := log.MoveStart(id); moved != (id.Offset > 0 && id.Offset <= log.HighWatermark) {
			t.Fatalf("snapshot %v, high watermark %d: moved %t", id, log.HighWatermark, moved)
		}
		got, want := log.Batches(log.Start, log.End, 1<<30), before.Batches(log.Start, before.End, 1<<30)
		if len(got) != len(want) || log.End != before.End {
			t.Fatalf("%v is left of %v", got, want)
		}
		for _, b := range want {
			last, at := b.Epoch, b.Last+1
			if a, b := log.EndOffsetForEpoch(last), before.EndOffsetForEpoch(last); a != b || a.Offset < at {
				t.Fatalf("epoch %d ends at %v, before at %v", last, a, b)
			}
		}
	})
}
