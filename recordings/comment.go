package recordings

import (
	"strconv"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// comment tells a person what an observation that is not a frame says.
func comment(b []byte, o *Observation) []byte {
	b = append(b, "conn "...)
	b = strconv.AppendUint(b, o.Conn.ID, 10)
	switch o.Kind {
	case KindOpen:
		b = append(b, " opened: "...)
		b = o.Conn.Client.AppendTo(b)
		b = append(b, " -> "...)
		b = append(b, interfaceOf(o.Conn).name...)
		if o.Conn.Midway {
			b = append(b, " (was already open)"...)
		}
	case KindGap:
		b = append(b, " gap in "...)
		b = append(b, o.Dir.String()...)
		b = append(b, "s: "...)
		b = append(b, o.Gap.Reason...)
		b = appendMissing(b, o.Gap.Frames, " frames")
		b = appendMissing(b, o.Gap.Bytes, " bytes")
		if o.Gap.Fatal {
			b = append(b, "; nothing further of this direction can be read"...)
		}
	case KindClose:
		if o.Reset {
			return append(b, " reset"...)
		}
		return append(b, " closed"...)
	case KindFrame:
	}
	return b
}

func appendMissing(b []byte, n int64, what string) []byte {
	if n < 0 {
		return b
	}
	b = append(b, ", "...)
	b = strconv.AppendInt(b, n, 10)
	return append(b, what...)
}

// names prepares who speaks to whom on a connection, as "raft-client-2 -> node 1: ".
func (s *connState) names(c *Conn) {
	client := s.client
	if client == "" {
		client = c.Client.String()
	}
	server := c.Endpoint
	if c.Node != kraft.NoNode {
		server = "node " + c.Node.String()
	}
	s.prefix[wire.Request] = []byte(client + " -> " + server + ": ")
	s.prefix[wire.Response] = []byte(server + " -> " + client + ": ")
}

// clientID notes the client id of a request. Characters that do not print are replaced.
func (s *connState) clientID(c *Conn, id []byte) {
	if s.client == string(id) && s.prefix[0] != nil {
		return
	}
	clean := append([]byte(nil), id[:min(len(id), maxClientID)]...)
	for i, c := range clean {
		if c < ' ' || c > '~' {
			clean[i] = '?'
		}
	}
	s.client = string(clean)
	s.names(c)
}

// describer writes comments of frames. It has one owner.
type describer struct{ decoder wire.Decoder }

// frame describes a request or response by its original bytes; the printers leave secrets out.
func (d *describer) frame(b []byte, f *framed) []byte {
	switch {
	case f.raw:
		b = append(b, "SASL token"...)
	case !f.known:
		b = append(b, "response to a request that was not seen"...)
	case f.cut:
		b = append(b, wire.Name(f.header.Key)...)
		b = append(b, " cut off after "...)
		b = strconv.AppendInt(b, int64(len(f.bytes)), 10)
		b = append(b, " bytes"...)
	case f.dir == wire.Request:
		b = d.decoder.AppendRequestLine(b, f.header, f.body)
	default:
		b = d.decoder.AppendResponseLine(b, f.header.Key, f.header.Version, f.body)
	}
	return b
}
