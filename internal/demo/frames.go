package demo

import (
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// ElectionFrames writes the frames by which the leaders of some epochs were chosen, one line for each: votes and the
// begin of an epoch, from the epoch first to the epoch last. It returns how many there are.
func ElectionFrames(out io.Writer, src recordings.Source, first, last kraft.Epoch) (n int, err error) {
	var d wire.Decoder
	pairs := map[uint64]*wire.Pairer{}
	var o recordings.Observation
	var line []byte
	for {
		err := src.Next(&o)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if o.Kind != recordings.KindFrame {
			continue
		}
		pairer := pairs[o.Conn.ID]
		if pairer == nil {
			pairer = &wire.Pairer{}
			pairs[o.Conn.ID] = pairer
		}
		var x *wire.Exchange
		if o.Dir == wire.Request {
			header, body, err := wire.ParseRequestHeader(o.Frame.Bytes)
			if err != nil {
				continue
			}
			x = pairer.Request(header, body, o.At, o.Seq)
			line = d.AppendRequestLine(line[:0], x.Header, x.Request)
		} else {
			if x, err = pairer.Response(o.Frame.Bytes, o.At); err != nil {
				continue
			}
			line = d.AppendResponseLine(line[:0], x.Header.Key, x.Header.Version, x.Response)
		}
		if epoch := electionEpoch(&d, x); epoch >= first && epoch <= last {
			n++
			from, to := clientNode(x.Header.ClientID), o.Conn.Node
			if o.Dir == wire.Response {
				from, to = to, from
			}
			fmt.Fprintf(out, "    %5d  %s->%s  %-8s  %s\n", o.Number, from, to, o.Dir, line)
		}
	}
}

// electionEpoch is the epoch of a Vote or BeginQuorumEpoch exchange, -1 for pre-votes and for everything else.
func electionEpoch(d *wire.Decoder, x *wire.Exchange) kraft.Epoch {
	if x.Header.Key != wire.KeyVote && x.Header.Key != wire.KeyBeginQuorumEpoch {
		return -1
	}
	m, err := d.Request(x.Header.Key, x.Header.Version, x.Request)
	if err != nil {
		return -1
	}
	switch r := m.(type) {
	case *kmsg.VoteRequest:
		if len(r.Topics) == 1 && len(r.Topics[0].Partitions) == 1 && !r.Topics[0].Partitions[0].PreVote {
			return kraft.Epoch(r.Topics[0].Partitions[0].CandidateEpoch)
		}
	case *kmsg.BeginQuorumEpochRequest:
		if len(r.Topics) == 1 && len(r.Topics[0].Partitions) == 1 {
			return kraft.Epoch(r.Topics[0].Partitions[0].LeaderEpoch)
		}
	}
	return -1
}
