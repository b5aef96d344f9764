package interact_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft/interact"
)

// events that every role may meet.
var events = []string{
	"RoleAction", "ReceiveVoteRequest", "ReceivePreVoteRequest", "ReceiveBeginQuorumEpoch", "ReceiveEndQuorumEpoch", "ReceiveFetch", "ReceiveFetchSnapshot",
	"ReceiveDescribeQuorum", "ReceiveAddRaftVoter", "ReceiveRemoveRaftVoter", "ReceiveUpdateRaftVoter",
	"ReceiveVoteResponse", "ReceiveBeginQuorumEpochResponse", "ReceiveEndQuorumEpochResponse", "ReceiveFetchResponse",
	"ReceiveFetchSnapshotResponse", "ReceiveAPIVersionsResponse", "ReceiveUpdateRaftVoterResponse", "ReceiveAddRaftVoterResponse",
	"ReceiveRemoveRaftVoterResponse", "RequestFailed", "AppendRequested", "ScheduleAppend", "SnapshotCreated", "ParkedExpired", "Resign",
	"Shutdown", "UpgradeKRaftVersion",
}

// timeouts are the role actions that a timer makes special.
var timeouts = []string{
	"Unattached × ElectionTimeout", "Prospective × ElectionTimeout", "Candidate × ElectionTimeout", "Resigned × ElectionTimeout",
	"Follower × FetchTimeout", "Follower × UpdateVoterTimeout", "Leader × CheckQuorumTimeout", "Leader × BeginQuorumEpochTimeout",
}

// impossible are cells that no history reaches.
var impossible = map[string]string{
	"Follower × ParkedExpired": "becoming a Follower answers all parked Fetches (KafkaRaftClient.onBecomeFollower)",
	"Resigned × ParkedExpired": "so does resigning (transitionToResigned), and a node that starts as Resigned has none",
}

func TestGolden_EveryRoleMeetsEveryEvent(t *testing.T) {
	list, c := played(t)
	for _, f := range list {
		if f.err != nil {
			t.Fatal(f.err)
		}
	}
	want := slices.Clone(timeouts)
	for _, role := range []string{"Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned"} {
		for _, e := range events {
			want = append(want, role+" × "+e)
		}
	}
	var missing []string
	for _, cell := range want {
		switch why := impossible[cell]; {
		case why != "" && c[cell] > 0:
			t.Errorf("%s was reached, although %s", cell, why)
		case why == "" && c[cell] == 0:
			missing = append(missing, cell)
		}
	}
	t.Logf("%d of %d cells, %d are impossible", len(want)-len(missing)-len(impossible), len(want), len(impossible))
	if len(missing) > 0 {
		t.Errorf("no conversation reaches:\n%s", strings.Join(missing, "\n"))
	}
}

// TestGolden_EveryRuleIsShown: a file that names a rule goes another way if that rule alone is the one of another build.
func TestGolden_EveryRuleIsShown(t *testing.T) {
	shown := map[string]bool{}
	for _, f := range files(t) {
		for _, name := range f.Rules {
			if differs(t, f, name) {
				shown[name] = true
			} else {
				t.Errorf("%s: nothing in it depends on %s", f.Path, name)
			}
		}
	}
	for _, r := range compat.Rules() {
		if !shown[r.Name] {
			t.Errorf("no conversation shows both sides of %s", r.Name)
		}
	}
}

func differs(t *testing.T, f *interact.File, name string) bool {
	t.Helper()
	i := slices.IndexFunc(compat.Rules(), func(r compat.Rule) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("%s: there is no rule %s", f.Path, name)
	}
	for n, build := range f.Builds[1:] {
		before, after := profile(t, f.Builds[n]), profile(t, build)
		if dependsOn(t, f, compat.Rules()[i], before, after) || dependsOn(t, f, compat.Rules()[i], after, before) {
			return true
		}
	}
	return false
}

// dependsOn reports whether the conversation with a profile is another one if it has the other profile's side of the rule. A rule may need
// a version of a request that only the newer build has.
func dependsOn(t *testing.T, f *interact.File, rule compat.Rule, p, other compat.Profile) bool {
	t.Helper()
	swapped, ok := swap(rule, p, other)
	if !ok {
		return false
	}
	was, err := f.PlayWith(p, interact.Machines(nil))
	if err != nil {
		t.Fatal(err)
	}
	is, err := f.PlayWith(swapped, interact.Machines(nil)) // may fail: the script is not written for it
	return err != nil || !slices.EqualFunc(was, is, slices.Equal[[]string])
}

func profile(t *testing.T, build string) compat.Profile {
	t.Helper()
	p, err := compat.ByRelease(build)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// swap gives a profile the value that a rule has in another one, and nothing else. Not ok: they agree in it.
func swap(rule compat.Rule, p, other compat.Profile) (compat.Profile, bool) {
	if rule.Value(p.Rules) == rule.Value(other.Rules) {
		return p, false
	}
	for i := range reflect.TypeOf(p.Rules).NumField() {
		changed := p
		reflect.ValueOf(&changed.Rules).Elem().Field(i).Set(reflect.ValueOf(other.Rules).Field(i))
		if rule.Value(changed.Rules) != rule.Value(p.Rules) {
			return changed, true
		}
	}
	return p, false
}

func TestGolden_FilesSayWhatTheyShow(t *testing.T) {
	list := files(t)
	if len(list) < 60 {
		t.Errorf("%d conversations, want at least 60", len(list))
	}
	for _, f := range list {
		comment := f.Comment()
		if len(strings.Split(comment, "\n")) < 4 || !strings.Contains(comment, "Kafka: ") {
			t.Errorf("%s: the opening comment must tell the rule, what to notice, and the Kafka classes", f.Path)
		}
	}
}
