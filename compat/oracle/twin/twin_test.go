package twin

import (
	"encoding/base64"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

func TestDiff_ShowsOnlyWhatDiffers(t *testing.T) {
	for _, c := range []struct {
		name        string
		kafka, ours []string
		want        []string
	}{
		{"equal", []string{"a", "b"}, []string{"a", "b"}, nil},
		{"missing", []string{"a", "b"}, []string{"b"}, []string{"< a"}},
		{"more", []string{"a"}, []string{"a", "b"}, []string{"> b"}},
		{"order", []string{"a", "b"}, []string{"b", "a"}, []string{"< a", "> a"}},
	} {
		if got := diff(c.kafka, c.ours); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func reply(api, version int16, r kmsg.Response) oracle.Effect {
	r.SetVersion(version)
	return oracle.Effect{Kind: "reply", Args: []any{int64(3), int64(api), int64(version), bodyOf(r)}}
}

func bodyOf(r kmsg.Response) string { return base64.StdEncoding.EncodeToString(r.AppendTo(nil)) }

// Only the differences that the rules of normalisation name may disappear.
func TestLines_NormaliseNothingElse(t *testing.T) {
	add := func(code int16, text string) oracle.Effect {
		r := kmsg.NewPtrAddRaftVoterResponse()
		r.ErrorCode, r.ErrorMessage = code, &text
		return reply(80, 0, r)
	}
	vote := func(epoch int32) oracle.Effect {
		r := kmsg.NewPtrVoteResponse()
		r.Topics = []kmsg.VoteResponseTopic{{Topic: "t", Partitions: []kmsg.VoteResponseTopicPartition{{LeaderEpoch: epoch}}}}
		return reply(52, 1, r)
	}
	persist := func(epoch int64) oracle.Effect {
		return oracle.Effect{Kind: "persist", Args: []any{[]any{epoch, int64(-1)}}}
	}
	for _, c := range []struct {
		name  string
		a, b  []oracle.Effect
		equal bool
	}{
		{"order of replicas", []oracle.Effect{describeReply(1, 2)}, []oracle.Effect{describeReply(2, 1)}, true},
		{"other replicas", []oracle.Effect{describeReply(1, 2)}, []oracle.Effect{describeReply(1, 3)}, false},
		{"other text", []oracle.Effect{add(7, "x")}, []oracle.Effect{add(7, "y")}, true},
		{"no text", []oracle.Effect{add(7, "x")}, []oracle.Effect{add(7, "")}, false},
		{"other error", []oracle.Effect{add(7, "x")}, []oracle.Effect{add(42, "x")}, false},
		{"other epoch", []oracle.Effect{vote(1)}, []oracle.Effect{vote(2)}, false},
		{"order of effects", []oracle.Effect{persist(1), vote(1)}, []oracle.Effect{vote(1), persist(1)}, false},
		{"what the state machine above was told", []oracle.Effect{{Kind: "commit"}, vote(1)}, []oracle.Effect{vote(1)}, true},
		{"draw of a bootstrap server", []oracle.Effect{{Kind: "draw", Args: []any{"0:3", int64(1)}}}, nil, true},
		{"draw of an election timeout", []oracle.Effect{{Kind: "draw", Args: []any{"0:1000", int64(1)}}}, nil, false},
	} {
		if got := reflect.DeepEqual(lines(c.a, 3), lines(c.b, 3)); got != c.equal {
			t.Errorf("%s: equal %t\n%q\n%q", c.name, got, lines(c.a, 3), lines(c.b, 3))
		}
	}
}

func TestSchedule_SurvivesTheFile(t *testing.T) {
	in := oracle.NewInit(1, 1, 1, 2)
	schedule := []oracle.Command{
		{Cmd: "init", Node: "n1", Init: &in, Now: 1000, Random: map[string][]int32{"0:1000": {5}}},
		{Cmd: "request", Node: "n1", Corr: 3, API: 52, Version: 2, Body: []byte{1, 2}, Now: 1001, Poll: 1, During: 7},
		{Cmd: "append", Node: "n1", Epoch: 1, Records: oracle.Records(2), NoSchedule: true},
	}
	file := filepath.Join(t.TempDir(), "x", "schedule.jsonl")
	if err := Save(file, schedule, &Difference{Version: "4.4.0", Command: schedule[1], Where: []string{"< a"}}); err != nil {
		t.Fatal(err)
	}
	got, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Init == nil || got[1].Init != nil || !reflect.DeepEqual(got[1], schedule[1]) || !reflect.DeepEqual(got[2], schedule[2]) {
		t.Errorf("%+v", got)
	}
	if number(got[0].Config, "controller.quorum.append.linger.ms", 9) != 0 {
		t.Errorf("configuration %v", got[0].Config)
	}
}

func TestHostLog_TruncatesInsideABatchAndForgetsTheGapOnRestart(t *testing.T) {
	l := newHostLog()
	raw := wire.AppendDataBatch(nil, 0, 1, 1, oracle.Records(1)...)
	raw = wire.AppendDataBatch(raw, 1, 1, 1, oracle.Records(5)...)
	if _, err := appendAll(l, raw, -1); err != nil {
		t.Fatal(err)
	}
	l.flush()
	if l.base(3) != 1 || len(l.read(3, 6, 1)) != len(raw)-int(l.entries[0].Size) {
		t.Errorf("base of 3 is %d", l.base(3))
	}
	l.truncate(3)
	if l.view.End != 3 || len(l.entries) != 1 {
		t.Errorf("log ends at %d with %d batches", l.view.End, len(l.entries))
	}
	l.reopen(false)
	if l.view.End != 1 {
		t.Errorf("after a restart the log ends at %d", l.view.End)
	}
}

func TestCoverage_NamesWhatIsMissing(t *testing.T) {
	c, p := NewCoverage(), ProfileOf("4.0.0")
	c.action(&kraft.ReplyVote{PartitionReply: kraft.PartitionReply{PartitionError: kraft.FencedLeaderEpoch}})
	missing := strings.Join(c.Unvisited(&p), "\n")
	if strings.Contains(missing, "ReplyVote FENCED_LEADER_EPOCH") || !strings.Contains(missing, "ReplyVote INVALID_VOTER_KEY") {
		t.Error(missing)
	}
	if strings.Contains(missing, "UpgradeKRaftVersion") {
		t.Error("4.0 cannot upgrade kraft.version")
	}
}
