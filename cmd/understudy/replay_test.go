package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// recordVotes writes a recording in which a new node is asked for its vote by candidate 2 and then by candidate 3, and
// grants as told.
func recordVotes(t *testing.T, granted ...bool) (file string) {
	t.Helper()
	return recordVotesOf(t, 1, granted...)
}

func recordVotesOf(t *testing.T, node kraft.NodeID, granted ...bool) (file string) {
	t.Helper()
	base := filepath.Join(t.TempDir(), "votes")
	w, err := recordings.Create(base, recordings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	conn := &recordings.Conn{ID: 1, Node: node, Endpoint: "127.0.0.1:29511"}
	at, seq := int64(0), uint64(0)
	write := func(dir wire.Direction, frame []byte) {
		at += 1e6
		o := recordings.Observation{Kind: recordings.KindFrame, Conn: conn, Dir: dir, Seq: seq, At: wire.Stamp{Seen: at, Forwarded: at}, Frame: wire.Frame{Bytes: frame, Size: len(frame)}}
		if err := w.Write(&o); err != nil {
			t.Fatal(err)
		}
	}
	for i, grant := range granted {
		p := kmsg.NewVoteRequestTopicPartition()
		p.CandidateID, p.CandidateEpoch = int32(i+2), 3
		cluster := formatCluster
		req := &kmsg.VoteRequest{Version: 2, ClusterID: &cluster, VoterID: int32(node), Topics: []kmsg.VoteRequestTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.VoteRequestTopicPartition{p}}}}
		write(wire.Request, kmsg.NewRequestFormatter(kmsg.FormatterClientID("candidate")).AppendRequest(nil, req, int32(i))[4:])
		a := kmsg.NewVoteResponseTopicPartition()
		a.LeaderID, a.LeaderEpoch, a.VoteGranted = -1, 3, grant
		resp := &kmsg.VoteResponse{Version: 2, Topics: []kmsg.VoteResponseTopic{{Topic: wire.MetadataTopic, Partitions: []kmsg.VoteResponseTopicPartition{a}}}}
		write(wire.Response, resp.AppendTo(append(binary.BigEndian.AppendUint32(nil, uint32(i)), 0)))
		seq++
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base + "-000001.pcapng.zst"
}

// TestReplay_AnEngineVotesOnce plays recordings to our own engine: that of a correct node has no difference, that of one which
// grants twice has one.
func TestReplay_AnEngineVotesOnce(t *testing.T) {
	config, _ := formatNode(t, "controller.quorum.voters=1@127.0.0.1:29511,2@127.0.0.1:29512,3@127.0.0.1:29513", "controller.quorum.election.timeout.ms=600000")
	if code, _, stderr := runFormat(t, "-t", formatCluster, "-c", config); code != exitFine {
		t.Fatal(stderr)
	}
	for _, tc := range []struct {
		name    string
		granted []bool
		release string
		code    int
		says    string
	}{
		{"as recorded", []bool{true, false}, "4.4.0", exitFine, "SAME: node 1, recorded as 4.4.0, live 4.4.0: 2 requests asked, 2 of 2 answers equal"},
		{"by the rules of another release", []bool{true, false}, "4.0.0", exitFine, "SAME: node 1, recorded as 4.4.0, live 4.0.0"},
		{"the recorded node votes twice", []bool{true, true}, "4.4.0", exitFinding, "answer to Vote v2, topics[0].partitions[0].voteGranted: recorded true, live false"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := command(t, "replay", recordVotes(t, tc.granted...), "--engine", tc.release, "--config", config, "--recorded-release", "4.4.0")
			if code != tc.code || !strings.Contains(stdout, tc.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s%s", code, tc.code, tc.says, stdout, stderr)
			}
		})
	}
	if code, stdout, _ := command(t, "replay", "-o", "json", recordVotes(t, true, true), "--engine", "4.4.0", "--config", config); code != exitFinding ||
		!strings.Contains(stdout, `"outcome": "DIFFERS"`) || !regexp.MustCompile(`"seconds": \d+(\.\d+)?(e-\d+)?,`).MatchString(stdout) || strings.Contains(stdout, "took") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}

// TestReplay_OfACutRecordingIsInconclusive: what is left of it is played, and that it shows no difference proves little.
func TestReplay_OfACutRecordingIsInconclusive(t *testing.T) {
	config, _ := formatNode(t, "controller.quorum.voters=1@127.0.0.1:29511,2@127.0.0.1:29512,3@127.0.0.1:29513", "controller.quorum.election.timeout.ms=600000")
	if code, _, stderr := runFormat(t, "-t", formatCluster, "-c", config); code != exitFine {
		t.Fatal(stderr)
	}
	for _, tc := range []struct {
		granted []bool
		code    int
		outcome string
	}{
		{[]bool{true, false}, exitInconclusive, "INCONCLUSIVE: "},
		{[]bool{true, true}, exitFinding, "DIFFERS: "},
	} {
		votes := recordVotes(t, tc.granted...)
		whole, err := os.ReadFile(votes)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(votes, whole[:len(whole)-3], 0o600); err != nil { // within the trailer
			t.Fatal(err)
		}
		code, stdout, stderr := command(t, "replay", votes, "--engine", "4.4.0", "--config", config, "--recorded-release", "4.4.0")
		if code != tc.code || !strings.Contains(stdout, "\n"+tc.outcome) || !strings.Contains(stdout, "left out: what the recording lacks: "+votes+": offset ") ||
			!strings.Contains(stdout, recordings.ErrCut.Error()+"; 4 frames came before it") {
			t.Errorf("exit code %d, want %d:\n%s%s", code, tc.code, stdout, stderr)
		}
	}
}

func TestReplay_SaysWhatIsWrong(t *testing.T) {
	votes, others := recordVotes(t, true), recordVotesOf(t, 3, true)
	config, _ := formatNode(t, "controller.quorum.voters=1@127.0.0.1:29511")
	for _, tc := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no target", []string{votes}, exitUsage, "against"},
		{"two targets", []string{votes, "--against", "127.0.0.1:1", "--engine", "4.4.0", "--config", config}, exitUsage, "against"},
		{"no config", []string{votes, "--engine", "4.4.0"}, exitUsage, "--engine and --config go together"},
		{"a target that is none", []string{votes, "--against", "localhost"}, exitUsage, `--against "localhost": want HOST:PORT`},
		{"a target at no port", []string{votes, "--against", "127.0.0.1:99999"}, exitUsage, `--against "127.0.0.1:99999": want HOST:PORT`},
		{"a peer at two addresses", []string{votes, "--against", "127.0.0.1:1", "--peer", "2=127.0.0.1:3", "--peer", "2=127.0.0.1:4"}, exitUsage, "--peer: node 2 is there twice"},
		{"unknown release", []string{votes, "--engine", "2.8.0", "--config", config}, exitUsage, "2.8.0"},
		{"another node's config", []string{votes, "--engine", "4.4.0", "--config", config, "--node", "7"}, exitUsage, "nothing in the recording concerns node 7: it has 1"},
		{"an unknown node", []string{votes, others, "--against", "127.0.0.1:1", "--node", "7"}, exitUsage, "--node 7: " + votes + ": nothing in the recording concerns node 7: it has 1, 3"},
		{"several nodes", []string{votes, others, "--against", "127.0.0.1:1"}, exitUsage, "--node: " + votes + ": the recording has 2 nodes (1, 3): say which of them is replayed"},
		{"a capture", []string{quorumCapture, "--against", "127.0.0.1:1"}, exitRuntime, "replay needs a recording of the proxy"},
		{"no recording", []string{"missing", "--against", "127.0.0.1:1"}, exitRuntime, "missing"},
		{"nobody there", []string{votes, "--against", "127.0.0.1:1", "--patience", "10ms"}, exitRuntime, "replay to node 1: dial tcp 127.0.0.1:1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if code, _, stderr := command(t, append([]string{"replay"}, tc.args...)...); code != tc.code || !strings.Contains(stderr, tc.says) {
				t.Errorf("exit code %d, want %d and %q: %s", code, tc.code, tc.says, stderr)
			}
		})
	}
}

func TestReplay_HelpSaysHowToRecord(t *testing.T) {
	if code, stdout, _ := command(t, "replay", "--help"); code != exitFine || !strings.Contains(stdout, "needs proxy --include-records") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}

// TestReplayProgress_IsGoneAtTheEnd: a replay may end at any step, and its report must not begin behind what was shown.
func TestReplayProgress_IsGoneAtTheEnd(t *testing.T) {
	var out bytes.Buffer
	p := &replayProgress{out: &out}
	p.at(3, 10)
	p.at(4, 10) // too soon after the one before
	p.end()
	if want := "\rstep 4 of 10 \r\033[K"; out.String() != want {
		t.Errorf("shown %q, want %q", out.String(), want)
	}
	out.Reset()
	p = &replayProgress{out: &out, last: time.Now()}
	p.at(3, 10)
	p.end()
	if p = newReplayProgress(&out); p.out != nil || out.Len() > 0 {
		t.Errorf("shown %q", out.String())
	}
}

func TestReplay_SaysWhyItsNodeEnded(t *testing.T) {
	for lost, want := range map[string]string{"": "the node ended as Kafka would: fatal", "frame 3: lost": "the node ended as Kafka would: fatal; frame 3: lost"} {
		if got := endedAsKafkaWould(errors.New("fatal"), lost); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
