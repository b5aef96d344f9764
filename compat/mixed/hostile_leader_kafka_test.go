package mixed

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// answers are what a broken bootstrap server says to a Fetch, one after the other. A controller of Kafka would exit on those that cannot be
// read (its NetworkClient throws on the raft thread); nothing requires that.
var answers = []struct {
	name  string
	bytes func(correlation []byte) []byte // nil: nothing is said
}{
	{"garbage", func(c []byte) []byte { return frame(append(c, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)...) }},
	{"no body", func(c []byte) []byte { return frame(c...) }},
	{"another correlation id", func([]byte) []byte { return frame(0x7f, 0xff, 0xff, 0x01, 0, 0, 0, 0, 0, 0, 0) }},
	{"huge length", func(c []byte) []byte { return append([]byte{0x7f, 0xff, 0xff, 0xff}, c...) }},
	{"negative length", func(c []byte) []byte { return append([]byte{0xff, 0xff, 0xff, 0xff}, c...) }},
	{"half a frame", func(c []byte) []byte { return append([]byte{0, 0, 1, 0}, c...) }},
	{"two answers", func(c []byte) []byte { f := failedFetch(c, kraft.InconsistentClusterID); return append(f, f...) }},
	{"another cluster", func(c []byte) []byte { return failedFetch(c, kraft.InconsistentClusterID) }},
	{"not known", func(c []byte) []byte { return failedFetch(c, -1) }},
	{"not authorized", func(c []byte) []byte { return failedFetch(c, kraft.ClusterAuthorizationFailed) }},
	{"an invalid request", func(c []byte) []byte { return partitionFetch(c, kraft.InvalidRequest, -1, 0) }},
	{"a leader without an endpoint", func(c []byte) []byte { return partitionFetch(c, kraft.NotLeaderOrFollower, 5, 3) }},
	{"records of a leader that nobody knows", func(c []byte) []byte { return partitionFetch(c, kraft.None, 5, 3) }},
	{"nothing", nil},
}

func failedFetch(correlation []byte, code kraft.ErrorCode) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.ErrorCode = 17, int16(code)
	return frame(resp.AppendTo(append(correlation, 0))...)
}

func partitionFetch(correlation []byte, code kraft.ErrorCode, leader, epoch int32) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 17
	topic := kmsg.NewFetchResponseTopic()
	topic.TopicID[15] = 1
	p := kmsg.NewFetchResponseTopicPartition()
	p.ErrorCode, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int16(code), leader, epoch
	topic.Partitions = []kmsg.FetchResponseTopicPartition{p}
	resp.Topics = []kmsg.FetchResponseTopic{topic}
	return frame(resp.AppendTo(append(correlation, 0))...)
}

// brokenServer answers each Fetch in the next of the ways.
type brokenServer struct {
	net.Listener
	mu    sync.Mutex
	asked int
	wg    sync.WaitGroup
}

func (s *brokenServer) run(ctx context.Context) {
	for {
		conn, err := s.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() {
			defer func() { _ = conn.Close() }()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			for s.serve(conn) == nil {
			}
		})
	}
}

func (s *brokenServer) serve(conn net.Conn) error {
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	request := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(conn, request); err != nil {
		return err
	}
	h, _, err := wire.ParseRequestHeader(request)
	if err != nil {
		return err
	}
	correlation := append([]byte{}, request[4:8]...)
	if h.Key == wire.KeyAPIVersions {
		return s.versions(conn, h, correlation)
	}
	s.mu.Lock()
	a := answers[s.asked%len(answers)]
	s.asked++
	s.mu.Unlock()
	if a.bytes != nil {
		_, err = conn.Write(a.bytes(correlation))
	}
	return err
}

func (s *brokenServer) versions(conn net.Conn, h wire.RequestHeader, correlation []byte) error {
	resp := kmsg.NewPtrApiVersionsResponse()
	if resp.Version = h.Version; h.Version > 4 {
		resp.Version, resp.ErrorCode = 0, int16(kraft.UnsupportedVersion)
	}
	profile, err := compat.ByRelease("4.0.0")
	if err != nil {
		return err
	}
	for _, r := range profile.APIs {
		one := kmsg.NewApiVersionsResponseApiKey()
		one.ApiKey, one.MinVersion, one.MaxVersion = int16(r.API), r.Min, r.Max
		resp.ApiKeys = append(resp.ApiKeys, one)
	}
	_, err = conn.Write(frame(resp.AppendTo(correlation)...))
	return err
}

// TestKafka_NoAnswerOfABrokenServerEndsANode: a node looks for the leader of its quorum at a server that answers everything but that, and
// goes on looking.
func TestKafka_NoAnswerOfABrokenServerEndsANode(t *testing.T) {
	kafkatest.NeedKafka(t)
	ctx := kafkatest.Deadline(t, 5*time.Minute)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &brokenServer{Listener: tcp}
	running, stop := context.WithCancel(ctx)
	s.wg.Go(func() { s.run(running) })
	defer func() {
		stop()
		_ = tcp.Close()
		s.wg.Wait()
	}()
	n := startLone(t, []string{"--no-initial-controllers"}, "controller.quorum.bootstrap.servers="+tcp.Addr().String()+
		"\ncontroller.quorum.request.timeout.ms=500\n")
	for enough := 2*len(answers) + 1; ; {
		s.mu.Lock()
		asked := s.asked
		s.mu.Unlock()
		if n.Ended() {
			t.Fatalf("the node has ended after the answer %q", answers[(asked+len(answers)-1)%len(answers)].name)
		}
		if asked >= enough {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(errors.Join(errors.New("the node asks no more"), ctx.Err()))
		}
		time.Sleep(10 * time.Millisecond)
	}
	n.endsInOrder(ctx, t)
	said, err := os.ReadFile(n.log)
	must(t, err)
	for _, reason := range []kraft.FatalReason{kraft.FatalNotAuthorized, kraft.FatalInvalidRequest, kraft.FatalUnknownEndpoints} {
		if !strings.Contains(string(said), "reason="+reason.String()) {
			t.Errorf("no answer was refused for the reason %v", reason)
		}
	}
}
