package mixed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// The figures of `make bench-mixed`: ours beside Kafka 4.4.0 in one run, on the same disk. Read the ratios.

func percentile(list []time.Duration, p int) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)-1, len(list)*p/100)]
}

func milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// beside reports a figure of ours, of Kafka, and the ratio.
func beside(b *testing.B, name string, ours, kafkas float64) {
	b.Helper()
	b.ReportMetric(ours, name+"-ours")
	b.ReportMetric(kafkas, name+"-kafka")
	b.ReportMetric(ours/kafkas, name+"-ratio")
	b.Logf("%s: ours %.2f, Kafka %.2f, ratio %.3f", name, ours, kafkas, ours/kafkas)
}

// memory is what a process has resident, in MB: all of it, and what is its own.
func memory(b *testing.B, pid int) (resident, anonymous float64) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(b, err)
	for what, to := range map[string]*float64{"VmRSS": &resident, "RssAnon": &anonymous} {
		m := regexp.MustCompile(what + `:\s+(\d+) kB`).FindSubmatch(text)
		kb, _ := strconv.Atoi(string(m[1]))
		*to = float64(kb) / 1024
	}
	return resident, anonymous
}

// launched starts a node's process at once, without waiting for its turn among those that start, and waits until its output or its disk says so.
func launched(ctx context.Context, b *testing.B, d kafka.Dist, n kafka.Node, done func(output []byte) bool) (p *child.Process, took time.Duration) {
	b.Helper()
	cmd := d.Command(ctx, kafka.JVM{RootLevel: string(kafka.Info), RaftLevel: kafka.Info}, "kafka.Kafka", n.ConfigFile)
	name := filepath.Join(n.Dir, "launched.log")
	out, err := os.Create(name)
	must(b, err)
	defer func() { _ = out.Close() }() // the process has it open itself
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, n.Dir
	began := time.Now()
	p, err = child.Start(cmd)
	must(b, err)
	for {
		text, err := os.ReadFile(name)
		must(b, err)
		if done(text) {
			return p, time.Since(began)
		}
		if ctx.Err() != nil || p.Ended() {
			b.Fatalf("node %v does not get there: %s", n.ID, text)
		}
		time.Sleep(time.Millisecond)
	}
}

func caughtUp(output []byte) bool {
	return bytes.Contains(output, []byte("finished catching up to the current high water mark"))
}

// BenchmarkMixed_StartAndMemory: the third voter of a quorum under load, which is Kafka's and ours in turn on the same directory: from the
// start of its process until it has caught up, and what it has resident 5 s later.
func BenchmarkMixed_StartAndMemory(b *testing.B) {
	who := &cast{ours: map[kraft.NodeID][]string{}}
	ctx := kafkatest.Deadline(b, 10*time.Minute)
	q := kafkatest.New(b, kafka.Config{Release: kafka.MustRelease("4.4.0"), Voters: kafka.Dynamic, Source: who.source(b)})
	d, err := who.source(b)(ctx, kafka.MustRelease("4.4.0"))
	must(b, err)
	must(b, q.Start(ctx, 1, 2))
	must(b, q.WaitReady(ctx, 1, 2))
	loaded, end := context.WithCancel(ctx)
	defer end()
	load := startLoad(loaded, q)
	defer load.end()
	var took [2][]time.Duration
	var resident, anonymous [2][]float64
	for i := range 12 {
		is := i % 2 // 0: ours
		who.give(ours, is == 0)
		p, t := launched(ctx, b, d, q.Node(ours), caughtUp)
		took[is] = append(took[is], t)
		time.Sleep(5 * time.Second)
		r, a := memory(b, p.Pid())
		resident[is], anonymous[is] = append(resident[is], r), append(anonymous[is], a)
		must(b, p.Stop(ctx))
	}
	median := func(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
	beside(b, "start-ms", milli(percentile(took[0], 50)), milli(percentile(took[1], 50)))
	beside(b, "resident-MB", median(resident[0]), median(resident[1]))
	beside(b, "anonymous-MB", median(anonymous[0]), median(anonymous[1]))
}

// altered is a request that makes the active controller write one batch: so many records, each with so long a name. The value must change,
// or nothing is written.
func altered(records, size, turn int, only bool) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version, req.ValidateOnly = 1, only
	for i := range records {
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType = 32 // a group
		r.ResourceName = fmt.Sprintf("%s-%d", strings.Repeat("g", size), i)
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name = "consumer.session.timeout.ms"
		value := strconv.Itoa(50000 + turn%2)
		c.Value = &value
		r.Configs = append(r.Configs, c)
		req.Resources = append(req.Resources, r)
	}
	return req
}

func alter(ctx context.Context, a *kafka.Admin, req *kmsg.IncrementalAlterConfigsRequest) error {
	resp, err := a.Request(ctx, req)
	if err != nil {
		return err
	}
	for _, r := range resp.(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if r.ErrorCode != 0 {
			return fmt.Errorf("alter: %v", kraft.ErrorCode(r.ErrorCode))
		}
	}
	return nil
}

// BenchmarkMixed_Commit: three voters of ours, the leader in this process, beside three controllers of Kafka with a linger of 0. A batch of 1 KB
// at a time, from the append until it is committed; and batches of 50 KB, of several writers. Kafka can only be asked through its requests: what
// such a request takes without an append (validateOnly) is taken off its median and its 99th percentile.
func BenchmarkMixed_Commit(b *testing.B) {
	ctx := kafkatest.Deadline(b, 10*time.Minute)
	q, leader := kafkatest.Start(b, kafka.Config{
		Release: kafka.MustRelease("4.4.0"), Voters: kafka.Dynamic, Properties: map[string]string{"controller.quorum.append.linger.ms": "0"},
	})
	node, synced := startOurs(ctx, b)
	a, err := kafka.DialAdmin(ctx, q.Node(leader.Node).Listener, "bench")
	must(b, err)
	defer func() { _ = a.Close() }()
	const warm, n, block = 300, 2000, 50
	record := make([]byte, 1000)
	turn := 0
	asked := func(only bool) error { turn++; return alter(ctx, a, altered(1, 900, turn, only)) }
	appended := func() error { _, err := node.Append(ctx, record); return err }
	var times [3][]time.Duration
	before := synced.Load()
	for done := 0; done < warm+n; done += block { // in turn, so that what else the machine does hits all alike
		for i, do := range []func() error{func() error { return asked(false) }, func() error { return asked(true) }, appended} {
			for at := range block {
				began := time.Now()
				must(b, do())
				if took := time.Since(began); done >= warm && at > 0 { // the first may wait for what the one before has left to do
					times[i] = append(times[i], took)
				}
			}
		}
	}
	theirs, bare, mine := times[0], times[1], times[2]
	b.Logf("a request to Kafka takes %.2f ms (p99 %.2f) with, and %.2f ms (p99 %.2f) without an append",
		milli(percentile(theirs, 50)), milli(percentile(theirs, 99)), milli(percentile(bare, 50)), milli(percentile(bare, 99)))
	b.Logf("the leader of ours synced %.3f times a commit of one writer", float64(synced.Load()-before)/(warm+n))
	beside(b, "commit-p50-ms", milli(percentile(mine, 50)), milli(percentile(theirs, 50)-percentile(bare, 50)))
	beside(b, "commit-p99-ms", milli(percentile(mine, 99)), milli(percentile(theirs, 99)-percentile(bare, 99)))

	for _, writers := range []int{1, 8, 32} {
		const lasts = 2 * time.Second
		var rate [2]float64
		for range 2 { // the second counts
			before = synced.Load()
			rate[0] = pump(b, writers, lasts, func() func(int) (int, error) {
				batch := make([]byte, batchSize)
				return func(int) (int, error) {
					_, err := node.Append(ctx, batch)
					return batchSize, err
				}
			})
			b.Logf("%d writers: the leader of ours synced %.3f times a batch", writers, float64(synced.Load()-before)*batchSize/(rate[0]*(1<<20)*lasts.Seconds()))
			rate[1] = pump(b, writers, lasts, func() func(int) (int, error) {
				var a *kafka.Admin
				return func(i int) (n int, err error) {
					if a == nil {
						leader, err := q.WaitLeader(ctx)
						if err != nil {
							return 0, err
						}
						if a, err = kafka.DialAdmin(ctx, q.Node(leader.Node).Listener, "bench"); err != nil {
							return 0, err
						}
					}
					if alter(ctx, a, altered(10, batchSize/10, i, false)) == nil {
						return batchSize, nil
					}
					err = a.Close() // the leader has lost its office: Kafka's threads may have got no processor for long
					a = nil
					time.Sleep(10 * time.Millisecond)
					return 0, err
				}
			})
		}
		beside(b, fmt.Sprintf("throughput-of-%d-MB/s", writers), rate[0], rate[1])
	}
}

const batchSize = 50 << 10

// pump has writers at work for a while, and returns MB/s.
func pump(b *testing.B, writers int, lasts time.Duration, writer func() func(i int) (bytes int, err error)) float64 {
	var all sync.WaitGroup
	var total atomic.Int64
	began := time.Now()
	for range writers {
		write := writer()
		all.Go(func() {
			for i := 0; time.Since(began) < lasts; i++ {
				n, err := write(i)
				if err != nil {
					b.Error(err)
					return
				}
				total.Add(int64(n))
			}
		})
	}
	all.Wait()
	return float64(total.Load()) / (1 << 20) / time.Since(began).Seconds()
}

// BenchmarkMixed_Failover: SIGKILL of the leader until another controller of Kafka has committed a record of its epoch, in a quorum of
// Kafka alone and in one of two controllers of Kafka and one of ours, in turn, with Kafka's default timeouts.
func BenchmarkMixed_Failover(b *testing.B) {
	ctx := kafkatest.Deadline(b, 30*time.Minute)
	rounds := 20
	if text := os.Getenv("UNDERSTUDY_KILLS"); text != "" {
		rounds, _ = strconv.Atoi(text)
	}
	var quorums [2]*kafka.Quorum
	for i, who := range []*cast{{ours: map[kraft.NodeID][]string{ours: nil}}, {ours: map[kraft.NodeID][]string{}}} {
		quorums[i], _ = kafkatest.Start(b, kafka.Config{Release: kafka.MustRelease("4.4.0"), Voters: kafka.Dynamic, Source: who.source(b)})
	}
	var took [2][]time.Duration
	for range rounds {
		for i, q := range quorums {
			leader := kafkaActive(ctx, b, q, i == 0, -1)
			began := time.Now()
			must(b, q.Kill(leader.Node))
			next := kafkaActive(ctx, b, q, i == 0, leader.Epoch)
			took[i] = append(took[i], next.At.Sub(began))
			must(b, q.Start(ctx, leader.Node))
			must(b, q.WaitReady(ctx))
		}
	}
	b.Logf("mixed %v, Kafka alone %v", took[0], took[1])
	beside(b, "failover-p50-ms", milli(percentile(took[0], 50)), milli(percentile(took[1], 50)))
	beside(b, "failover-p90-ms", milli(percentile(took[0], 90)), milli(percentile(took[1], 90)))
}

// kafkaActive waits until a controller of Kafka leads an epoch above, knows its high watermark, and is the leader still.
func kafkaActive(ctx context.Context, b *testing.B, q *kafka.Quorum, mixed bool, above kraft.Epoch) kafka.HighWatermark {
	b.Helper()
	for {
		leader, err := q.WaitEpochAbove(ctx, above)
		must(b, err)
		if mixed && leader.Node == ours {
			above = leader.Epoch // it hands over
			continue
		}
		var found kafka.HighWatermark
		must(b, q.Wait(ctx, "a high watermark, or a later epoch", func(truth kafka.Truth) bool {
			for _, hw := range truth.FirstHW {
				if hw.Node == leader.Node && hw.Epoch == leader.Epoch {
					found = hw
					return true
				}
			}
			return truth.LastEpoch() > leader.Epoch
		}))
		if found.Epoch == leader.Epoch {
			return found
		}
	}
}

// BenchmarkMixed_CatchUp: a node with an empty disk follows a leader with a log of 1 GB, both ours in processes of their own, beside cp of the
// same file and its fsync; with Kafka's default of 1 MiB for a Fetch, and with 8 MiB, which was the default up to 4.2.
func BenchmarkMixed_CatchUp(b *testing.B) {
	ctx := kafkatest.Deadline(b, 20*time.Minute)
	who := &cast{ours: map[kraft.NodeID][]string{1: {"--on-leadership", "stay"}, 2: nil, 3: nil}}
	q := kafkatest.New(b, kafka.Config{
		Release: kafka.MustRelease("4.4.0"), Voters: kafka.Standalone, Source: who.source(b),
		NodeProperties: map[kraft.NodeID]map[string]string{3: {"controller.quorum.fetch.max.bytes": "8388608"}},
		Properties: map[string]string{
			"metadata.max.retention.bytes": "-1", "metadata.log.max.record.bytes.between.snapshots": "9000000000", "metadata.log.max.snapshot.interval.ms": "0",
		},
	})
	d, err := who.source(b)(ctx, kafka.MustRelease("4.4.0"))
	must(b, err)
	const size = 1 << 30
	fill(ctx, b, q, size)
	must(b, q.Start(ctx, 1))
	must(b, q.WaitReady(ctx, 1))
	logs := func(id kraft.NodeID) []string {
		files, err := filepath.Glob(filepath.Join(q.Node(id).DataDir, storage.PartitionDir, "*.log"))
		must(b, err)
		return files
	}
	copyOf := func() time.Duration {
		to := b.TempDir()
		must(b, exec.Command("sync").Run())
		began := time.Now()
		must(b, exec.CommandContext(ctx, "cp", append(logs(1), to)...).Run())
		for _, f := range logs(1) {
			must(b, exec.CommandContext(ctx, "sync", filepath.Join(to, filepath.Base(f))).Run())
		}
		took := time.Since(began)
		must(b, os.RemoveAll(to))
		return took
	}
	follow := func(id kraft.NodeID) time.Duration {
		must(b, q.Wipe(id))
		must(b, exec.Command("sync").Run())
		p, took := launched(ctx, b, d, q.Node(id), func([]byte) bool {
			held := int64(0)
			for _, f := range logs(id) {
				if info, err := os.Stat(f); err == nil {
					held += info.Size()
				}
			}
			return held >= size
		})
		must(b, p.Stop(ctx))
		return took
	}
	var copied, small, large []time.Duration
	for range 5 {
		copied, small, large = append(copied, copyOf()), append(small, follow(2)), append(large, follow(3))
	}
	b.Logf("copying took %v, following by 1 MiB %v, by 8 MiB %v", copied, small, large)
	b.ReportMetric(size>>20/percentile(copied, 50).Seconds(), "cp-MB/s")
	b.ReportMetric(size>>20/percentile(small, 50).Seconds(), "follow-MB/s")
	b.ReportMetric(percentile(copied, 50).Seconds()/percentile(small, 50).Seconds(), "speed-ratio")
	b.ReportMetric(percentile(copied, 50).Seconds()/percentile(large, 50).Seconds(), "speed-of-8MiB-ratio")
}
