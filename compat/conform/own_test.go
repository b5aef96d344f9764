package conform

import (
	"crypto/tls"
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
	t.Parallel()       // it waits most of its time
	const quorums = 12 // of each kind
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
			*slot = append(*slot, regexp.QuoteMeta(s.ID))
		}
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for version := range ids {
		for _, some := range ids[version] {
			_, o := ourOwnOf(t, int16(version), nil, "^("+strings.Join(some, "|")+")$")
			all.Go(func() {
				failed := failsItsTwins(t, o)
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

// failsItsTwins plays scenarios with a node that keeps all rules and then with its twins, and returns those that the twins fail.
func failsItsTwins(t *testing.T, o OwnOptions) (failed []string) {
	honest, err := RunOwn(t.Context(), o)
	if err != nil {
		t.Error(err)
		return nil
	}
	mustPass(t, honest)
	ownTwins(t, honest)
	last := map[string]string{} // of a scenario: what it asserts in the end
	for i := range honest.Results {
		if r := &honest.Results[i]; len(r.judged) > 0 {
			last[r.Case.ID] = r.judged[len(r.judged)-1].wants
		}
	}
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
		return twin
	}
	twins, err := RunOwn(t.Context(), o)
	if err != nil {
		t.Error(err)
		return nil
	}
	for i := range twins.Results {
		switch r := &twins.Results[i]; r.Outcome {
		case Failed:
			failed = append(failed, r.Case.ID)
		default:
			t.Errorf("%s: %s of a broken twin: %s", r.Case.ID, r.Outcome, r.Why)
		}
	}
	return failed
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
