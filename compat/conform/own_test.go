package conform

import (
	"crypto/tls"
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/secure"
)

// TestOwn_OurNodeInADynamicQuorum plays the other voters of a quorum that knows its voters from its log.
func TestOwn_OurNodeInADynamicQuorum(t *testing.T) {
	t.Parallel() // it waits most of its time
	match := "^dynamic/"
	if *ownMatch != "" {
		match = *ownMatch
	}
	_, o := ourOwnOf(t, 1, nil, match)
	playsWell(t, o)
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
