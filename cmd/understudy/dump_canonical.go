package main

import (
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// canonical returns where the body of a frame is not what Kafka would have written. Bodies with withheld parts other
// than record bodies are not looked at: the fillers are ours.
func (d *dumper) canonical(o *recordings.Observation, f *dumpedFrame) []wire.Finding {
	if !d.flags.canonical || !f.known || o.Frame.Cut {
		return nil
	}
	for _, w := range f.withheld {
		if w.SHA256 == [32]byte{} {
			return nil
		}
	}
	return wire.Canonical(f.header.Key, f.header.Version, o.Dir, f.body)
}

// appendFindings prints findings below the line of their frame.
func (d *dumper) appendFindings(list []wire.Finding) {
	for _, f := range list {
		d.out = append(append(d.out, "    not canonical: "...), f.String()...)
		if f.Refused {
			d.out = append(d.out, " (Kafka's reader refuses the message)"...)
		}
		d.out = append(d.out, '\n')
	}
}

// dumpedFinding is a finding in JSON.
type dumpedFinding struct {
	Kind    string `json:"kind"`
	Offset  int    `json:"offset"`
	Field   string `json:"field,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Refused bool   `json:"refused,omitempty"`
}

func dumpedFindings(list []wire.Finding) (out []dumpedFinding) {
	for _, f := range list {
		out = append(out, dumpedFinding{f.Kind.String(), f.Offset, f.Field, f.Detail, f.Refused})
	}
	return out
}
