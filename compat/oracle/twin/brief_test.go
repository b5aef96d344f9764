package twin

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
)

func describeReply(voters ...int32) oracle.Effect {
	r := kmsg.NewPtrDescribeQuorumResponse()
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	for _, v := range voters {
		p.CurrentVoters = append(p.CurrentVoters, kmsg.DescribeQuorumResponseTopicPartitionReplicaState{ReplicaID: v})
	}
	r.Topics = []kmsg.DescribeQuorumResponseTopic{{Topic: "t", Partitions: []kmsg.DescribeQuorumResponseTopicPartition{p}}}
	return reply(55, 2, r)
}

func list(effects ...oracle.Effect) string {
	b := []byte{'['}
	for i := range effects {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEffect(b, &effects[i])
	}
	return string(append(b, ']'))
}

// An answer that was sent for ahead must be what the machine did, in all that counts and in nothing else.
func TestExpected_MatchesWhatIsDecidedAlike(t *testing.T) {
	in := oracle.NewInit(1, 1, 1, 2, 3)
	n := &node{init: in}
	hw := oracle.Effect{Kind: "hw", Args: []any{int64(7)}}
	persist := oracle.Effect{Kind: "persist", Args: []any{[]any{int64(3), int64(-1), int64(1), nil, int64(0)}}}
	o := outcome{effects: []oracle.Effect{persist, describeReply(1, 2), hw}, waits: []int64{5, -1}}
	state := &oracle.State{Role: "Follower"}
	var x expected
	x.foresee(n, &oracle.Command{Cmd: "poll"}, &o, false, state)
	digest := string(x.head[len("0000 0 [5,-1] "):])
	head := "0000 0 [5,-1] " + digest
	commit := oracle.Effect{Kind: "commit", Args: []any{int64(1)}}
	servers := oracle.Effect{Kind: "draw", Args: []any{"0:3", int64(1)}}
	election := oracle.Effect{Kind: "draw", Args: []any{"0:30", int64(1)}}
	for _, c := range []struct {
		name, answer string
		same         bool
	}{
		{"the same", head + list(persist, describeReply(1, 2), hw), true},
		{"a refusal that does not count", "1" + head[1:] + list(persist, describeReply(1, 2), hw), true},
		{"order of replicas", head + list(persist, describeReply(2, 1), hw), true},
		{"what the state machine was told", head + list(persist, commit, describeReply(1, 2), servers, hw), true},
		{"other replicas", head + list(persist, describeReply(1, 3), hw), false},
		{"another draw", head + list(persist, describeReply(1, 2), election, hw), false},
		{"an effect more", head + list(persist, describeReply(1, 2), hw, hw), false},
		{"an effect less", head + list(persist, describeReply(1, 2)), false},
		{"another order", head + list(describeReply(1, 2), persist, hw), false},
		{"fatal", "01" + head[2:] + list(persist, describeReply(1, 2), hw), false},
		{"another wait", "0000 0 [4,-1] " + digest + list(persist, describeReply(1, 2), hw), false},
		{"another state", "0000 0 [5,-1] 1" + digest + list(persist, describeReply(1, 2), hw), false},
		{"an error of the harness", `{"error":"no node"}`, false},
		{"nothing", "", false},
		{"half of it", head + "[[", false},
	} {
		if got := x.matches([]byte(c.answer + "\n")); got != c.same {
			t.Errorf("%s: matches %t", c.name, got)
		}
	}
}

func TestExpected_RefusalCountsWhereTheMachineRefuses(t *testing.T) {
	var x expected
	x.foresee(&node{init: oracle.NewInit(1, 0, 1)}, &oracle.Command{Cmd: "append"}, &outcome{refused: true}, true, nil)
	if x.matches([]byte("0000 0 [] - []\n")) || !x.matches([]byte("1000 0 [] - []\n")) {
		t.Error("a refusal does not count")
	}
}

// Each field of the state that is compared must change the digest.
func TestDigest_CoversTheState(t *testing.T) {
	one, yes := int32(1), true
	for _, role := range []string{"Leader", "Follower", "Resigned", "Prospective"} {
		base := func() *oracle.State {
			s := &oracle.State{
				Role: role, Epochs: [][2]int64{{1, 2}}, Snapshots: [][3]int64{{1, 2, 3}}, Timers: map[string]int64{"election": 9, "infinite": infinite},
				Conns: []oracle.ConnState{{ID: 1, State: "AWAITING_RESPONSE", Corr: &one}}, Tally: map[string]string{"1": "GRANTED"},
			}
			copy(s.Stored[:], []any{int64(1), int64(2), int64(3), nil, int64(1)})
			return s
		}
		text := string(appendState(nil, base(), 5))
		v := reflect.ValueOf(base()).Elem()
		for i := range v.NumField() {
			s, name := base(), v.Type().Field(i).Name
			f := reflect.ValueOf(s).Elem().Field(i)
			switch p := f.Addr().Interface().(type) {
			case *string:
				*p = "Other"
			case *[5]any:
				p[3] = "directory"
			case **int32:
				*p = &one
			case **bool:
				*p = &yes
			case *map[string]int64:
				(*p)["election"] = 10
			case *map[string]string:
				(*p)["1"] = "REJECTED"
			case **[3]int64:
				*p = &[3]int64{1, 2, 3}
			case **oracle.PendingChange:
				*p = &oracle.PendingChange{Kind: "add"}
			default:
				switch f.Kind() {
				case reflect.Bool:
					f.SetBool(true)
				case reflect.Slice:
					f.Set(reflect.MakeSlice(f.Type(), 2, 2))
				default:
					f.SetInt(77)
				}
			}
			same := string(appendState(nil, s, 5)) == text
			if same && !uncoveredIn(role, name) {
				t.Errorf("%s: %s does not count", role, name)
			}
		}
	}
	s := &oracle.State{Role: "Unattached", Timers: map[string]int64{"election": 3}}
	if due := string(appendState(nil, s, 5)); due != string(appendState(nil, &oracle.State{Role: "Unattached", Timers: map[string]int64{"election": 5}}, 5)) {
		t.Error("a timer that has run out is not due now")
	}
}

// uncoveredIn names the fields that other roles have, and what only the oracle keeps.
func uncoveredIn(role, field string) bool {
	switch field {
	case "ListenerNext", "HeldReaders":
		return true
	case "Unacked", "Successors":
		return role != "Resigned"
	case "HasFetched", "HasUpdatedLeader", "FetchingSnapshot":
		return role != "Follower"
	case "EpochStart", "Granting", "Replicas", "Observers", "Fetched", "NextOffset", "ResignRequested", "PendingChange", "VolatileVoters", "RequestedKRaft":
		return role != "Leader"
	}
	return false
}

func TestDecision_NamesWhatDiffersWithoutValues(t *testing.T) {
	reply := func(epoch int32, id string) string {
		r := kmsg.NewPtrVoteResponse()
		r.SetVersion(1)
		r.Topics = []kmsg.VoteResponseTopic{{Topic: "t", Partitions: []kmsg.VoteResponseTopicPartition{{LeaderEpoch: epoch}}}}
		return "reply #" + id + ": " + body("response", 52, 1, bodyOf(r))
	}
	for _, c := range []struct {
		event string
		where []string
		want  string
	}{
		{"Vote(#3 v1)", []string{"< " + reply(1, "3"), "> " + reply(2, "3")}, "handling Vote: reply Vote: LeaderEpoch"},
		{"", []string{"< truncateToSnapshot 1 0"}, "at restart: only Kafka: truncateToSnapshot"},
		{"", []string{"> hw 3"}, "at restart: only the rules: hw"},
		{"", []string{"< state timer fetch 5945", "> state timer fetch 77"}, "at restart: state timer fetch: fetch"},
		{"", []string{"< state voter {Key:1 End:37 Acked:true}", "> state voter {Key:1 End:36 Acked:true}"}, "at restart: state voter: End"},
		{"", []string{"< waits [1]", "> waits [2]"}, "at restart: waits: waits"},
	} {
		d := &Difference{Event: c.event, Where: c.where, Command: oracle.Command{Cmd: "restart"}}
		if got := d.Decision(); got != c.want {
			t.Errorf("%q: %q, want %q", c.where, got, c.want)
		}
	}
}
