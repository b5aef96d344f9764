package storage_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// BenchmarkLog_AppendAndFlush commits batches of ten kilobytes, beside the same bytes written and synced without a log, in turns.
func BenchmarkLog_AppendAndFlush(b *testing.B) {
	dir := b.TempDir()
	l := open2(b, dir, storage.Options{})
	raw, err := storage.OS().OpenFile(filepath.Join(dir, "raw"), os.O_RDWR|os.O_CREATE, 0o600)
	must(b, err)
	var ours, bare []time.Duration
	at := int64(0)
	for turn := 0; b.Loop(); turn++ {
		batch := data(l.End, 10, 1, 1000)
		for half := range 2 { // who goes first finds the journal of the disk as the other left it, so they take turns
			begin := time.Now()
			if half == turn%2 {
				_, err := raw.WriteAt(batch, at)
				must(b, err, raw.Sync())
				bare = append(bare, time.Since(begin))
			} else {
				must(b, l.Append(batch), l.Flush())
				ours = append(ours, time.Since(begin))
			}
		}
		at += int64(len(batch))
	}
	b.ReportMetric(median(ours).Seconds()/median(bare).Seconds(), "of-raw") // a sum would be that of the few syncs that waited for another program
	b.ReportMetric(1/median(ours).Seconds(), "commits/s")
	must(b, l.Close(), raw.Close())
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

func open2(b *testing.B, dir string, opts storage.Options) *storage.Log {
	b.Helper()
	l, err := storage.Open(storage.OS(), filepath.Join(dir, storage.PartitionDir), opts)
	must(b, err)
	return l
}

// BenchmarkOpen recovers a log of one gigabyte, beside reading its bytes, in turns; and opens it after a clean end.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	l := open2(b, dir, storage.Options{SegmentBytes: 256 << 20})
	batch := 40
	for l.Size() < 1<<30 {
		must(b, l.Append(data(l.End, batch, 1, 100)))
	}
	must(b, l.AssignEpoch(2), l.Append(data(l.End, 1, 2, 0)), l.Close())
	files, err := filepath.Glob(filepath.Join(dir, storage.PartitionDir, "*.log"))
	must(b, err)
	mark := filepath.Join(dir, storage.PartitionDir, storage.MarkFile)
	var reading, recovering, clean time.Duration
	for b.Loop() {
		begin := time.Now()
		l := open2(b, dir, storage.Options{})
		clean += time.Since(begin)
		end := l.End
		must(b, l.Close(), os.Remove(mark))
		begin = time.Now()
		for _, file := range files {
			readThrough(b, file)
		}
		reading += time.Since(begin)
		begin = time.Now()
		l = open2(b, dir, storage.Options{})
		recovering += time.Since(begin)
		if l.End != end || l.Epochs[len(l.Epochs)-1].Epoch != kraft.Epoch(2) {
			b.Fatal(l.View())
		}
		must(b, l.Close())
	}
	b.ReportMetric(recovering.Seconds()/reading.Seconds(), "of-reading")
	b.ReportMetric(recovering.Seconds()*1000/float64(b.N), "ms/recovery")
	b.ReportMetric(clean.Seconds()*1000/float64(b.N), "ms/clean-open")
}

func readThrough(b *testing.B, file string) {
	b.Helper()
	f, err := os.Open(file)
	must(b, err)
	buf := make([]byte, 1<<20)
	for {
		if _, err := f.Read(buf); err == io.EOF {
			break
		} else if err != nil {
			b.Fatal(err)
		}
	}
	must(b, f.Close())
}
