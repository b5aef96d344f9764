package disk

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// benchLog writes a metadata log of the given size: the batches of a real one, again and again at later offsets.
func benchLog(b *testing.B, size int) string {
	b.Helper()
	var batches []wire.Batch
	for _, name := range []string{"00000000000000000000.log", "00000000000000000101.log"} {
		raw, err := os.ReadFile(filepath.Join("../../cmd/understudy/testdata/data-4.4.0/__cluster_metadata-0", name))
		must(b, err)
		for len(raw) > 0 {
			batch, rest, err := wire.NextBatch(raw)
			must(b, err)
			batches, raw = append(batches, batch), rest
		}
	}
	file := filepath.Join(b.TempDir(), "00000000000000000000.log")
	out := make([]byte, 0, size+1<<20)
	next := kraft.Offset(0)
	for len(out) < size {
		for _, batch := range batches {
			batch.BaseOffset, batch.Epoch = next, 1
			next += kraft.Offset(batch.Count)
			out = wire.AppendRawBatch(out, batch)
		}
	}
	must(b, os.WriteFile(file, out, 0o600))
	return file
}

// BenchmarkKafka_Dump prints and verifies the same log with Kafka's tool and with ours, whole processes, one after the other.
func BenchmarkKafka_Dump(b *testing.B) {
	file := benchLog(b, 64<<20)
	program := built(b)
	d := dist(b, kafka.MustRelease("4.4.0"))
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	must(b, err)
	measure := func(cmd *exec.Cmd) (wall, cpu time.Duration) {
		cmd.Stdout = null
		begin := time.Now()
		must(b, cmd.Run())
		return time.Since(begin), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	kafkaWall, kafkaCPU := measure(command(b.Context(), d, []string{file}))
	for b.Loop() {
		dumpWall, dumpCPU := measure(exec.Command(program, "dump", "--secrets", file))
		verifyWall, verifyCPU := measure(exec.Command(program, "dump", "--verify", file))
		b.ReportMetric(kafkaWall.Seconds()/dumpWall.Seconds(), "dump-ratio")
		b.ReportMetric(kafkaWall.Seconds()/verifyWall.Seconds(), "verify-ratio")
		b.Logf("Kafka %v (CPU %v), dump %v (CPU %v): %.0fx, CPU %.0fx; verify %v (CPU %v): %.0fx, CPU %.0fx", kafkaWall, kafkaCPU, dumpWall, dumpCPU,
			kafkaWall.Seconds()/dumpWall.Seconds(), kafkaCPU.Seconds()/dumpCPU.Seconds(), verifyWall, verifyCPU,
			kafkaWall.Seconds()/verifyWall.Seconds(), kafkaCPU.Seconds()/verifyCPU.Seconds())
	}
}
