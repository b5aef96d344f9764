package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Admin is a client on one connection to one node. A controller answers the requests of a connection one after
// another, so it needs no pipelining.
type Admin struct {
	conn        net.Conn
	format      *kmsg.RequestFormatter
	correlation int32
}

// maxAnswer bounds what an answer may claim as its size.
const maxAnswer = 16 << 20

// DialAdmin connects to a node's listener.
func DialAdmin(ctx context.Context, address, clientID string) (*Admin, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return NewAdmin(conn, clientID), nil
}

// NewAdmin is a client on a connection that is ready, for example by TLS.
func NewAdmin(conn net.Conn, clientID string) *Admin {
	return &Admin{conn: conn, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))}
}

// Close closes the connection.
func (a *Admin) Close() error { return a.conn.Close() }

// Request sends a request, in the version that it carries, and reads its answer. Without a deadline in ctx it
// waits at most 10 s.
func (a *Admin) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(10 * time.Second)
	}
	if err := a.conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	a.correlation++
	if _, err := a.conn.Write(a.format.AppendRequest(nil, req, a.correlation)); err != nil {
		return nil, err
	}
	frame, err := wire.ReadFrame(a.conn, nil, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kmsg.NameForKey(req.Key()), err)
	}
	id, body, err := wire.ParseResponseHeader(frame, req.Key(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	if id != a.correlation {
		return nil, fmt.Errorf("%s: answer to request %d, expected %d", kmsg.NameForKey(req.Key()), id, a.correlation)
	}
	resp := req.ResponseKind()
	return resp, resp.ReadFrom(body)
}

// CreateTopics creates topics through the first broker that runs, one request for each. The broker passes them
// on to the active controller (Envelope).
func (q *Quorum) CreateTopics(ctx context.Context, partitions int, names ...string) error {
	broker := ""
	for _, m := range q.members {
		if m.Broker && q.Running(m.ID) {
			broker = m.Clients
			break
		}
	}
	if broker == "" {
		return errors.New("create topics: no broker is running")
	}
	a, err := DialAdmin(ctx, broker, "understudy-admin")
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	defer func() { _ = a.Close() }()
	for _, name := range names {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version = 7
		req.TimeoutMillis = 10000
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(partitions), 1
		req.Topics = append(req.Topics, topic)
		resp, err := a.Request(ctx, req)
		if err != nil {
			return fmt.Errorf("create topic %s: %w", name, err)
		}
		for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
			if t.ErrorCode != 0 {
				return fmt.Errorf("create topic %s: %w", name, kraftError(t.ErrorCode))
			}
		}
	}
	return nil
}

// groupResource is a resource type that needs nothing to exist: each altered group is one ConfigRecord, so
// metadata can be made without a broker (4.0 and later).
const (
	groupResource = kmsg.ConfigResourceType(32)
	groupKey      = "consumer.session.timeout.ms"
)

// WriteMetadata makes the active controller write records, one for each of n groups PREFIX-0 … , in one atomic
// batch, and returns when they are committed. No broker is needed.
func (q *Quorum) WriteMetadata(ctx context.Context, prefix string, n int) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	for i := range n {
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType = groupResource
		r.ResourceName = fmt.Sprintf("%s-%d", prefix, i)
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name = groupKey
		value := "50000"
		c.Value = &value
		r.Configs = append(r.Configs, c)
		req.Resources = append(req.Resources, r)
	}
	var last error
	for ctx.Err() == nil {
		leader, err := q.WaitLeader(ctx)
		if err != nil {
			return fmt.Errorf("write metadata: %w", err)
		}
		if last = q.alter(ctx, leader.Node, req); last == nil {
			return nil
		}
		var refused kraftError
		if errors.As(last, &refused) && kraft.ErrorCode(refused) != kraft.NotController && kraft.ErrorCode(refused) != kraft.RequestTimedOut {
			break
		}
		select { // the leader has gone or is not active yet: ask again
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("write metadata: %w", last)
}

// kraftError is an error code in an answer.
type kraftError kraft.ErrorCode

func (e kraftError) Error() string { return "answered with " + kraft.ErrorCode(e).String() }

func (q *Quorum) alter(ctx context.Context, id kraft.NodeID, req *kmsg.IncrementalAlterConfigsRequest) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	a, err := DialAdmin(ctx, q.member(id).Advertised, "understudy-admin")
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // the answer is there or not
	resp, err := a.Request(ctx, req)
	if err != nil {
		return err
	}
	for _, r := range resp.(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if r.ErrorCode != 0 {
			return fmt.Errorf("group %s: %w", r.ResourceName, kraftError(r.ErrorCode))
		}
	}
	return nil
}
