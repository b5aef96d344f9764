package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// votes sends so many requests and reads the answers' correlation ids.
func votes(t *testing.T, p *running, client string, ids ...int32) (conn io.ReadWriter, got []int32) {
	t.Helper()
	c := p.dial(1)
	for _, id := range ids {
		send(t, c, voteRequest(id, client))
		got = append(got, int32(binary.BigEndian.Uint32(readFrame(t, c))))
	}
	return c, got
}

func TestFault_DuplicateSendsARequestTwice(t *testing.T) {
	up, reached := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "duplicate Vote 3->1 nth 1")} })
	conn, got := votes(t, p, "raft-client-3", 1, 2)
	second := readFrame(t, conn.(io.Reader)) // three answers come to two requests
	p.end()
	if got[0] != 1 || got[1] != 1 || int32(binary.BigEndian.Uint32(second)) != 2 || reached.Load() != 3 {
		t.Errorf("answers to %v, then % x; %d requests reached the upstream", got, second[:4], reached.Load())
	}
	faults := p.sink.faults()
	if len(faults) != 1 || !faults[0].Fault.Delivered || faults[0].Fault.Sent == nil || len(faults[0].Fault.Sent) != 0 ||
		!bytes.Equal(faults[0].Frame.Bytes, voteRequest(1, "raft-client-3")[4:]) {
		t.Errorf("recorded: %+v", faults)
	}
}

func TestFault_DuplicateSendsAResponseTwice(t *testing.T) {
	up, _ := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "duplicate Vote response 1->3 nth 1")} })
	conn, _ := votes(t, p, "raft-client-3", 1)
	if again := readFrame(t, conn.(io.Reader)); !bytes.Equal(again, voteResponse(1, false)[4:]) {
		t.Errorf("% x", again)
	}
	p.end()
}

func TestFault_ReorderLetsAnotherFrameOvertake(t *testing.T) {
	up, _ := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "reorder 1m Vote 3->1 nth 1")} })
	held, other := p.dial(1), p.dial(1)
	send(t, held, voteRequest(1, "raft-client-3"))
	eventually(t, "the proxy gets there", func() bool { return p.Stats().Faults == 1 })
	send(t, other, voteRequest(9, "raft-client-2"))
	readFrame(t, other)
	if got := readFrame(t, held); int32(binary.BigEndian.Uint32(got)) != 1 {
		t.Errorf("% x", got)
	}
	p.end()
	var order []string
	for _, o := range p.sink.kinds(recordings.KindFrame) {
		if o.Dir == wire.Request {
			h, _, err := wire.ParseRequestHeader(o.Frame.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			order = append(order, string(h.ClientID))
		}
	}
	if len(order) != 2 || order[0] != "raft-client-2" || order[1] != "raft-client-3" {
		t.Errorf("reached the upstream in the order %v", order)
	}
}

func TestFault_ReorderGivesUpWaiting(t *testing.T) {
	up, _ := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "reorder 20ms Vote")} })
	if _, got := votes(t, p, "raft-client-3", 1, 2); got[0] != 1 || got[1] != 2 {
		t.Errorf("%v", got)
	}
	p.end()
}

func TestFault_TruncateShortensTheFrame(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "truncate 20 Vote nth 1")} })
	client := p.dial(1)
	server := up.accept()
	send(t, client, append(voteRequest(1, "n"), voteRequest(2, "n")...))
	whole := voteRequest(1, "n")[4:]
	if got := readFrame(t, server); !bytes.Equal(got, whole[:20]) {
		t.Errorf("% x", got)
	}
	if got := readFrame(t, server); !bytes.Equal(got, voteRequest(2, "n")[4:]) {
		t.Errorf("% x", got)
	}
	_ = server.Close()
	p.end()
	faults := p.sink.faults()
	if len(faults) != 1 || !bytes.Equal(faults[0].Fault.Sent, whole) || !bytes.Equal(faults[0].Frame.Bytes, whole[:20]) {
		t.Errorf("recorded: %+v", faults)
	}
}

func TestFault_CutAfterPassesTheFrameOn(t *testing.T) {
	up, reached := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "cut after Vote response 1->3")} })
	client := p.dial(1)
	send(t, client, voteRequest(1, "raft-client-3"))
	if got, err := io.ReadAll(client); err != nil || !bytes.Equal(got, voteResponse(1, false)) {
		t.Errorf("the client reads % x, %v", got, err)
	}
	p.end()
	if faults := p.sink.faults(); reached.Load() != 1 || len(faults) != 1 || !faults[0].Fault.Delivered || faults[0].Fault.Sent != nil {
		t.Errorf("recorded: %+v", faults)
	}
}

func TestFault_BlackholeSwallowsUntilItIsHealed(t *testing.T) {
	up, reached := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "blackhole Vote 3->1 nth 2")} })
	conn, _ := votes(t, p, "raft-client-3", 1)
	client := conn.(io.Writer)
	for id := int32(2); id < 5; id++ {
		send(t, client, voteRequest(id, "raft-client-3"))
	}
	eventually(t, "the proxy gets there", func() bool { return p.Stats().Faults == 3 })
	if n, err := p.RemoveFault(-1); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	send(t, client, voteRequest(5, "raft-client-3"))
	if got := readFrame(t, conn.(io.Reader)); int32(binary.BigEndian.Uint32(got)) != 5 {
		t.Errorf("% x", got)
	}
	p.end()
	if reached.Load() != 2 {
		t.Errorf("%d requests reached the upstream", reached.Load())
	}
}

func TestFault_PartitionTakesBothKindsOfFramesOfOneDirection(t *testing.T) {
	up, reached := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "partition from 1 to 3")} })
	votes(t, p, "raft-client-2", 1) // nobody else is concerned
	client := p.dial(1)
	send(t, client, voteRequest(2, "raft-client-3"))
	eventually(t, "the proxy gets there", func() bool { return p.Stats().Faults == 1 })
	p.end()
	if faults := p.sink.faults(); reached.Load() != 2 || len(faults) != 1 || faults[0].Dir != wire.Response || faults[0].Fault.Delivered {
		t.Errorf("%d requests reached the upstream; recorded: %+v", reached.Load(), faults)
	}
}

func TestFault_AnswerCarriesTheError(t *testing.T) {
	up, _ := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "answer FENCED_LEADER_EPOCH Vote 1->3")} })
	client := p.dial(1)
	send(t, client, voteRequest(1, "raft-client-3"))
	frame := readFrame(t, client)
	p.end()
	r := kmsg.NewPtrVoteResponse()
	r.Version = 2
	if err := r.ReadFrom(frame[5:]); err != nil {
		t.Fatal(err)
	}
	if part := r.Topics[0].Partitions[0]; kraft.ErrorCode(part.ErrorCode) != kraft.FencedLeaderEpoch || part.LeaderEpoch != 7 {
		t.Errorf("%+v", part)
	}
}

func TestFault_EpochChoosesFrames(t *testing.T) { // the requests state epoch 7
	for text, want := range map[string]int64{"drop Vote epoch 7": 0, "drop Vote epoch 8": 1, "drop Vote epoch 7 nth 2": 1} {
		up, reached := voter(t)
		p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, text)} })
		client := p.dial(1)
		send(t, client, voteRequest(1, "raft-client-3"))
		if want == 1 {
			readFrame(t, client)
		} else {
			eventually(t, "the proxy gets there", func() bool { return p.Stats().Faults == 1 })
		}
		p.end()
		if reached.Load() != want {
			t.Errorf("%q: %d requests reached the upstream", text, reached.Load())
		}
	}
}

func TestFault_MutateByAndFlip(t *testing.T) {
	body := func(change func(*kmsg.FetchResponseTopicPartition)) []byte {
		r := kmsg.NewPtrFetchResponse()
		r.Version = 17
		topic, part := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		part.HighWatermark, part.RecordBatches = 20, []byte{1, 2, 3}
		change(&part)
		topic.Partitions = append(topic.Partitions, part)
		r.Topics = append(r.Topics, topic)
		return r.AppendTo(nil)
	}
	for text, change := range map[string]func(*kmsg.FetchResponseTopicPartition){
		"mutate HighWatermark-=5 Fetch response": func(p *kmsg.FetchResponseTopicPartition) { p.HighWatermark = 15 },
		"mutate HighWatermark+=7 Fetch response": func(p *kmsg.FetchResponseTopicPartition) { p.HighWatermark = 27 },
		"mutate RecordBatches^=2 Fetch response": func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = []byte{1, 3, 3} },
		"mutate RecordBatches^=4 Fetch response": func(*kmsg.FetchResponseTopicPartition) {},
		"mutate Fetch response field DivergingEpoch.Epoch=3 field DivergingEpoch.EndOffset=4": func(p *kmsg.FetchResponseTopicPartition) {
			p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 3, 4
		},
	} {
		var d wire.Decoder
		got := body(func(*kmsg.FetchResponseTopicPartition) {})
		for _, f := range mustRule(t, text).Fields {
			var err error
			if got, _, err = f.apply(&d, got, 17); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		if !bytes.Equal(got, body(change)) {
			t.Errorf("%q: % x", text, got)
		}
	}
}

func TestFault_TurnsAnArrayRound(t *testing.T) {
	body := func(ids ...int32) []byte {
		r := kmsg.NewPtrEndQuorumEpochRequest()
		r.Version = 1
		topic, part := kmsg.NewEndQuorumEpochRequestTopic(), kmsg.NewEndQuorumEpochRequestTopicPartition()
		for _, id := range ids {
			c := kmsg.NewEndQuorumEpochRequestTopicPartitionPreferredCandidate()
			c.CandidateID = id
			part.PreferredCandidates = append(part.PreferredCandidates, c)
		}
		topic.Partitions = append(topic.Partitions, part)
		r.Topics = append(r.Topics, topic)
		return r.AppendTo(nil)
	}
	var d wire.Decoder
	f := mustRule(t, "mutate EndQuorumEpoch field PreferredCandidates=reversed").Fields[0]
	for want, from := range map[string][]byte{string(body(3, 2, 1)): body(1, 2, 3), string(body(1)): body(1)} {
		got, differs, err := f.apply(&d, from, 1)
		if err != nil || string(got) != want || differs == bytes.Equal(got, from) {
			t.Errorf("% x, %t, %v", got, differs, err)
		}
	}
}

// A mutation that changes nothing is no fault: the first frame that it can change is the first one that it concerns.
func TestFault_MutateCountsWhatItChanges(t *testing.T) {
	for text, want := range map[string]uint64{
		"mutate Vote response field VoteGranted=false":   0, // it is false already
		"mutate Vote response field LeaderEpoch=7 nth 1": 0,
		"mutate Vote response field LeaderEpoch=6 nth 2": 1,
		"mutate Vote response field LeaderEpoch=6":       3,
	} {
		up, _ := voter(t)
		p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, text)} })
		client := p.dial(1)
		for i := range int32(3) {
			send(t, client, voteRequest(i, "raft-client-3"))
			readFrame(t, client)
		}
		list, err := p.Faults()
		if err != nil || len(list) != 1 || list[0].Taken != want || list[0].Seen < want {
			t.Errorf("%q: %+v %v", text, list, err)
		}
		p.end()
		if n, faults := p.Stats().Faults, p.sink.faults(); n != want || len(faults) != int(want) {
			t.Errorf("%q: %d faults are counted, recorded %+v", text, n, faults)
		}
	}
}

// TestControl_RulesComeAndGo: connections that are open already are concerned, in the middle of a frame as well.
func TestControl_RulesComeAndGo(t *testing.T) {
	up, reached := voter(t)
	p := startProxy(t, up.addr(), nil)
	conn, _ := votes(t, p, "raft-client-3", 1)
	client := conn
	half := voteRequest(2, "raft-client-3")
	send(t, client, half[:9])
	eventually(t, "the proxy gets there", func() bool { return p.Stats().BytesRequest == uint64(len(half)+9) })
	rule, err := p.AddFault(mustRule(t, "drop Vote 3->1"))
	if err != nil {
		t.Fatal(err)
	}
	send(t, client, half[9:])
	readFrame(t, client) // its beginning had passed already
	send(t, client, voteRequest(3, "raft-client-3"))
	eventually(t, "the proxy gets there", func() bool { return p.Stats().Faults == 1 })
	list, err := p.Faults()
	if err != nil || len(list) != 1 || list[0].ID != rule.ID || list[0].Text != "drop Vote 3->1" || list[0].Seen != 1 || list[0].Taken != 1 {
		t.Errorf("%+v %v", list, err)
	}
	if n, err := p.RemoveFault(rule.ID + 1); n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n, err := p.RemoveFault(rule.ID); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	send(t, client, voteRequest(4, "raft-client-3"))
	readFrame(t, client)
	p.end()
	if faults := p.sink.faults(); reached.Load() != 3 || len(faults) != 1 || faults[0].Fault.Rule != "drop Vote 3->1" {
		t.Errorf("%d requests reached the upstream; recorded: %+v", reached.Load(), faults)
	}
	if _, err := p.AddFault(mustRule(t, "drop any")); !errors.Is(err, ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
}

func TestControl_RemovingADelayLetsTheFrameGo(t *testing.T) {
	up, _ := voter(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.Faults = []*Rule{mustRule(t, "delay 10m Vote nth 1")} })
	client := p.dial(1)
	begin := time.Now()
	send(t, client, voteRequest(1, "raft-client-3"))
	eventually(t, "the proxy gets there", func() bool { return p.Stats().Faults == 1 })
	if _, err := p.RemoveFault(-1); err != nil {
		t.Fatal(err)
	}
	readFrame(t, client)
	if d := time.Since(begin); d > time.Minute {
		t.Error(d)
	}
	p.end()
}
