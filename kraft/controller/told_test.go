package controller

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// told counts the lines of a log at Info and above.
type told struct{ bytes.Buffer }

func (b *told) log() zerolog.Logger { return zerolog.New(b).Level(zerolog.InfoLevel) }

func (b *told) expect(t *testing.T, after string, want ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if b.Len() == 0 {
		lines = nil
	}
	b.Reset()
	if len(lines) != len(want) {
		t.Errorf("after %s: %d lines, want %d: %q", after, len(lines), len(want), lines)
		return
	}
	for i, text := range want {
		if !strings.Contains(lines[i], text) {
			t.Errorf("after %s: line %d is %s, want %q", after, i, lines[i], text)
		}
	}
}

// A peer that refuses whatever it is asked is asked several times a second, for as long as it does so.
func TestTold_OncePerPeerAndCause(t *testing.T) {
	var said told
	p := &peer{Controller: &Controller{cfg: Config{Log: said.log()}}, record: 2}
	o := &outbound{key: wire.KeyFetch, action: &kraft.SendFetch{}, to: kraft.Destination{Record: 2}}
	refused := func(code kraft.ErrorCode) []kraft.Event {
		r := kraft.Response{Error: code}
		return []kraft.Event{
			&kraft.ReceiveFetchResponse{Response: r}, &kraft.ReceiveFetchSnapshotResponse{Response: r}, &kraft.ReceiveVoteResponse{Response: r},
			&kraft.ReceiveBeginQuorumEpochResponse{Response: r}, &kraft.ReceiveEndQuorumEpochResponse{Response: r},
		}
	}
	hears := func(events []kraft.Event) {
		for _, ev := range events {
			p.remark(o, &message{event: ev}, nil)
			p.remark(o, nil, errBackingOff)
		}
	}
	for range 3 {
		said.expect(t, "nothing")
		for range 10 {
			hears(refused(kraft.ClusterAuthorizationFailed))
		}
		said.expect(t, "CLUSTER_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "the last attempt")
		hears(refused(kraft.InconsistentClusterID))
		said.expect(t, "another cause", "INCONSISTENT_CLUSTER_ID")
		hears(refused(kraft.ClusterAuthorizationFailed))
		said.expect(t, "the first one again")
		p.remark(o, &message{event: refused(kraft.None)[0]}, nil)
		said.expect(t, "a good answer", "answers again")
	}

	for _, cause := range []func(i int) error{
		func(int) error { return &AuthenticationError{errors.New("the peer refused user")} },
		func(i int) error { return fmt.Errorf("read from port %d: %w", i, tls.AlertError(42)) },
		func(i int) error {
			return &AuthenticationError{fmt.Errorf("at %v: %w", time.Unix(int64(i), 0), x509.CertificateInvalidError{Reason: x509.Expired})}
		},
	} {
		for i := range 5 {
			p.failed(o, cause(i))
		}
		said.expect(t, "credentials that are not taken", "each other's credentials")
	}
	p.remark(o, &message{event: refused(kraft.None)[0]}, nil)
	said.expect(t, "a good answer")
	p.failed(o, &AuthenticationError{errors.New("the peer refused user")})
	said.expect(t, "the same later", "each other's credentials")
}

// What an answer of a peer would end Kafka's process for is told once, until the peer is the leader of a good answer.
func TestTold_RefusedAnswersOncePerPeerAndReason(t *testing.T) {
	var said told
	n := lone(t, nil)
	n.inLoop(t, func(l *loop) {
		was := l.cfg.Log
		l.cfg.Log = said.log()
		defer func() { l.cfg.Log = was }()
		one, other := &peer{}, &peer{}
		from := func(p *peer, last kraft.Action) {
			l.m.CopyInto(l.before)
			l.hand = answerOf()
			l.hand.from = p
			l.refuse([]kraft.Action{last})
			l.hand = nil
		}
		notAuthorized, invalid := &kraft.Fatal{Reason: kraft.FatalNotAuthorized}, &kraft.Fatal{Reason: kraft.FatalInvalidRequest}
		for range 10 {
			from(one, notAuthorized)
			from(one, invalid)
			from(other, invalid)
		}
		said.expect(t, "three causes", kraft.FatalNotAuthorized.String(), kraft.FatalInvalidRequest.String(), kraft.FatalInvalidRequest.String())
		from(one, &kraft.ResetTimer{})
		from(one, invalid)
		from(other, invalid)
		said.expect(t, "a good answer of one of them", kraft.FatalInvalidRequest.String())
	})
}
