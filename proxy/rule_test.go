package proxy

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

func TestParseRule_ReadsWhatIsWritten(t *testing.T) {
	base := Rule{Key: anyKey, From: anyNode, To: anyNode}
	with := func(change func(*Rule)) Rule { r := base; change(&r); return r }
	for _, test := range []struct {
		text string
		want Rule
	}{
		{"drop Vote from 3 to 1 nth 2", with(func(r *Rule) { r.Key, r.From, r.To, r.Nth = 52, 3, 1, 2 })},
		{"cut any", with(func(r *Rule) { r.Action = Cut })},
		{"  cut\tany   response ", with(func(r *Rule) { r.Action, r.Dir = Cut, wire.Response })},
		{"delay 1.5s Fetch request every 3", with(func(r *Rule) { r.Action, r.Delay, r.Key, r.Every = Delay, 1500*time.Millisecond, 1, 3 })},
		{"drop Vote 3->1", with(func(r *Rule) { r.Key, r.From, r.To = 52, 3, 1 })},
		{"duplicate Fetch response 1->*", with(func(r *Rule) { r.Action, r.Key, r.Dir, r.From = Duplicate, 1, wire.Response, 1 })},
		{"reorder Vote", with(func(r *Rule) { r.Action, r.Key, r.Delay = Reorder, 52, time.Second })},
		{"reorder 2s Vote after 3", with(func(r *Rule) { r.Action, r.Key, r.Delay, r.After = Reorder, 52, 2*time.Second, 3 })},
		{"truncate 30 Fetch", with(func(r *Rule) { r.Action, r.Key, r.Keep = Truncate, 1, 30 })},
		{"cut after Fetch", with(func(r *Rule) { r.Action, r.Key = CutAfter, 1 })},
		{"blackhole any from 2", with(func(r *Rule) { r.Action, r.From = Blackhole, 2 })},
		{"partition from 1 to 2", with(func(r *Rule) { r.BothWays, r.From, r.To = true, 1, 2 })},
		{"partition 1->2", with(func(r *Rule) { r.BothWays, r.From, r.To = true, 1, 2 })},
		{"drop Vote epoch 7 first 2", with(func(r *Rule) { r.Key, r.Epoch, r.ByEpoch, r.First = 52, 7, true, 2 })},
		{"drop Vote probability 0.25 seed 9", with(func(r *Rule) { r.Key, r.Probability, r.Seed = 52, 0.25, 9 })},
		{"drop BeginQuorumEpoch first 10 to 0", with(func(r *Rule) { r.Key, r.First, r.To = 53, 10, 0 })},
	} {
		got, err := ParseRule(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		test.want.Text = test.text
		if !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%q = %+v, want %+v", test.text, *got, test.want)
		}
	}
}

func TestParseRule_FindsTheFieldToMutate(t *testing.T) {
	for _, text := range []string{
		"mutate Vote response field VoteGranted=true from 1 to 3",
		"mutate VoteGranted=true Vote response",
		"mutate Vote field Topics.Partitions.VoteGranted=true response",
		"mutate Vote response field votegranted=false",
		"mutate Vote request field CandidateDirectoryID=EREREREREREREREREREREQ",
		"mutate Vote request field ClusterID=null",
		"mutate Fetch response field DivergingEpoch.Epoch=3",
		"mutate Fetch response field RecordBatches=00ff",
		"mutate Vote response field ErrorCode=-1",
		"mutate EndQuorumEpoch field PreferredCandidates=reversed",
		"mutate EndQuorumEpoch field PreferredSuccessors=reversed field LeaderID=2",
	} {
		r, err := ParseRule(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if r.Action != Mutate || len(r.Fields) == 0 {
			t.Errorf("%q = %+v", text, r)
		}
	}
}

func TestParseRule_PointsAtTheOffendingWord(t *testing.T) {
	for _, test := range []struct{ text, word, problem string }{
		{"", "", "an action"},
		{"frop Vote", "frop", "want an action"},
		{"drop", "", "a message name"},
		{"drop vote", "vote", "did you mean Vote?"},
		{"drop Vtoe", "Vtoe", "no message has this name"},
		{"delay Vote", "Vote", "want a duration"},
		{"delay -1s Vote", "-1s", "want a duration"},
		{"delay 11m Vote", "11m", "want a duration"},
		{"reorder 0s Vote", "0s", "want a duration"},
		{"truncate Vote", "Vote", "want a count"},
		{"partition from 1", "", "partition needs from NODE and to NODE"},
		{"partition from 1 to 2 response", "response", "neither partition nor answer"},
		{"answer NO_SUCH Vote", "NO_SUCH", "no error has this name"},
		{"answer FENCED_LEADER_EPOCH any", "", "one message, not any"},
		{"drop Vote 3>1", "3>1", "want request"},
		{"drop Vote a->1", "a->1", "want NODE->NODE"},
		{"drop Vote from 3 3->1", "3->1", "only one of from"},
		{"drop Vote 3->1 to 1", "to", "only one of from"},
		{"drop any epoch 3", "3", "only messages that state an epoch"},
		{"drop Vote epoch -3", "-3", "want an epoch"},
		{"drop Vote probability 1.5", "1.5", "want a share"},
		{"drop Vote probability NaN", "NaN", "want a share"},
		{"drop Vote seed x", "x", "want a seed"},
		{"mutate Vote response field VoteGranted+=1", "VoteGranted+=1", "+ and - change numbers"},
		{"mutate Fetch response field HighWatermark-=x", "HighWatermark-=x", "want a number from 1 on"},
		{"delay 200ms", "", "a message name"},
		{"drop Vote from", "", "a node id is missing"},
		{"drop Vote from three", "three", "want a node id"},
		{"drop Vote to -1", "-1", "want a node id"},
		{"drop Vote to 99999999999", "99999999999", "want a node id"},
		{"drop Vote nth 0", "0", "want a count"},
		{"drop Vote nth 1 every 2", "every", "only one of nth"},
		{"drop Vote from 1 from 2", "from", "only one from"},
		{"drop Vote request response", "response", "only one of request"},
		{"drop Vote sometimes", "sometimes", "want request"},
		{"drop Vote field ErrorCode=1", "ErrorCode=1", "only mutate"},
		{"mutate Vote", "", "field PATH=VALUE is missing"},
		{"mutate Vote field", "", "PATH=VALUE is missing"},
		{"mutate Vote field ErrorCode", "ErrorCode", "want PATH=VALUE"},
		{"mutate any field ErrorCode=1", "ErrorCode=1", "one message"},
		{"mutate Vote field VoteGranted=true", "VoteGranted=true", "no such field; it has ClusterID"},
		{"mutate Vote response field VoteGranted=yes", "VoteGranted=yes", "true or false"},
		{"mutate Vote response field ErrorCode=70000", "ErrorCode=70000", "16 bits"},
		{"mutate Vote response field =1", "=1", "name is missing"},
		{"mutate Fetch response field Epoch=1", "Epoch=1", "several fields"},
		{"mutate Vote field ClusterID=a field", "", "PATH=VALUE is missing"},
		{"mutate Vote field ClusterID=a field Nothing=b", "Nothing=b", "no such field"},
		{"mutate EndQuorumEpoch field LeaderID=reversed", "LeaderID=reversed", "32 bits"},
		{"mutate Vote response field Version=1", "Version=1", "no such field"},
		{"mutate Vote field CandidateDirectoryID=xyz", "CandidateDirectoryID=xyz", "base64url"},
	} {
		_, err := ParseRule(test.text)
		var bad *RuleError
		if !errors.As(err, &bad) || !errors.Is(err, ErrRule) {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if bad.Word != test.word || !strings.Contains(bad.Problem, test.problem) {
			t.Errorf("%q: at %q: %s; want at %q: %s", test.text, bad.Word, bad.Problem, test.word, test.problem)
		}
		if bad.Word != "" && !strings.HasPrefix(test.text[bad.Offset:], bad.Word) {
			t.Errorf("%q: offset %d is not that of %q", test.text, bad.Offset, bad.Word)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, text := range []string{
		"drop Vote from 3 to 1 nth 2", "delay 200ms any response every 2", "cut Fetch first 3",
		"mutate Vote response field VoteGranted=true from 1 to 3", "mutate ErrorCode=1 Vote response",
		"reorder Vote 3->1", "partition from 1 to 2", "answer FENCED_LEADER_EPOCH Fetch 2->1 epoch 5", "truncate 20 any probability 0.5 seed 7",
		"mutate HighWatermark-=5 Fetch response", "blackhole any after 3", "cut after Fetch response *->2",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		var bad *RuleError
		switch {
		case err == nil && (r.Text != text || r.Action > Blackhole || r.Delay < 0 || (len(r.Fields) > 0) != (r.Action == Mutate || r.Action == Answer)):
			t.Errorf("%q = %+v", text, r)
		case err != nil && !errors.As(err, &bad):
			t.Errorf("%q: %v is no RuleError", text, err)
		case bad != nil && (bad.Offset < 0 || bad.Offset > len(text) || !strings.HasPrefix(text[bad.Offset:], bad.Word)):
			t.Errorf("%q: offset %d, word %q", text, bad.Offset, bad.Word)
		}
	})
}

func TestRules_TakeTheFramesTheyName(t *testing.T) {
	ups := []Upstream{{Node: 1}, {Node: 3}}
	for _, test := range []struct {
		text string
		want string // for the frames below, in order: x if taken
	}{
		{"drop any", "xx..xx.x"},
		{"drop Vote", "xx..xx.."},
		{"drop Vote from 3 to 1", "x......."},
		{"drop Vote response from 1 to 3", "..x....."},
		{"drop Vote response", "..xx...."},
		{"drop any from 7", "....x..."},
		{"drop Vote nth 2", ".x......"},
		{"drop Vote every 2", ".x...x.."},
		{"drop Vote first 3", "xx..x..."},
		{"drop Fetch response", "......x."},
	} {
		rule, err := ParseRule(test.text)
		if err != nil {
			t.Fatal(err)
		}
		set := newRules(ups, []*Rule{rule})
		got := ""
		for _, f := range []struct {
			upstream int
			client   kraft.NodeID
			key      int16
			dir      wire.Direction
		}{
			{0, 3, 52, wire.Request},
			{1, 2, 52, wire.Request},
			{0, 3, 52, wire.Response},
			{1, 2, 52, wire.Response},
			{0, 7, 52, wire.Request},
			{0, anyNode, 52, wire.Request},
			{0, 2, 1, wire.Response},
			{0, 2, 1, wire.Request},
		} {
			if set.judge(f.upstream, f.client, f.key, f.dir, func() kraft.Epoch { return -1 }) != nil {
				got += "x"
			} else {
				got += "."
			}
		}
		if got != test.want {
			t.Errorf("%q takes %s, want %s", test.text, got, test.want)
		}
	}
}

func TestRules_GateOnlyConnectionsThatARuleCanConcern(t *testing.T) {
	ups := []Upstream{{Node: 1}, {Node: 3}}
	for _, test := range []struct {
		text   string
		up     int
		client kraft.NodeID
		want   bool
	}{
		{"drop Vote from 3 to 1", 0, anyNode, true},
		{"drop Vote from 3 to 1", 1, anyNode, false},
		{"drop Vote from 3 to 1", 0, 3, true},
		{"drop Vote from 3 to 1", 0, 2, false},
		{"drop Vote response from 3 to 1", 0, anyNode, false},
		{"drop Vote response from 3 to 1", 1, 1, true},
		{"drop Vote response from 3 to 1", 1, 2, false},
		{"drop Vote", 1, 2, true},
	} {
		rule, err := ParseRule(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := newRules(ups, []*Rule{rule}).concern(test.up, test.client); got != test.want {
			t.Errorf("%q concerns client %s of node %s: %t", test.text, test.client, ups[test.up].Node, got)
		}
	}
	if newRules(ups, nil).concern(0, anyNode) {
		t.Error("without rules a connection is gated")
	}
}

func TestClientNode_ReadsTheClientIDsOfControllersAndBrokers(t *testing.T) {
	for id, want := range map[string]kraft.NodeID{
		"raft-client-3": 3, "12": 12, "adminclient-1": anyNode, "": anyNode, "raft-client-": anyNode, "-4": anyNode, "raft-client-99999999999": anyNode,
	} {
		if got := clientNode([]byte(id)); got != want {
			t.Errorf("%q = %s, want %s", id, got, want)
		}
	}
}
