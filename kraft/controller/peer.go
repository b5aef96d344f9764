package controller

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// outbound is a request to a peer.
type outbound struct {
	action kraft.Action // the peer's own copy
	key    int16
	to     kraft.Destination
}

// peer sends to one connection record. Its connection stays with the record even if the address changes (Kafka: NetworkClient keys
// connections by node id).
type peer struct {
	*Controller
	record  kraft.NodeID
	queue   chan outbound
	conn    *Conn
	decoder wire.Decoder
	sender  wire.Sender
	body    []byte

	last      *message  // that a response has become
	failures  int       // to connect, in a row
	notBefore time.Time // to connect again
	troubles  []string  // that have been told

	denied string // why this node and the peer did not take each other's credentials, which has been told

	asked   bool                // a request waits for its answer; the loop's
	refused []kraft.FatalReason // why an answer did not count, which has been told; the loop's
}

// send hands a request to the peer of its record. The machine has one in flight per record, so a full queue means that the peer hangs.
func (l *loop) send(key int16, to kraft.Destination, action kraft.Action) {
	p, ok := l.peers[to.Record]
	if !ok {
		l.leaveStrangers()
		p = &peer{Controller: l.Controller, record: to.Record, queue: make(chan outbound, 8), sender: wire.Sender{
			ClusterID: l.cfg.Directory.ClusterID, SoftwareName: softwareOfOurs, SoftwareVersion: l.cfg.Profile.Build,
		}}
		l.peers[to.Record] = p
		l.spawn(p)
	}
	select {
	case p.queue <- outbound{copyOf(action), key, to}:
		p.asked = true
	default:
		l.cfg.Log.Warn().Stringer("request", action).Msg("the peer hangs: a request is not sent")
	}
}

// softwareOfOurs goes out in ApiVersions, with the release whose rules the node follows.
const softwareOfOurs = "understudy"

// copyOf copies an action that asks for a request: its own storage is used again with the next event.
func copyOf(action kraft.Action) kraft.Action {
	switch a := action.(type) {
	case *kraft.SendFetch:
		return duplicate(a)
	case *kraft.SendVoteRequest:
		return duplicate(a)
	case *kraft.SendBeginQuorumEpoch:
		return duplicate(a)
	case *kraft.SendEndQuorumEpoch:
		return duplicate(a)
	case *kraft.SendFetchSnapshot:
		return duplicate(a)
	case *kraft.SendUpdateVoter:
		return duplicate(a)
	case *kraft.SendAddRaftVoter:
		return duplicate(a)
	case *kraft.SendRemoveRaftVoter:
		return duplicate(a)
	}
	return action // SendAPIVersions has nothing that outbound does not say
}

func duplicate[T any](v *T) *T {
	c := *v
	return &c
}

func (p *peer) run(ctx context.Context) {
	defer p.hangUp()
	for {
		var closed <-chan struct{}
		if p.conn != nil {
			closed = p.conn.Closed()
		}
		select {
		case <-ctx.Done():
			return
		case <-closed:
			p.hangUp()
		case o, ok := <-p.queue:
			if !ok {
				return // nobody asks it any more
			}
			m, err := p.exchange(ctx, &o)
			if ctx.Err() == nil {
				p.remark(&o, m, err)
			}
			if err != nil {
				m = p.failed(&o, err)
			} else if tellsNothing(m.event) {
				p.pause(ctx)
			}
			m.from = p
			select {
			case p.inbox <- m:
			case <-ctx.Done():
				return
			}
		}
	}
}

// remark tells once for each cause that a peer gives no answer, or refuses what it is asked, and once that it answers again.
func (p *peer) remark(o *outbound, m *message, err error) {
	trouble := ""
	switch {
	case errors.Is(err, ErrNoVersion) || errors.Is(err, wire.ErrNotEncodable):
		return // of this one request
	case err != nil:
		trouble = "no answer"
	default:
		if code := refusal(m.event); code != kraft.None {
			trouble, err = code.String(), errors.New(code.String())
		}
	}
	switch {
	case trouble != "" && slices.Contains(p.troubles, trouble):
		return
	case trouble != "":
		p.troubles = append(p.troubles, trouble)
	default:
		if len(p.troubles) > 0 {
			p.cfg.Log.Info().Stringer("peer", o.to.Address).Msg("the peer answers again")
		}
		p.troubles, p.denied = nil, ""
		return
	}
	p.cfg.Log.Warn().Err(err).Stringer("peer", o.to.Address).Str("request", wire.Name(o.key)).Msg("the peer cannot be asked, and is asked again and again")
}

// refusal is the error of a whole answer to what each node of a quorum may ask another one.
func refusal(ev kraft.Event) kraft.ErrorCode {
	switch e := ev.(type) {
	case *kraft.ReceiveFetchResponse:
		return e.Response.Error
	case *kraft.ReceiveFetchSnapshotResponse:
		return e.Response.Error
	case *kraft.ReceiveVoteResponse:
		return e.Response.Error
	case *kraft.ReceiveBeginQuorumEpochResponse:
		return e.Response.Error
	case *kraft.ReceiveEndQuorumEpochResponse:
		return e.Response.Error
	}
	return kraft.None
}

// tellsNothing: a node that is not the leader is asked again as soon as the machine has its answer, while the leader cannot be reached. Kafka
// does so as fast as its network lets it.
func tellsNothing(ev kraft.Event) bool {
	e, ok := ev.(*kraft.ReceiveFetchResponse)
	return ok && e.PartitionAnswer.Error == kraft.NotLeaderOrFollower
}

// pause leaves the peers of a quorum without a leader the time to elect one.
func (p *peer) pause(ctx context.Context) {
	select {
	case <-time.After(time.Duration(p.cfg.Timeouts.RetryBackoffMs) * time.Millisecond):
	case <-ctx.Done():
	}
}

func (p *peer) hangUp() {
	if p.conn != nil {
		p.conn.Close()
		p.conn = nil
	}
}

// failed is the event of a request without an answer. Its connection is closed, unless the request was never sent.
func (p *peer) failed(o *outbound, err error) *message {
	code := kraft.BrokerNotAvailable
	var auth *AuthenticationError
	if cause, is := denial(err); is && cause != p.denied {
		p.denied = cause
		p.cfg.Log.Warn().Err(err).Stringer("peer", o.to.Address).Msg("this node and the peer do not take each other's credentials")
	}
	switch {
	case errors.Is(err, ErrNoVersion) || errors.Is(err, wire.ErrNotEncodable):
		code = kraft.UnsupportedVersion
	case errors.As(err, &auth):
		code = kraft.NetworkException
		fallthrough
	default:
		p.hangUp()
	}
	p.cfg.Log.Debug().Err(err).Stringer("request", o.action).Msg("no answer")
	return &message{event: &kraft.RequestFailed{Response: kraft.Response{
		From: o.to.Record, CorrelationID: o.to.CorrelationID, Error: code,
	}, API: kraft.APIKey(o.key)}}
}

// denial is why two nodes do not take each other's credentials, without the addresses of the connection.
func denial(err error) (cause string, is bool) {
	var auth *AuthenticationError
	var alert tls.AlertError                 // how a peer of TLS 1.3 says that it does not take a certificate
	var expired x509.CertificateInvalidError // whose text has the time of day
	switch {
	case errors.As(err, &expired):
		return fmt.Sprintf("certificate invalid for the reason %d", expired.Reason), true
	case errors.As(err, &auth):
		return auth.Error(), true
	case errors.As(err, &alert):
		return alert.Error(), true
	}
	return "", false
}

// AuthenticationError is what a Dialer returns when the other side, or this one, does not accept who the other one is. Kafka's client
// tells it from a connection that is lost.
type AuthenticationError struct{ Err error }

func (e *AuthenticationError) Error() string { return fmt.Sprintf("authentication failed: %v", e.Err) }

func (e *AuthenticationError) Unwrap() error { return e.Err }

// exchange sends a request and makes an event of the response.
func (p *peer) exchange(ctx context.Context, o *outbound) (*message, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.cfg.Timeouts.RequestMs)*time.Millisecond)
	defer cancel()
	if err := p.connect(ctx, o.to.Address); err != nil {
		return nil, err
	}
	version, err := p.version(o.key)
	if err != nil {
		return nil, err
	}
	if p.body, err = p.sender.AppendSend(p.body[:0], o.action, version); err != nil {
		return nil, err
	}
	if p.last != nil && !p.last.handled.Load() { // the machine has given it up, but it is in the inbox
		p.conn.Keep()
	}
	answer, err := p.conn.RoundTrip(ctx, o.key, version, p.body)
	if err != nil {
		return nil, err
	}
	about := kraft.Response{From: o.to.Record, CorrelationID: o.to.CorrelationID}
	m := &message{instead: lost(about, kraft.APIKey(o.key))}
	p.last = m
	if m.event, err = p.decoder.KRaftResponse(o.key, version, answer, about); err != nil {
		p.cfg.Log.Error().Err(err).Stringer("request", o.action).Msg("the response cannot be decoded; the connection is closed")
		return nil, err
	}
	return m, payload(m, version, answer)
}

// lost is the event of a request whose answer does not count.
func lost(about kraft.Response, api kraft.APIKey) kraft.RequestFailed {
	about.Error = kraft.BrokerNotAvailable
	return kraft.RequestFailed{Response: about, API: api}
}

// payload finds the bytes that go to the disk.
func payload(m *message, version int16, answer []byte) error {
	switch e := m.event.(type) {
	case *kraft.ReceiveFetchResponse:
		if e.RecordsSize == 0 {
			return nil
		}
		var f wire.FetchResponse
		if err := f.Parse(version, answer); err != nil {
			return err
		}
		m.records = f.Records
	case *kraft.ReceiveFetchSnapshotResponse:
		if e.Bytes == 0 {
			return nil
		}
		var f wire.FetchSnapshotResponse
		if err := f.Parse(version, answer); err != nil {
			return err
		}
		m.chunk = f.Bytes
	}
	return nil
}

// oldestFetch is the first version that names topics by id, which the metadata log needs.
const oldestFetch = 13

func (p *peer) version(key int16) (int16, error) {
	own, _ := p.cfg.Profile.Range(kraft.APIKey(key))
	if key == wire.KeyFetch {
		own.Min = oldestFetch
	}
	return p.conn.Version(key, own.Min, own.Max)
}

// Kafka's pause between two attempts to connect: twice as long each time (Kafka: reconnect.backoff.ms of the raft channel).
const (
	reconnectMin = 50 * time.Millisecond
	reconnectMax = 500 * time.Millisecond
)

var errBackingOff = errors.New("the last attempt to connect failed just now")

func (p *peer) connect(ctx context.Context, address kraft.Address) error {
	if p.conn != nil {
		return nil
	}
	if time.Now().Before(p.notBefore) {
		return errBackingOff
	}
	own, _ := p.cfg.Profile.Range(kraft.APIVersionsAPI)
	conn, err := Connect(ctx, p.cfg.Dialer, address, Client{
		ID: fmt.Sprintf("raft-client-%d", p.id), Software: p.sender.SoftwareName, SoftwareVersion: p.sender.SoftwareVersion,
		MaxVersion: own.Max, AnswerBytes: p.cfg.Limits.AnswerBytes, Frame: p.cfg.Limits.Frame, Correlation: &p.nextCorrelation,
	})
	if err != nil {
		p.notBefore = time.Now().Add(min(reconnectMax, reconnectMin<<min(p.failures, 10)))
		p.failures++
		return err
	}
	p.conn, p.failures = conn, 0
	return nil
}
