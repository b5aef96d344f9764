package mixed

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
)

// TestKafka_SecureQuorumIsJoinedAsVoter: ours votes in a quorum whose controllers want certificates and passwords of each other. With the
// leader gone its vote and its acknowledgement are needed. Wrong credentials are told in its log, with the peer.
func TestKafka_SecureQuorumIsJoinedAsVoter(t *testing.T) {
	t.Parallel()
	type quorumOf struct {
		p      secure.Protocol
		voters kafka.Voters // Standalone: the others join by themselves
	}
	short := []quorumOf{{secure.SASLSSL, kafka.Static}}
	matrix := append(slices.Clone(short), quorumOf{secure.SSL, kafka.Static}, quorumOf{secure.SASLPlaintext, kafka.Static})
	for _, c := range cases(t, short, matrix, append(slices.Clone(matrix), quorumOf{secure.SASLSSL, kafka.Standalone}, quorumOf{secure.SSL, kafka.Standalone})) {
		t.Run(c.p.String()+" "+c.voters.String(), func(t *testing.T) {
			t.Parallel()
			p := c.p
			s := kafkatest.Secure(t, p)
			q := &quorum{t: t, ctx: kafkatest.Deadline(t, 5*time.Minute), ours: []kraft.NodeID{ours}, Quorum: kafkatest.New(t, kafka.Config{
				Release: kafka.MustRelease("4.4.0"), Voters: c.voters, Timeouts: quick, Source: source(t, ours), Properties: s.Properties,
				AdminProperties: s.Properties,
			})}
			ctx := q.ctx
			if c.voters == kafka.Standalone {
				q.joinThemselves()
			} else {
				must(t, q.Start(ctx))
			}
			must(t, q.WaitReady(ctx))
			leader := q.leads(false)
			must(t, q.Kill(leader.Node))
			next := q.leadsAbove(false, leader.Epoch)
			for next.Node == leader.Node { // it had come back to office before it was killed
				next = q.leadsAbove(false, next.Epoch)
			}
			must(t, q.WaitReady(ctx, next.Node, ours))
			must(t, q.Err())

			must(t, q.Stop(ctx, ours))
			q.spoil(s)
			must(t, q.Start(ctx, ours))
			refusal := []string{"do not take each other's credentials", "connection to " + q.Node(next.Node).Listener}
			if p == secure.SSL {
				refusal = append(refusal, "unknown authority")
			} else {
				refusal = append(refusal, "the peer refused user", "stranger")
			}
			waitLog(ctx, t, q.Quorum, ours, refusal...)
		})
	}
}

// joinThemselves starts the first voter, and then the others, which ask the leader to add them.
func (q *quorum) joinThemselves() {
	t := q.t
	t.Helper()
	must(t, q.Start(q.ctx, 1))
	must(t, q.WaitReady(q.ctx, 1))
	for _, id := range []kraft.NodeID{ours, 2} {
		q.edit(id, autoJoin, "true")
		must(t, q.Start(q.ctx, id))
	}
	until(q.ctx, t, func() (any, bool) {
		d, err := q.Describe(q.ctx)
		must(t, err)
		return d, len(d.Voters) == 3
	})
}

// spoil gives ours credentials that the others do not take.
func (q *quorum) spoil(s kafkatest.Security) {
	t := q.t
	t.Helper()
	bad := maps.Clone(s.Properties)
	if s.Protocol.SASL() {
		for name, value := range bad {
			if strings.HasSuffix(name, "sasl.jaas.config") {
				q.edit(ours, name, strings.Replace(value, `username="`+kafkatest.SASLUser+`"`, `username="stranger"`, 1))
			}
		}
		return
	}
	other := kafkatest.Secure(t, secure.SSL).Properties // of another authority, which trusts only itself
	for _, name := range []string{"ssl.keystore.location", "ssl.truststore.location"} {
		q.edit(ours, name, other[name])
	}
}

// waitLog waits until a line of a node's log has all of the texts.
func waitLog(ctx context.Context, t *testing.T, q *kafka.Quorum, id kraft.NodeID, texts ...string) {
	t.Helper()
	for {
		text, err := os.ReadFile(filepath.Clean(q.Node(id).LogFile))
		must(t, err)
		for line := range strings.Lines(string(text)) {
			found := true
			for _, want := range texts {
				found = found && strings.Contains(line, want)
			}
			if found {
				return
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("node %v does not say %q; its log ends with\n%s", id, texts, text[max(0, len(text)-3000):])
		}
		time.Sleep(20 * time.Millisecond)
	}
}
