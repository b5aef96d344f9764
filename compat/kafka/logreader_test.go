package kafka

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// readCapture reads the excerpts of the node logs of a captured quorum.
func readCapture(t *testing.T, dir string) Truth {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "node-*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs in %s: %v", dir, err)
	}
	var logs []Truth
	for _, file := range files {
		var id kraft.NodeID
		if _, err := fmt.Sscanf(filepath.Base(file), "node-%d.log", &id); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		log, err := ReadLog(f, id)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, log)
	}
	return Merge(logs...)
}

// capturedTruth is what another program read out of the same logs.
type capturedTruth struct {
	Leaders map[kraft.Epoch]struct {
		Leader kraft.NodeID
		T      int64
	} `json:"leaders_by_epoch"`
	Transitions []struct {
		T      int64
		Node   kraft.NodeID
		Role   Role
		Epoch  kraft.Epoch
		Leader *kraft.NodeID
	}
	FirstHW []struct {
		T     int64
		Node  kraft.NodeID
		Epoch kraft.Epoch
		HW    kraft.Offset
	} `json:"first_hw"`
}

func TestReadLog_CapturesGiveTheTruthThatStandsBesideThem(t *testing.T) {
	for _, dir := range []string{"440-dynamic", "412-static", "392-static"} {
		t.Run(dir, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("testdata", dir, "truth.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want capturedTruth
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			got := readCapture(t, dir)
			if got.UnparsedLines != 0 || got.LinesRead == 0 {
				t.Errorf("%d lines read, %d not understood", got.LinesRead, got.UnparsedLines)
			}
			var gotLines, wantLines []string
			for _, x := range got.Transitions {
				gotLines = append(gotLines, fmt.Sprintf("%d node %s %s epoch %d leader %s", x.At.UnixMilli(), x.Node, x.Role, x.Epoch, x.Leader))
			}
			for _, x := range got.FirstHW {
				gotLines = append(gotLines, fmt.Sprintf("%d node %s epoch %d hw %d", x.At.UnixMilli(), x.Node, x.Epoch, x.Offset))
			}
			for _, x := range got.Leaders() {
				gotLines = append(gotLines, fmt.Sprintf("leader of %d: %s at %d", x.Epoch, x.Node, x.At.UnixMilli()))
			}
			for _, x := range want.Transitions {
				leader := kraft.NoNode
				if x.Leader != nil {
					leader = *x.Leader
				}
				wantLines = append(wantLines, fmt.Sprintf("%d node %s %s epoch %d leader %s", x.T, x.Node, x.Role, x.Epoch, leader))
			}
			for _, x := range want.FirstHW {
				wantLines = append(wantLines, fmt.Sprintf("%d node %s epoch %d hw %d", x.T, x.Node, x.Epoch, x.HW))
			}
			for _, epoch := range slices.Sorted(maps.Keys(want.Leaders)) {
				x := want.Leaders[epoch]
				wantLines = append(wantLines, fmt.Sprintf("leader of %d: %s at %d", epoch, x.Leader, x.T))
			}
			slices.Sort(gotLines)
			slices.Sort(wantLines)
			if !slices.Equal(gotLines, wantLines) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(gotLines, "\n"), strings.Join(wantLines, "\n"))
			}
		})
	}
}

func TestReadLog_VotesHaveCandidateEpochAndOutcome(t *testing.T) {
	got := readCapture(t, "440-dynamic")
	var texts []string
	for _, v := range got.Votes {
		_, text, _ := strings.Cut(v.String(), " ")
		texts = append(texts, text)
	}
	want := []string{
		"node 2 grants the pre-vote of 1 in epoch 0",
		"node 2 grants the vote of 1 in epoch 1",
		"node 3 grants the vote of 1 in epoch 1",
		"node 2 rejects the vote of 3 in epoch 2",
		"node 3 rejects the vote of 2 in epoch 2",
	}
	for _, w := range want {
		if !slices.Contains(texts, w) {
			t.Errorf("no %q in\n%s", w, strings.Join(texts, "\n"))
		}
	}
	for _, v := range got.Votes {
		if v.Candidate.DirectoryID.IsZero() || v.VoterDirectory.IsZero() {
			t.Errorf("%s: a dynamic quorum's vote without directory ids: %+v", v, v)
		}
	}
}

func TestReadLog_TraceHasEachMessageOnce(t *testing.T) {
	got := readCapture(t, "412-static")
	seen := map[string]bool{}
	for _, m := range got.Messages {
		seen[string(m.Kind)+" "+m.Name] = true
		if !strings.HasPrefix(m.Data, m.Name+"Re") || !strings.HasSuffix(m.Data, ")") {
			t.Errorf("data of %s is %q", m.Name, m.Data)
		}
		outgoing := m.Kind == SentRequest || m.Kind == ReceivedResponse
		if outgoing != (m.Peer != "") {
			t.Errorf("%s %s: peer %q", m.Kind, m.Name, m.Peer)
		}
		if (m.Kind == ReceivedRequest || m.Kind == SentResponse) != (m.Version >= 0) {
			t.Errorf("%s %s: version %d", m.Kind, m.Name, m.Version)
		}
	}
	for _, want := range []string{"sent request Vote", "received request Fetch", "sent response Vote", "received response BeginQuorumEpoch"} {
		if !seen[want] {
			t.Errorf("no %s among %v", want, slices.Sorted(maps.Keys(seen)))
		}
	}
}

func TestLogReader_ReadyNeedsALeaderAndACaughtUpLoader(t *testing.T) {
	r := logReader{node: 1}
	steps := []struct {
		line               string
		controller, broker bool
	}{
		{"1796015598000 INFO [KafkaRaftServer nodeId=1] Kafka Server started (KafkaRaftServer)", false, false},
		{"1796015598001 INFO [RaftManager id=1] Completed transition to FollowerState(fetchTimeoutMs=2000, epoch=1, leader=2, voters=[1, 2]) from UnattachedState(epoch=1) (QuorumState)", false, false},
		{"1796015598002 INFO [MetadataLoader id=1] maybePublishMetadata(LOG_DELTA): The loader finished catching up to the current high water mark of 12 (MetadataLoader)", true, true},
		{"1796015598003 INFO [RaftManager id=1] Completed transition to UnattachedState(epoch=2, leaderId=OptionalInt.empty) from FollowerState(epoch=1) (QuorumState)", false, false},
	}
	for _, s := range steps {
		r.feed(s.line)
		if r.ready(false) != s.controller || r.ready(true) != s.broker {
			t.Errorf("after %q: ready as controller %t, as broker %t", s.line, r.ready(false), r.ready(true))
		}
	}
	r.newRun()
	r.feed("1796015598004 INFO [RaftManager id=1] Completed transition to FollowerState(epoch=2, leader=2) from null (QuorumState)")
	if r.ready(false) {
		t.Error("ready by what the process before had loaded")
	}
}

func TestLogReader_SurvivesAnyCutOfTheLog(t *testing.T) {
	text, err := os.ReadFile("testdata/440-dynamic/node-2.log")
	if err != nil {
		t.Fatal(err)
	}
	whole := logReader{node: 2}
	for l := range strings.Lines(string(text)) {
		whole.feed(l)
	}
	for _, size := range []int{1, 7, 1000, 65536} {
		cut := logReader{node: 2}
		var held []byte
		for chunk := range slices.Chunk(text, size) {
			held = cut.feedChunk(held, chunk)
		}
		if len(held) != 0 || len(cut.truth.Transitions) != len(whole.truth.Transitions) || len(cut.truth.Messages) != len(whole.truth.Messages) {
			t.Errorf("in chunks of %d: %d transitions and %d messages, whole: %d and %d", size,
				len(cut.truth.Transitions), len(cut.truth.Messages), len(whole.truth.Transitions), len(whole.truth.Messages))
		}
	}
}

func TestLogReader_CountsFactsThatItCannotRead(t *testing.T) {
	for _, l := range []string{
		"1796015598001 INFO [RaftManager id=1] Completed transition to Emperor(epoch=1) from null (QuorumState)",
		"1796015598001 INFO [RaftManager id=1] Completed transition to FollowerState(leader=2) from null (QuorumState)",
		"1796015598001 INFO [RaftManager id=1] Vote request VoteRequestData(clusterId='x') with epoch 0 is granted (KafkaRaftClient)",
		"1796015598001 INFO [RaftManager id=1] Vote request VoteRequestData(replicaEpoch=0, replicaId=2, lastOffsetEpoch=0, lastOffset=0) with epoch 0 is pending (KafkaRaftClient)",
		"1796015598001 TRACE [RaftManager id=1] Sent response Something(else) (KafkaRaftClient)",
	} {
		r := logReader{node: 1}
		r.feed(l)
		if r.truth.UnparsedLines != 1 || len(r.truth.Transitions)+len(r.truth.Votes)+len(r.truth.Messages) != 0 {
			t.Errorf("%s: taken for understood: %+v", l, r.truth)
		}
	}
}

func TestLogReader_FatalFaultsAreKept(t *testing.T) {
	r := logReader{node: 1}
	r.feed("1796015598001 ERROR Encountered fatal fault: Error starting LogManager (ProcessTerminatingFaultHandler)")
	r.feed("java.lang.OutOfMemoryError: Java heap space")
	if len(r.truth.Fatals) != 1 || r.truth.LinesRead != 1 {
		t.Errorf("%+v", r.truth)
	}
}
