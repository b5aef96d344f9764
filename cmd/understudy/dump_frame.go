package main

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// dumpedFrame is a frame with what its header says.
type dumpedFrame struct {
	bytes    []byte
	body     []byte
	withheld []recordings.Withheld
	header   wire.RequestHeader // of a response: that of its request
	known    bool               // header is known
}

// frame prints a frame if it passes the filters.
func (d *dumper) frame(c *dumpedConn, o *recordings.Observation) {
	f := dumpedFrame{bytes: o.Frame.Bytes, withheld: o.Withheld}
	if o.Fault != nil && !o.Fault.Delivered {
		f.bytes, f.withheld = o.Fault.Sent, o.Fault.Withheld
	}
	var exchange *wire.Exchange
	if o.Dir == wire.Request {
		h, body, err := wire.ParseRequestHeader(f.bytes)
		if err == nil {
			f.header, f.body, f.known = h, body, true
			c.pairs.Request(h, nil, o.At, o.Seq)
			if c.clientID != string(h.ClientID) {
				c.clientID = string(h.ClientID)
			}
		}
	} else if x, err := c.pairs.Response(f.bytes, o.At); err == nil {
		f.header, f.body, f.known = x.Header, x.Response, true
		exchange = x
	}
	d.learn(o, &f)
	if d.wanted(c, o) && d.passes(o, &f) {
		d.lines++
		if d.json {
			d.frameJSON(c, o, &f)
		} else {
			d.frameText(c, o, &f)
		}
	}
	if exchange != nil {
		c.pairs.Release(exchange)
	}
}

// passes applies the filters that concern the message.
func (d *dumper) passes(o *recordings.Observation, f *dumpedFrame) bool {
	if len(d.keys) > 0 && (!f.known || !slices.Contains(d.keys, f.header.Key)) {
		return false
	}
	if len(d.flags.epochs) == 0 {
		return true
	}
	for _, epoch := range d.epochs(o.Dir, f) {
		if slices.Contains(d.flags.epochs, int32(epoch)) {
			return true
		}
	}
	return false
}

// hidden reports whether the body is withheld, but perhaps for an error code at its begin.
func (f *dumpedFrame) hidden() bool {
	for _, w := range f.withheld {
		if w.End == len(f.bytes) && w.Start <= len(f.bytes)-len(f.body)+2 && w.SHA256 == [32]byte{} {
			return true
		}
	}
	return false
}

const dumpTime = "2006-01-02T15:04:05.000000Z"

// prefix prints when, where and who to whom.
func (d *dumper) prefix(c *dumpedConn, o *recordings.Observation) {
	d.out = time.Unix(0, o.At.Seen).UTC().AppendFormat(d.out, dumpTime)
	d.out = append(d.out, " c"...)
	d.out = strconv.AppendUint(d.out, o.Conn.ID, 10)
	d.out = append(d.out, ' ')
	client, server := d.peers(c, o.Conn)
	if o.Kind != recordings.KindOpen && o.Kind != recordings.KindClose && o.Dir == wire.Response {
		client, server = server, client
	}
	d.out = append(append(append(d.out, client...), " -> "...), server...)
	d.out = append(d.out, ' ')
}

// peers names both ends: a node by its id, others by client id or address.
func (d *dumper) peers(c *dumpedConn, conn *recordings.Conn) (client, server string) {
	if id := c.client(); id != kraft.NoNode {
		client = id.String()
	} else if c.clientID != "" {
		client = strconv.Quote(c.clientID)
	} else {
		client = conn.Client.String()
	}
	if id := d.server(conn); id != kraft.NoNode {
		return client, id.String()
	}
	return client, conn.Endpoint
}

func (d *dumper) frameText(c *dumpedConn, o *recordings.Observation, f *dumpedFrame) {
	d.prefix(c, o)
	d.message(o, f)
	if o.Fault != nil {
		d.out = append(d.out, " [fault "...)
		d.out = append(d.out, o.Fault.Rule...)
		if !o.Fault.Delivered {
			d.out = append(d.out, ", not delivered"...)
		} else if o.Fault.Sent != nil {
			d.out = append(d.out, ", altered"...)
		}
		d.out = append(d.out, ']')
	}
	d.out = append(d.out, '\n')
	d.appendFindings(d.canonical(o, f))
}

// message prints what the frame says.
func (d *dumper) message(o *recordings.Observation, f *dumpedFrame) {
	switch {
	case !f.known && o.Dir == wire.Response:
		d.out = append(d.out, "response to a request that was not seen, "...)
		d.out = append(strconv.AppendInt(d.out, int64(len(f.bytes)), 10), " bytes"...)
	case !f.known:
		d.out = append(d.out, "no request header, "...)
		d.out = append(strconv.AppendInt(d.out, int64(len(f.bytes)), 10), " bytes"...)
	case f.hidden() || o.Frame.Cut:
		d.out = append(d.out, wire.Name(f.header.Key)...)
		d.out = append(d.out, " v"...)
		d.out = strconv.AppendInt(d.out, int64(f.header.Version), 10)
		d.out = append(d.out, ' ')
		d.out = strconv.AppendInt(d.out, int64(max(o.Frame.Size, len(f.bytes))-len(f.bytes)+len(f.body)), 10)
		d.out = append(d.out, " bytes "...)
		if o.Frame.Cut {
			d.out = append(d.out, "cut off"...)
		} else {
			d.out = append(d.out, "withheld"...)
		}
	case o.Dir == wire.Request:
		d.out = d.decode.AppendRequestLine(d.out, f.header, f.body)
	default:
		d.out = d.decode.AppendResponseLine(d.out, f.header.Key, f.header.Version, f.body)
	}
}

// event prints an observation that is not a frame.
func (d *dumper) event(c *dumpedConn, o *recordings.Observation) {
	if d.json {
		e := d.head(c, o)
		if o.Gap != nil {
			e.Gap = &dumpedGap{o.Gap.Reason, o.Gap.Bytes, o.Gap.Frames, o.Gap.Fatal}
		}
		d.line(e)
		return
	}
	d.prefix(c, o)
	switch {
	case o.Kind == recordings.KindOpen:
		if o.Conn.Midway {
			d.out = append(d.out, "joined midway"...)
		} else {
			d.out = append(d.out, "open"...)
		}
		if d.server(o.Conn) != kraft.NoNode {
			d.out = append(append(d.out, " at "...), o.Conn.Endpoint...)
		}
	case o.Reset:
		d.out = append(d.out, "reset"...)
	case o.Kind == recordings.KindClose:
		d.out = append(d.out, "close"...)
	case o.Gap != nil:
		d.out = append(d.out, "gap: "...)
		d.out = append(d.out, o.Gap.Reason...)
		if o.Gap.Frames >= 0 {
			d.out = append(strconv.AppendInt(append(d.out, ", "...), o.Gap.Frames, 10), " frames"...)
		}
		if o.Gap.Bytes >= 0 {
			d.out = append(strconv.AppendInt(append(d.out, ", "...), o.Gap.Bytes, 10), " bytes"...)
		}
		if o.Gap.Fatal {
			d.out = append(d.out, ", nothing further can be read"...)
		}
	}
	d.out = append(d.out, '\n')
}

// dumpedLine is a line of JSON output.
type dumpedLine struct {
	Time          string           `json:"time"`
	Kind          string           `json:"kind"`
	Number        uint64           `json:"number"`
	Conn          uint64           `json:"conn"`
	Stream        int              `json:"stream,omitempty"`
	Client        string           `json:"client"`
	Server        string           `json:"server"`
	Endpoint      string           `json:"endpoint,omitempty"`
	Midway        bool             `json:"midway,omitempty"`
	Direction     string           `json:"direction,omitempty"`
	Seq           *uint64          `json:"seq,omitempty"`
	ForwardedNs   int64            `json:"forwardedAfterNs,omitempty"`
	Size          int              `json:"size,omitempty"`
	Cut           bool             `json:"cut,omitempty"`
	Name          string           `json:"name,omitempty"`
	Key           *int16           `json:"requestApiKey,omitempty"`
	Version       *int16           `json:"requestApiVersion,omitempty"`
	CorrelationID *int32           `json:"correlationId,omitempty"`
	ClientID      string           `json:"clientId,omitempty"`
	Body          json.RawMessage  `json:"body,omitempty"`
	Findings      []dumpedFinding  `json:"notCanonical,omitempty"`
	Withheld      []dumpedWithheld `json:"withheld,omitempty"`
	Fault         *dumpedFault     `json:"fault,omitempty"`
	Gap           *dumpedGap       `json:"gap,omitempty"`
	Reset         bool             `json:"reset,omitempty"`
}

type dumpedWithheld struct {
	Start    int    `json:"start"`
	End      int    `json:"end"`
	SHA256   string `json:"sha256,omitempty"`
	CRCValid bool   `json:"crcValid,omitempty"`
}

type dumpedFault struct {
	Rule      string          `json:"rule"`
	Delivered bool            `json:"delivered"`
	Sent      json.RawMessage `json:"sent,omitempty"` // the body as it was sent, if it was altered
}

type dumpedGap struct {
	Reason string `json:"reason"`
	Bytes  int64  `json:"bytes"`
	Frames int64  `json:"frames"`
	Fatal  bool   `json:"fatal,omitempty"`
}

func (d *dumper) head(c *dumpedConn, o *recordings.Observation) *dumpedLine {
	client, server := d.peers(c, o.Conn)
	e := &dumpedLine{
		Time: time.Unix(0, o.At.Seen).UTC().Format(time.RFC3339Nano), Kind: o.Kind.String(), Number: o.Number,
		Conn: o.Conn.ID, Stream: o.Conn.Stream, Client: client, Server: server, Endpoint: o.Conn.Endpoint,
		Midway: o.Conn.Midway && o.Kind == recordings.KindOpen, Reset: o.Reset,
	}
	if o.Kind == recordings.KindFrame || o.Kind == recordings.KindGap {
		e.Direction = o.Dir.String()
	}
	return e
}

func (d *dumper) frameJSON(c *dumpedConn, o *recordings.Observation, f *dumpedFrame) {
	e := d.head(c, o)
	e.Seq, e.ForwardedNs = &o.Seq, o.At.Forwarded-o.At.Seen
	e.Size, e.Cut = max(o.Frame.Size, len(f.bytes)), o.Frame.Cut
	if f.known {
		e.Name, e.Key, e.Version = wire.Name(f.header.Key), &f.header.Key, &f.header.Version
		e.CorrelationID, e.ClientID = &f.header.CorrelationID, string(f.header.ClientID)
		if !f.hidden() && !o.Frame.Cut {
			e.Body = bodyJSON(o.Dir, f.header, f.body)
		}
	}
	e.Findings = dumpedFindings(d.canonical(o, f))
	for _, w := range f.withheld {
		shown := dumpedWithheld{Start: w.Start, End: w.End, CRCValid: w.CRCValid}
		if w.SHA256 != [32]byte{} {
			shown.SHA256 = hex.EncodeToString(w.SHA256[:])
		}
		e.Withheld = append(e.Withheld, shown)
	}
	if o.Fault != nil {
		e.Fault = &dumpedFault{Rule: o.Fault.Rule, Delivered: o.Fault.Delivered}
		if o.Fault.Delivered && o.Fault.Sent != nil {
			e.Fault.Sent = sentJSON(o, f)
		}
	}
	d.line(e)
}

func bodyJSON(dir wire.Direction, h wire.RequestHeader, body []byte) json.RawMessage {
	if dir == wire.Request {
		return wire.AppendRequestJSON(nil, h, body, wire.JSONOptions{})
	}
	return wire.AppendResponseJSON(nil, h.Key, h.Version, body, wire.JSONOptions{})
}

// sentJSON is the body of what the sender of an altered frame wrote.
func sentJSON(o *recordings.Observation, f *dumpedFrame) json.RawMessage {
	sent := dumpedFrame{bytes: o.Fault.Sent, withheld: o.Fault.Withheld, header: f.header}
	var err error
	if o.Dir == wire.Request {
		sent.header, sent.body, err = wire.ParseRequestHeader(sent.bytes)
	} else {
		_, sent.body, err = wire.ParseResponseHeader(sent.bytes, f.header.Key, f.header.Version)
	}
	if err != nil || sent.hidden() {
		return nil
	}
	return bodyJSON(o.Dir, sent.header, sent.body)
}

func (d *dumper) line(e *dumpedLine) {
	b, err := json.Marshal(e)
	if err != nil {
		b, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	d.out = append(append(d.out, b...), '\n')
}

// epochs lists the epochs that a message names.
func (d *dumper) epochs(dir wire.Direction, f *dumpedFrame) []kraft.Epoch {
	if !f.known || !wire.Raft(f.header.Key) {
		return nil
	}
	if dir == wire.Request {
		m, err := d.decode.Request(f.header.Key, f.header.Version, f.body)
		if err != nil {
			return nil
		}
		return requestEpochs(m)
	}
	m, err := d.decode.Response(f.header.Key, f.header.Version, f.body)
	if err != nil {
		return nil
	}
	return responseEpochs(m)
}

func requestEpochs(m kmsg.Request) (list []kraft.Epoch) {
	add := func(epoch int32) { list = append(list, kraft.Epoch(epoch)) }
	switch m := m.(type) {
	case *kmsg.FetchRequest:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].CurrentLeaderEpoch)
			}
		}
	case *kmsg.VoteRequest:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].CandidateEpoch)
			}
		}
	case *kmsg.BeginQuorumEpochRequest:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].LeaderEpoch)
			}
		}
	case *kmsg.EndQuorumEpochRequest:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].LeaderEpoch)
			}
		}
	case *kmsg.FetchSnapshotRequest:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].CurrentLeaderEpoch)
			}
		}
	case *kmsg.UpdateRaftVoterRequest:
		add(m.CurrentLeaderEpoch)
	}
	return list
}

func responseEpochs(m kmsg.Response) (list []kraft.Epoch) {
	add := func(epoch int32) { list = append(list, kraft.Epoch(epoch)) }
	switch m := m.(type) {
	case *kmsg.FetchResponse:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].CurrentLeader.LeaderEpoch)
			}
		}
	case *kmsg.VoteResponse:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].LeaderEpoch)
			}
		}
	case *kmsg.BeginQuorumEpochResponse:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].LeaderEpoch)
			}
		}
	case *kmsg.EndQuorumEpochResponse:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].LeaderEpoch)
			}
		}
	case *kmsg.FetchSnapshotResponse:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].CurrentLeader.LeaderEpoch)
			}
		}
	case *kmsg.DescribeQuorumResponse:
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				add(m.Topics[i].Partitions[j].LeaderEpoch)
			}
		}
	case *kmsg.UpdateRaftVoterResponse:
		add(m.CurrentLeader.LeaderEpoch)
	}
	return list
}

// learn finds out from a message which node listens where: requests to a voter name it.
func (d *dumper) learn(o *recordings.Observation, f *dumpedFrame) {
	if o.Dir != wire.Request || !f.known || d.server(o.Conn) != kraft.NoNode {
		return
	}
	voter := int32(kraft.NoNode)
	switch f.header.Key {
	case wire.KeyVote, wire.KeyBeginQuorumEpoch:
	default:
		return
	}
	m, err := d.decode.Request(f.header.Key, f.header.Version, f.body)
	if err != nil || f.header.Version < 1 {
		return
	}
	switch m := m.(type) {
	case *kmsg.VoteRequest:
		voter = m.VoterID
	case *kmsg.BeginQuorumEpochRequest:
		voter = m.VoterID
	}
	if voter >= 0 {
		d.names[o.Conn.Endpoint] = kraft.NodeID(voter)
	}
}
