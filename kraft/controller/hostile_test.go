package controller

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// lone is a quorum of one node.
func lone(t *testing.T, edit func(*Config)) *testNode {
	t.Helper()
	q := newQuorum(t, 1, 1, func(_ kraft.NodeID, c *Config) {
		if edit != nil {
			edit(c)
		}
	})
	q.start(1)
	q.leader(0)
	return q.nodes[1]
}

func (n *testNode) dial(t testing.TB) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", n.address.String())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

// frameOf is a request as it goes over the wire.
func frameOf(r kmsg.Request, version int16) []byte {
	r.SetVersion(version)
	return appendRequest(nil, r.Key(), version, 7, "test", r.AppendTo(nil))
}

// answerTo sends a frame and returns the body of the response; io.EOF where the connection is closed instead.
func answerTo(conn net.Conn, frame []byte, key, version int16) ([]byte, error) {
	if _, err := conn.Write(frame); err != nil {
		return nil, io.EOF
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		if _, timeout := err.(net.Error); timeout && err.(net.Error).Timeout() { //nolint:errorlint // net.Conn returns it bare
			return nil, err
		}
		return nil, io.EOF // closed, or reset because something was unread
	}
	response := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, response); err != nil {
		return nil, err
	}
	_, body, err := wire.ParseResponseHeader(response, key, version)
	return body, err
}

func TestServe_ClosesWhatItCannotAnswer(t *testing.T) {
	n := lone(t, func(c *Config) { c.Limits.RequestBytes = 1000 })
	fetch := kmsg.NewPtrFetchRequest()
	whole := frameOf(fetch, 17)
	for _, c := range []struct {
		name  string
		frame []byte
	}{
		{"a negative size", []byte{0xff, 0xff, 0xff, 0xff}},
		{"a frame over the limit", []byte{0, 0, 0x10, 0}},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"an empty frame", []byte{0, 0, 0, 0}},
		{"a header that ends early", []byte{0, 0, 0, 5, 0, 1, 0, 17, 0}},
		{"an unknown key", appendRequest(nil, 3, 9, 7, "test", nil)},
		{"a negative key", appendRequest(nil, -3, 9, 7, "test", nil)},
		{"a version that is not served", appendRequest(nil, 1, 19, 7, "test", nil)},
		{"a body that ends early", appendRequest(nil, 1, 17, 7, "test", whole[len(whole)-12:len(whole)-9])},
	} {
		t.Run(c.name, func(t *testing.T) {
			if body, err := answerTo(n.dial(t), c.frame, 1, 17); !errors.Is(err, io.EOF) {
				t.Errorf("answered %x, %v", body, err)
			}
		})
	}
}

// A frame that never ends holds its connection no longer than the limit, one that is silent between frames no longer than idle.
func TestServe_ClosesWhoStalls(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit func(*Limits)
		sent  []byte
	}{
		{"within a frame", func(l *Limits) { l.Frame = 50 * time.Millisecond }, []byte{0, 0, 0, 50, 0, 1}},
		{"within a size", func(l *Limits) { l.Frame = 50 * time.Millisecond }, []byte{0, 0}},
		{"between frames", func(l *Limits) { l.Idle = 50 * time.Millisecond }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := lone(t, func(cfg *Config) { c.limit(&cfg.Limits) })
			if _, err := answerTo(n.dial(t), c.sent, 1, 17); !errors.Is(err, io.EOF) {
				t.Errorf("got %v, want the end of the connection", err)
			}
		})
	}
}

// TestServe_ASilentConnectionMakesRoom: a crowd that says nothing keeps nobody out.
func TestServe_ASilentConnectionMakesRoom(t *testing.T) {
	n := lone(t, func(c *Config) { c.Limits.Connections = 2 })
	hello := frameOf(kmsg.NewPtrApiVersionsRequest(), 0)
	silent := []net.Conn{n.dial(t), n.dial(t)}
	for _, conn := range silent {
		_, err := answerTo(conn, hello, 18, 0)
		must(t, err)
	}
	if _, err := answerTo(n.dial(t), hello, 18, 0); err != nil {
		t.Errorf("the third connection: %v", err)
	}
	left := 0
	for _, conn := range silent {
		if _, err := answerTo(conn, hello, 18, 0); err == nil {
			left++
		}
	}
	if left != 1 {
		t.Errorf("%d of the two are left", left)
	}
	for range 20 {
		n.dial(t) // and nothing more
	}
	if _, err := answerTo(n.dial(t), hello, 18, 0); err != nil {
		t.Errorf("beside a silent crowd: %v", err)
	}
}

func TestCrowd_TheOneThatHasWaitedForLongestGoes(t *testing.T) {
	var c crowd
	var conns []net.Conn
	for range 3 {
		a, b := net.Pipe()
		defer func() { _ = b.Close() }()
		conns = append(conns, a)
		c.waits(a)
		for began := time.Now(); time.Since(began) == 0; { // the next one waits for less
		}
	}
	c.waits(conns[0])
	c.stirs(conns[2])
	for _, want := range []net.Conn{conns[1], conns[0]} {
		if !c.makeRoom() {
			t.Fatal("nobody makes room")
		}
		if err := want.SetDeadline(time.Time{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("another one was closed: %v", err)
		}
	}
	if c.makeRoom() {
		t.Error("one that is being served makes room")
	}
	_ = conns[2].Close()
}

func TestAPIVersions_AnswersAnyVersion(t *testing.T) {
	n := lone(t, nil)
	conn := n.dial(t)
	body, err := answerTo(conn, appendRequest(nil, 18, 99, 7, "test", []byte{1, 2, 3}), 18, 0)
	must(t, err)
	r := kmsg.NewPtrApiVersionsResponse()
	must(t, r.ReadFrom(body))
	if kraft.ErrorCode(r.ErrorCode) != kraft.UnsupportedVersion || len(r.ApiKeys) != 1 || r.ApiKeys[0].ApiKey != 18 || r.ApiKeys[0].MaxVersion != 5 {
		t.Errorf("v99 is answered %+v", r)
	}
	q := kmsg.NewPtrApiVersionsRequest()
	q.ClientSoftwareName, q.ClientSoftwareVersion = "test", "1"
	body, err = answerTo(conn, frameOf(q, 4), 18, 4)
	must(t, err)
	r.SetVersion(4)
	must(t, r.ReadFrom(body))
	if r.ErrorCode != 0 || len(r.SupportedFeatures) != 1 || r.SupportedFeatures[0].Name != "kraft.version" || r.SupportedFeatures[0].MaxVersion != 1 {
		t.Errorf("v4 is answered %+v", r)
	}
	q.ClientSoftwareVersion = "(devel)"
	body, err = answerTo(conn, frameOf(q, 4), 18, 4)
	must(t, err)
	must(t, r.ReadFrom(body))
	if kraft.ErrorCode(r.ErrorCode) != kraft.InvalidRequest {
		t.Errorf("a software version that Kafka refuses is answered %+v", r)
	}
}

// A request on which Kafka's process ends closes its connection, and nothing has happened.
func TestServe_RefusesWhatKafkaEndsOn(t *testing.T) {
	n := lone(t, nil)
	before := n.Status()
	sender := wire.Sender{ClusterID: testCluster}
	body, err := sender.AppendSend(nil, &kraft.SendVoteRequest{ // asks the node for a vote for itself
		Epoch: before.Epoch + 1, Candidate: n.key, Voter: n.key, LogEnd: kraft.LogEnd{LastEpoch: before.Epoch, LastOffset: 1 << 40},
	}, 2)
	must(t, err)
	if answer, err := answerTo(n.dial(t), appendRequest(nil, 52, 2, 7, "test", body), 52, 2); !errors.Is(err, io.EOF) {
		t.Errorf("answered %x, %v", answer, err)
	}
	offset, err := n.Append(t.Context(), []byte("after"))
	must(t, err)
	if s := n.Status(); s.Epoch != before.Epoch || s.Role != kraft.LeaderRole || offset < before.LogEnd {
		t.Errorf("%v, before it was %v", &s, &before)
	}
}

// A Fetch waits at the leader no longer than the node allows, whatever it asks for.
func TestServe_ParksForALimitedTime(t *testing.T) {
	n := lone(t, func(c *Config) { c.Limits.Park = 50 * time.Millisecond })
	s := n.Status()
	sender := wire.Sender{ClusterID: testCluster}
	body, err := sender.AppendSend(nil, &kraft.SendFetch{
		Replica: kraft.ReplicaKey{ID: 9, DirectoryID: kraft.DirectoryID{1}}, Epoch: s.Epoch, FetchOffset: s.LogEnd, LastFetchedEpoch: s.Epoch,
		HighWatermark: s.HighWatermark, MaxWaitMs: 1 << 30, MaxBytes: 1 << 20,
	}, 18)
	must(t, err)
	conn := n.dial(t)
	for range 3 {
		answer, err := answerTo(conn, appendRequest(nil, 1, 18, 7, "test", body), 1, 18)
		must(t, err)
		var f wire.FetchResponse
		must(t, f.Parse(18, answer))
		if f.PartitionError != kraft.None || f.HighWatermark != s.HighWatermark {
			t.Errorf("answered %+v", f)
		}
	}
}

func TestParseLeadership_KnowsItsNames(t *testing.T) {
	for l := Handover; l <= NeverCampaign; l++ {
		if got, err := ParseLeadership(l.String()); err != nil || got != l {
			t.Errorf("%v: %v, %v", l, got, err)
		}
	}
	if _, err := ParseLeadership("abdicate"); err == nil || !strings.Contains(err.Error(), "handover") {
		t.Errorf("abdicate: %v", err)
	}
}
