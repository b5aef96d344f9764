package mixed

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

const hostileCluster = "4L6g3nShT-eMCtK--X86sw"

// lone is a node of ours in a process of its own.
type lone struct {
	*child.Process
	address string
	log     string
}

// startLone formats and starts a controller of ours; extra are lines of its property file.
func startLone(t *testing.T, format []string, extra string, flags ...string) *lone {
	t.Helper()
	ports, err := kafka.TakePorts(1)
	must(t, err)
	dir := t.TempDir()
	n := &lone{address: "127.0.0.1:" + strconv.Itoa(ports[0]), log: filepath.Join(dir, "node.log")}
	config := filepath.Join(dir, "node.properties")
	text := "process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\nlisteners=CONTROLLER://" + n.address +
		"\nlog.dirs=" + filepath.Join(dir, "data") + "\n" + extra
	if !strings.Contains(extra, "bootstrap.servers") {
		text += "controller.quorum.bootstrap.servers=" + n.address + "\n"
	}
	must(t, os.WriteFile(config, []byte(text), 0o600))
	if out, err := exec.Command(builtBinary, append([]string{"format", "-c", config, "-t", hostileCluster}, format...)...).CombinedOutput(); err != nil {
		t.Fatalf("format: %v: %s", err, out)
	}
	out, err := os.Create(n.log)
	must(t, err)
	defer func() { _ = out.Close() }()
	cmd := exec.Command(builtBinary, append([]string{"join", "-c", config, "--log-format", "kafka"}, flags...)...)
	cmd.Stdout, cmd.Stderr = out, out
	n.Process, err = child.Start(cmd)
	must(t, err)
	t.Cleanup(func() {
		_ = n.Kill()
		if t.Failed() {
			text, _ := os.ReadFile(n.log)
			t.Logf("the node's log:\n%.6000s", text)
		}
	})
	return n
}

// ask sends one request on a connection of its own. Without an answer it fails.
func (n *lone) ask(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	a, err := kafka.DialAdmin(ctx, n.address, "honest")
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }()
	return a.Request(ctx, req)
}

// leads is the epoch that the node leads.
func (n *lone) leads(ctx context.Context) (kraft.Epoch, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Version = 2
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	resp, err := n.ask(ctx, req)
	if err != nil {
		return 0, err
	}
	p := resp.(*kmsg.DescribeQuorumResponse).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.LeaderID != 1 {
		return 0, fmt.Errorf("described as %+v", p)
	}
	return kraft.Epoch(p.LeaderEpoch), nil
}

func (n *lone) waitLeads(ctx context.Context, t *testing.T) kraft.Epoch {
	t.Helper()
	for {
		epoch, err := n.leads(ctx)
		if err == nil {
			return epoch
		}
		if ctx.Err() != nil || n.Ended() {
			t.Fatalf("the node does not lead: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (n *lone) rssMB(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.Pid()))
	must(t, err)
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	kb, _ := strconv.Atoi(string(m[1]))
	return kb / 1024
}

func (n *lone) endsInOrder(ctx context.Context, t *testing.T) {
	t.Helper()
	if err := n.Stop(ctx); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(n.log)
	must(t, err)
	if bytes.Contains(text, []byte("panic")) || bytes.Contains(text, []byte("goroutine ")) {
		t.Error("the node has panicked")
	}
}

func frame(payload ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

func encode(req kmsg.Request, version int16) []byte {
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("raft-client-9")).AppendRequest(nil, req, 7)
}

// topic is the metadata partition of a request that names it.
func begin(epoch kraft.Epoch, leader int32, endpoints ...kmsg.BeginQuorumEpochRequestLeaderEndpoint) *kmsg.BeginQuorumEpochRequest {
	r := kmsg.NewPtrBeginQuorumEpochRequest()
	p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
	p.LeaderID, p.LeaderEpoch = leader, int32(epoch)
	r.Topics = []kmsg.BeginQuorumEpochRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.BeginQuorumEpochRequestTopicPartition{p}}}
	r.LeaderEndpoints = endpoints
	return r
}

func end(epoch kraft.Epoch, leader int32) *kmsg.EndQuorumEpochRequest {
	r := kmsg.NewPtrEndQuorumEpochRequest()
	p := kmsg.NewEndQuorumEpochRequestTopicPartition()
	p.LeaderID, p.LeaderEpoch = leader, int32(epoch)
	r.Topics = []kmsg.EndQuorumEpochRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.EndQuorumEpochRequestTopicPartition{p}}}
	return r
}

func vote(epoch kraft.Epoch, candidate int32, lastOffset int64, cluster *string) *kmsg.VoteRequest {
	r := kmsg.NewPtrVoteRequest()
	r.ClusterID = cluster
	p := kmsg.NewVoteRequestTopicPartition()
	p.CandidateEpoch, p.CandidateID, p.LastOffsetEpoch, p.LastOffset = int32(epoch), candidate, int32(epoch), lastOffset
	r.Topics = []kmsg.VoteRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.VoteRequestTopicPartition{p}}}
	return r
}

func fetch(epoch kraft.Epoch, replica int32, offset int64, cluster *string) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.ClusterID, r.ReplicaState.ID, r.MaxWaitMillis = cluster, replica, 100
	topic := kmsg.NewFetchRequestTopic()
	topic.TopicID[15] = 1
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.FetchOffset = int32(epoch), offset
	topic.Partitions = []kmsg.FetchRequestTopicPartition{p}
	r.Topics = []kmsg.FetchRequestTopic{topic}
	return r
}

func fetchSnapshot(replica int32, position int64, topics bool) *kmsg.FetchSnapshotRequest {
	r := kmsg.NewPtrFetchSnapshotRequest()
	r.ReplicaID = replica
	if topics {
		p := kmsg.NewFetchSnapshotRequestTopicPartition()
		p.Position = position
		r.Topics = []kmsg.FetchSnapshotRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.FetchSnapshotRequestTopicPartition{p}}}
	}
	return r
}

// hostile are what a peer may send to a node that knows a leader of the epoch.
func hostile(epoch kraft.Epoch, own int32) map[string][]byte {
	other := "another-cluster"
	update := kmsg.NewPtrUpdateRaftVoterRequest()
	update.VoterID, update.CurrentLeaderEpoch = own, int32(epoch)
	all := map[string][]byte{
		"garbage":               bytes.Repeat([]byte{0xa5}, 4096),
		"frame of garbage":      frame(bytes.Repeat([]byte{0xa5}, 4096)...),
		"huge length":           {0x7f, 0xff, 0xff, 0xff, 0, 1},
		"negative length":       {0xff, 0xff, 0xff, 0xff, 0, 1},
		"empty frame":           frame(),
		"half a header":         frame(0, 1, 0, 17),
		"an HTTP request":       []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"a TLS greeting":        {0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3},
		"unknown key":           frame(0x7f, 0xff, 0, 0, 0, 0, 0, 1, 0xff, 0xff),
		"unknown version":       frame(0, 52, 0, 99, 0, 0, 0, 1, 0xff, 0xff, 0),
		"ApiVersions of v99":    frame(0, 18, 0, 99, 0, 0, 0, 1, 0xff, 0xff, 0),
		"array of 2^31 topics":  frame(0, 1, 0, 12, 0, 0, 0, 1, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f),
		"another cluster votes": encode(vote(epoch+1, 9, 1<<40, &other), 1),
		"another cluster":       encode(fetch(epoch, 9, 0, &other), 17),
		"P2 Begin":              encode(begin(epoch, 99), 1),
		"P2 End":                encode(end(epoch, 99), 1),
		"P3 Begin":              encode(begin(epoch+1, 99), 1),
		"P4 Begin":              encode(begin(epoch+1, own), 1),
		"P4 End":                encode(end(epoch+1, own), 1),
		"own vote":              encode(vote(epoch+1, own, 1<<40, nil), 1),
		"P7 FetchSnapshot":      encode(fetchSnapshot(9, 0, false), 1),
		"own FetchSnapshot":     encode(fetchSnapshot(own, 0, true), 1),
		"far FetchSnapshot":     encode(fetchSnapshot(9, 1<<40, true), 1),
		"below FetchSnapshot":   encode(fetchSnapshot(9, -1, true), 1),
		"own Fetch":             encode(fetch(epoch, own, 0, nil), 17),
		"Fetch far ahead":       encode(fetch(epoch, 9, 1<<60, nil), 17),
		"Fetch from below":      encode(fetch(epoch, 9, -5, nil), 17),
		"own UpdateRaftVoter":   encode(update, 0),
		"Envelope of garbage":   encode(&kmsg.EnvelopeRequest{RequestData: []byte{1, 2, 3}}, 0),
	}
	for key := int16(0); key <= 94; key++ { // each request, cut off within its body
		if req := kmsg.RequestForKey(key); req != nil && wire.Decodable(key, req.MaxVersion()) {
			whole := encode(req, req.MaxVersion())[4:]
			all[fmt.Sprintf("cut off %s", wire.Name(key))] = frame(whole[:len(whole)-1]...)
		}
	}
	return all
}

// TestKafka_HostilePeersOfALeaderAreAnsweredOrDropped: whatever arrives, Kafka's poison for Kafka included, the node goes on leading its epoch.
func TestKafka_HostilePeersOfALeaderAreAnsweredOrDropped(t *testing.T) {
	kafkatest.NeedKafka(t)
	ctx := kafkatest.Deadline(t, 3*time.Minute)
	n := startLone(t, []string{"--standalone"}, "")
	epoch := n.waitLeads(ctx, t)
	for name, sent := range hostile(epoch, 1) {
		strike(t, n.address, name, sent)
		if now, err := n.leads(ctx); err != nil || now < epoch {
			t.Errorf("after %s: epoch %d, %v", name, now, err)
		} else if now != epoch {
			t.Logf("after %s it leads epoch %d", name, now)
			epoch = now
		}
		if n.Ended() {
			t.Fatalf("the node has ended after %s", name)
		}
	}
	n.flood(ctx, t)
	t.Logf("at most %d MB of memory", n.rssMB(t))
	if mb := n.rssMB(t); mb > 256 {
		t.Errorf("the node took %d MB", mb)
	}
	n.endsInOrder(ctx, t)
}

// strike sends bytes on a connection of its own. Whoever answers them does so under their correlation id, and whole.
func strike(t *testing.T, address, name string, sent []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	must(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write(sent)
	must(t, err)
	_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	head := make([]byte, 8)
	got, err := io.ReadFull(conn, head)
	switch {
	case err == nil && len(sent) > 12 && !bytes.Equal(head[4:], sent[8:12]):
		t.Errorf("%s: answered with another correlation id: % x", name, head)
	case err != nil && got > 0:
		t.Errorf("%s: a part of an answer: % x", name, head[:got])
	}
}

// flood has peers that ask and never read, and peers that send a frame byte by byte.
func (n *lone) flood(ctx context.Context, t *testing.T) {
	t.Helper()
	request := encode(kmsg.NewPtrApiVersionsRequest(), 4)
	many := bytes.Repeat(request, 2000)
	for i := range 50 {
		conn, err := net.Dial("tcp", n.address)
		must(t, err)
		defer func() { _ = conn.Close() }()
		_ = conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		if i%2 == 0 {
			for err == nil {
				_, err = conn.Write(many)
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
				t.Error(err)
			}
			continue
		}
		_, _ = conn.Write([]byte{0, 0xf, 0xff, 0xff, 0}) // a megabyte that never comes
	}
	began := time.Now()
	for range 20 {
		if _, err := n.leads(ctx); err != nil {
			t.Fatalf("beside slow peers: %v", err)
		}
	}
	t.Logf("beside slow peers an honest request takes %v", time.Since(began)/20)
}
