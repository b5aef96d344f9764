package proxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// voteRequest is a Vote v2 frame with its size.
func voteRequest(correlation int32, client string) []byte {
	req := kmsg.NewPtrVoteRequest()
	req.SetVersion(2)
	p := kmsg.NewVoteRequestTopicPartition()
	p.CandidateID, p.CandidateEpoch = 3, 7
	topic := kmsg.NewVoteRequestTopic()
	topic.Topic, topic.Partitions = "__cluster_metadata", append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(client)).AppendRequest(nil, req, correlation)
}

// voteResponse is the answer, with its size.
func voteResponse(correlation int32, granted bool) []byte {
	resp := kmsg.NewPtrVoteResponse()
	resp.SetVersion(2)
	p := kmsg.NewVoteResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch, p.VoteGranted = -1, 7, granted
	topic := kmsg.NewVoteResponseTopic()
	topic.Topic, topic.Partitions = "__cluster_metadata", append(topic.Partitions, p)
	resp.Topics = append(resp.Topics, topic)
	b := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(correlation))
	b = resp.AppendTo(append(b, 0))
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// voter answers each Vote with a refusal, and counts the requests that reach it.
func voter(t *testing.T) (*server, *atomic.Int64) {
	up := newServer(t)
	reached := new(atomic.Int64)
	up.serve(func(conn net.Conn) {
		for {
			frame, err := nextFrame(conn)
			if err != nil {
				return
			}
			reached.Add(1)
			if _, err := conn.Write(voteResponse(int32(binary.BigEndian.Uint32(frame[4:])), false)); err != nil {
				return
			}
		}
	})
	return up, reached
}

// faults returns the frames that a rule touched.
func (m *memory) faults() (list []recordings.Observation) {
	for _, o := range m.kinds(recordings.KindFrame) {
		if o.Fault != nil {
			list = append(list, o)
		}
	}
	return list
}

func TestFault_DropTakesTheNthRequestOnly(t *testing.T) {
	const text = "drop Vote from 3 to 1 nth 2"
	up, reached := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, text)} })
	client := p.dial(1)
	for id := int32(1); id <= 3; id++ {
		send(t, client, voteRequest(id, "raft-client-3"))
		if id == 2 {
			continue
		}
		if got := readFrame(t, client); int32(binary.BigEndian.Uint32(got)) != id {
			t.Fatalf("answer %x to request %d", got, id)
		}
	}
	p.end()
	if n := reached.Load(); n != 2 {
		t.Errorf("%d requests reach the upstream, want 2", n)
	}
	faults := p.sink.faults()
	if len(faults) != 1 || faults[0].Fault.Delivered || faults[0].Fault.Rule != text || faults[0].Dir != wire.Request ||
		!bytes.Equal(faults[0].Fault.Sent, voteRequest(2, "raft-client-3")[4:]) || len(faults[0].Frame.Bytes) != 0 || faults[0].Seq != 1 {
		t.Errorf("recorded: %+v", faults)
	}
	if s := p.Stats(); s.Faults != 1 || s.FramesRequest != 2 {
		t.Errorf("stats %+v", s)
	}
}

func TestFault_SparesEveryoneElse(t *testing.T) {
	up, _ := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) {
		c.Faults = []*Rule{mustRule(t, "drop Vote from 3 to 1"), mustRule(t, "cut Fetch"), mustRule(t, "drop Vote response from 1 to 4")}
	})
	for _, id := range []string{"raft-client-2", "2", "admin", "raft-client-33"} {
		client := p.dial(1)
		for i := range int32(3) {
			send(t, client, voteRequest(i, id))
			readFrame(t, client)
		}
	}
	p.end()
	if f := p.sink.faults(); len(f) > 0 {
		t.Errorf("faults %+v", f)
	}
}

func TestFault_MutateSetsTheFieldAndNothingElse(t *testing.T) {
	up, _ := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) {
		c.Faults = []*Rule{mustRule(t, "mutate Vote response field VoteGranted=true from 1 to 3 nth 1")}
	})
	client := p.dial(1)
	send(t, client, voteRequest(1, "raft-client-3"))
	if got := readFrame(t, client); !bytes.Equal(got, voteResponse(1, true)[4:]) {
		t.Errorf("the client gets % x", got)
	}
	send(t, client, voteRequest(2, "raft-client-3"))
	if got := readFrame(t, client); !bytes.Equal(got, voteResponse(2, false)[4:]) {
		t.Errorf("the second answer is % x", got)
	}
	p.end()
	faults := p.sink.faults()
	if len(faults) != 1 || !faults[0].Fault.Delivered || !bytes.Equal(faults[0].Fault.Sent, voteResponse(1, false)[4:]) ||
		!bytes.Equal(faults[0].Frame.Bytes, voteResponse(1, true)[4:]) || faults[0].Dir != wire.Response {
		t.Errorf("recorded: %+v", faults)
	}
}

func TestFault_MutateThatChangesNothingIsNoFault(t *testing.T) {
	up, _ := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) {
		c.Faults = []*Rule{mustRule(t, "mutate Vote response field VoteGranted=false")}
	})
	client := p.dial(1)
	send(t, client, voteRequest(1, "x"))
	readFrame(t, client)
	// A body that cannot be decoded passes as it is.
	odd := request(52, 2, 5, "x", "\x00??")
	send(t, client, odd)
	readFrame(t, client)
	p.end()
	if f := p.sink.faults(); len(f) > 0 {
		t.Errorf("faults %+v", f)
	}
	frames := p.sink.kinds(recordings.KindFrame)
	if len(frames) != 4 || !bytes.Equal(frames[2].Frame.Bytes, odd[4:]) {
		t.Errorf("frames %+v", frames)
	}
}

func TestFault_DelayHoldsTheFrameAndWhatFollowsIt(t *testing.T) {
	const delay = 150 * time.Millisecond
	up := newServer(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "delay 150ms Vote nth 2")} })
	client := p.dial(1)
	server := up.accept()
	begin := time.Now()
	stream := append(append(voteRequest(1, "n"), voteRequest(2, "n")...), voteRequest(3, "n")...)
	send(t, client, stream)
	_ = client.CloseWrite()
	readFrame(t, server)
	first := time.Since(begin)
	readFrame(t, server)
	second := time.Since(begin)
	readFrame(t, server)
	if first >= delay || second < delay {
		t.Errorf("the first frame arrives after %s, the second after %s", first, second)
	}
	if rest, err := io.ReadAll(server); err != nil || len(rest) > 0 {
		t.Errorf("behind the last frame: %d bytes, %v", len(rest), err)
	}
	_ = server.Close()
	p.end()
	faults := p.sink.faults()
	if len(faults) != 1 || !faults[0].Fault.Delivered || faults[0].Fault.Sent != nil || faults[0].Seq != 1 ||
		faults[0].At.Forwarded-faults[0].At.Seen < int64(delay) {
		t.Errorf("recorded: %+v", faults)
	}
	if got := p.sink.stream(wire.Request); !bytes.Equal(got, stream) {
		t.Errorf("%d bytes recorded of %d, or others", len(got), len(stream))
	}
}

func TestFault_CutClosesInsteadOfPassingOn(t *testing.T) {
	up, reached := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "cut Vote response from 1")} })
	client := p.dial(1)
	send(t, client, voteRequest(1, "raft-client-3"))
	if got, err := io.ReadAll(client); err != nil || len(got) > 0 {
		t.Errorf("the client reads %d bytes, %v", len(got), err)
	}
	p.end()
	if reached.Load() != 1 {
		t.Error("the request did not reach the upstream")
	}
	faults := p.sink.faults()
	if len(faults) != 1 || faults[0].Fault.Delivered || !bytes.Equal(faults[0].Fault.Sent, voteResponse(1, false)[4:]) {
		t.Errorf("recorded: %+v", faults)
	}
	if c := p.sink.kinds(recordings.KindClose); len(c) != 1 {
		t.Errorf("closes %+v", c)
	}
}

// TestFault_GatedBytesPassUnchanged sends random streams through connections that are gated by rules that take nothing:
// the gate must be as transparent as the plain relay, for frames and for noise, in any chunking.
func TestFault_GatedBytesPassUnchanged(t *testing.T) {
	rng := seeded(t)
	up := newServer(t)
	p := startProxy(t, up.addr(), func(c *Config) {
		c.Faults = []*Rule{mustRule(t, "drop UpdateRaftVoter from 77 nth 1"), mustRule(t, "cut any nth 4000000000")}
	})
	for i := range 12 {
		stream := framesOf(rng, 200_000)
		if i%3 == 2 {
			stream = append(voteRequest(1, "raft-client-77"), noise(rng, 50_000)...)
		}
		client := p.dial(1)
		server := up.accept()
		go func() {
			for _, piece := range chunks(rng2(i), stream, 60_000) {
				_, _ = client.Write(piece)
			}
			_ = client.CloseWrite()
		}()
		if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, stream) {
			t.Fatalf("stream %d: %d bytes arrive of %d, or others: %v", i, len(got), len(stream), err)
		}
		_ = server.Close()
	}
}

// TestFault_LargeFramesPassTheGateInPieces: memory is bounded, and what is too large is not judged.
func TestFault_LargeFramesPassTheGateInPieces(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "drop Produce")} })
	const limit = 1 << 20
	p.loop.post(func() { p.loop.gateLimit = limit })
	client := p.dial(1)
	server := up.accept()
	size := limit + 10
	head := binary.BigEndian.AppendUint32(nil, uint32(size))
	go func() {
		_, _ = client.Write(head)
		zeros := make([]byte, 100_000)
		for left := size; left > 0; left -= min(left, len(zeros)) {
			if _, err := client.Write(zeros[:min(left, len(zeros))]); err != nil {
				return
			}
		}
		_, _ = client.Write(request(0, 3, 9, "x", "small enough to be dropped"))
		_, _ = client.Write(request(1, 3, 10, "x", "a Fetch"))
		_ = client.CloseWrite()
	}()
	n, err := io.CopyN(io.Discard, server, int64(4+size))
	if err != nil {
		t.Fatalf("after %d bytes: %v", n, err)
	}
	if rest, err := io.ReadAll(server); err != nil || !bytes.Equal(rest, request(1, 3, 10, "x", "a Fetch")) {
		t.Errorf("behind the large frame: %q, %v", rest, err)
	}
}

// fetchFrame is a Fetch v17 of a follower, with its size.
func fetchFrame(t testing.TB) []byte {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(17)
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch = 5, 100, 4
	topic := kmsg.NewFetchRequestTopic()
	topic.TopicID[15] = 1
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("raft-client-2")).AppendRequest(nil, req, 8)
}

// fetchAnswer is the answer to it without records, with its size.
func fetchAnswer() []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(17)
	p := kmsg.NewFetchResponseTopicPartition()
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = 100, 100, 0
	topic := kmsg.NewFetchResponseTopic()
	topic.TopicID[15] = 1
	topic.Partitions = append(topic.Partitions, p)
	resp.Topics = append(resp.Topics, topic)
	b := binary.BigEndian.AppendUint32(make([]byte, 4), 8)
	b = resp.AppendTo(append(b, 0))
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
