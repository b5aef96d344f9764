package conform

import (
	"crypto/tls"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/secure"
)

// TestOwn_EveryScenarioFailsABrokenTwin plays each scenario of each release that is not hostile (TestPoison has those) with nodes of ours, and
// again with a twin that says otherwise in what the scenario asserts last. Each quorum plays a few of them beside the others.
func TestOwn_EveryScenarioFailsABrokenTwin(t *testing.T) {
	t.Parallel()      // it waits most of its time
	const quorums = 8 // of each kind
	var ids [2][quorums][]string
	demanded := map[string]bool{}
	for _, p := range slices.Backward(compat.Profiles()) {
		for _, s := range Scenarios(p) {
			if s.hostile || demanded[s.ID] {
				continue
			}
			version := 0
			if s.dynamic {
				version = 1
			}
			demanded[s.ID] = true
			slot := &ids[version][len(demanded)%quorums]
			*slot = append(*slot, s.ID)
		}
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for version := range ids {
		for _, some := range ids[version] {
			if len(some) == 0 {
				continue
			}
			_, o := ourOwnOf(t, int16(version), nil, "")
			all.Go(func() {
				failed := failsItsTwins(t, o, some)
				mu.Lock()
				defer mu.Unlock()
				for _, id := range failed {
					delete(demanded, id)
				}
			})
		}
	}
	all.Wait()
	for id := range demanded {
		t.Errorf("%s: no broken twin fails it", id)
	}
}

// tries is how often a scenario is played: a node that waits for the processor is late, which looks as if it broke a rule. What fails each time
// is broken.
const tries = 3

// failsItsTwins plays scenarios with a node that keeps all rules and then with its twins, and returns those that the twins fail.
func failsItsTwins(t *testing.T, o OwnOptions, ids []string) (failed []string) {
	last := map[string]string{} // of a scenario: what it asserts in the end
	left := playSome(t, o, ids, func(r *Result) bool {
		if r.Outcome != Passed || len(r.judged) == 0 {
			return false
		}
		ownTwins(t, &Report{Results: []Result{*r}})
		last[r.Case.ID] = r.judged[len(r.judged)-1].wants
		return true
	})
	for _, r := range left {
		t.Errorf("%s: %s %s", r.Case.ID, r.Outcome, r.Why)
	}
	broken := map[string]bool{}
	o.twin = func(id string, j judged) any {
		if last[id] != j.wants {
			return j.message
		}
		wants, err := parseWants(j.wants, j.version)
		twin := deepCopy(reflect.ValueOf(j.message)).Interface()
		if err == nil {
			err = breakField(j.facts, twin, wants[len(wants)-1])
		}
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
		broken[id] = true
		return twin
	}
	left = playSome(t, o, slices.Sorted(maps.Keys(last)), func(r *Result) bool {
		if r.Outcome == Passed {
			t.Errorf("%s passes a broken twin", r.Case.ID)
		}
		if r.Outcome != Failed || !broken[r.Case.ID] {
			return false
		}
		failed = append(failed, r.Case.ID)
		return true
	})
	for _, r := range left {
		t.Errorf("%s: %s of a broken twin: %s", r.Case.ID, r.Outcome, r.Why)
	}
	return failed
}

// playSome plays scenarios until each is as it should be, and returns those that never are.
func playSome(t *testing.T, o OwnOptions, ids []string, good func(*Result) bool) (left []Result) {
	for range tries {
		quoted := make([]string, len(ids))
		for i, id := range ids {
			quoted[i] = regexp.QuoteMeta(id)
		}
		o.Match = regexp.MustCompile("^(" + strings.Join(quoted, "|") + ")$")
		report, err := RunOwn(t.Context(), o)
		if err != nil {
			t.Log(err)
			continue
		}
		ids, left = nil, nil
		for i := range report.Results {
			if r := &report.Results[i]; !good(r) {
				t.Logf("%s: %s %s", r.Case.ID, r.Outcome, r.Why)
				ids, left = append(ids, r.Case.ID), append(left, *r)
			}
		}
		if len(ids) == 0 {
			return nil
		}
	}
	return left
}

// TestOwn_OverTLSAndSASL has the suite dial and listen by each protocol.
func TestOwn_OverTLSAndSASL(t *testing.T) {
	t.Parallel() // it waits most of its time
	for _, p := range []secure.Protocol{secure.SSL, secure.SASLPlaintext, secure.SASLSSL} {
		t.Run(p.String(), func(t *testing.T) {
			guard := clientConfig(t, kafkatest.Secure(t, secure.SASLSSL).Properties, p, kafkatest.SASLPassword)
			guard.SASL.Users = map[string]secure.Password{guard.SASL.Username: guard.SASL.Password}
			if p.TLS() {
				guard.TLS.ClientAuth = tls.RequireAndVerifyClientCert
			}
			_, o := ourOwnOf(t, 1, &guard, "^(candidate/stands-with-a-majority-of-pre-votes|dynamic/adds-and-removes-a-voter|follower/appends-what-it-gets)$")
			playsWell(t, o)
		})
	}
}

// playsWell expects a node to keep all rules, and each assertion to have a broken twin.
func playsWell(t *testing.T, o OwnOptions) {
	t.Helper()
	report, err := RunOwn(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", report.Target, report.Summary())
	mustPass(t, report)
	if n := ownTwins(t, report); n == 0 {
		t.Error("no broken twin")
	}
}
