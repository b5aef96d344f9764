package shadow

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// Core is a small part of a stream that alone shows a finding: judged by itself, it leads to the same verdict.
type Core struct {
	Finding      Finding
	Observations []recordings.Observation
	Frames       int
	Whole        bool // nothing smaller shows it: these are all observations that were tried
}

// ErrNoCore says that no part of the stream that was kept shows the finding.
var ErrNoCore = errors.New("no small part of the input shows it alone")

// The bounds on what is kept of a stream for the reduction of a finding: the observations before it was made, and some on the
// connections of its proof.
const (
	coreWindow = 4096
	coreBytes  = 16 << 20
	coreNear   = 3 // frames of a connection on either side of one in the proof
	coreFirst  = 2 // frames at the beginning of a connection in the proof
	coreTrials = 4000
)

// Names says which node is behind a listener, as far as that was learnt.
func (c *Checker) Names() map[string]kraft.NodeID {
	names := map[string]kraft.NodeID{}
	for _, e := range c.endpointList {
		if e.node != nil { // a listener that contradicted itself had a name before
			names[e.name] = e.node.id
		}
	}
	return names
}

// Cores reduces findings of one input, which it reads again. names is what the checker that found them learnt. Of a finding
// without a core the error says why; the others are not affected.
func Cores(options Options, names map[string]kraft.NodeID, findings []Finding, in recordings.Source) ([]Core, []error, error) {
	options = Options{Names: names, FaultAsPeer: options.FaultAsPeer}
	keepers := make([]*coreKeeper, len(findings))
	for i := range findings {
		keepers[i] = newCoreKeeper(&findings[i])
	}
	window := &coreRing{}
	var o recordings.Observation
	opened := map[*recordings.Conn]recordings.Observation{}
	for order := uint64(1); slices.ContainsFunc(keepers, func(k *coreKeeper) bool { return !k.done }); order++ {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		kept := copied(&o)
		window.add(order, kept)
		if o.Kind == recordings.KindOpen {
			opened[o.Conn] = kept
		}
		for _, k := range keepers {
			k.look(order, &kept, opened, window)
		}
		if o.Kind == recordings.KindClose {
			delete(opened, o.Conn)
		}
	}
	cores, errs := make([]Core, len(findings)), make([]error, len(findings))
	for i, k := range keepers {
		cores[i], errs[i] = k.reduce(options, names)
	}
	return cores, errs, nil
}

// copied is an observation that stays valid.
func copied(o *recordings.Observation) recordings.Observation {
	kept := *o
	kept.Frame.Bytes = bytes.Clone(o.Frame.Bytes)
	kept.Withheld = slices.Clone(o.Withheld)
	if o.Fault != nil {
		fault := *o.Fault
		fault.Sent, fault.Withheld = bytes.Clone(fault.Sent), slices.Clone(fault.Withheld)
		kept.Fault = &fault
	}
	if o.Gap != nil {
		gap := *o.Gap
		kept.Gap = &gap
	}
	return kept
}

// placed is an observation with its place in the stream.
type placed struct {
	order uint64
	o     recordings.Observation
}

// coreRing holds the last observations.
type coreRing struct {
	list  []placed
	bytes int
}

func (r *coreRing) add(order uint64, o recordings.Observation) {
	r.list = append(r.list, placed{order, o})
	r.bytes += len(o.Frame.Bytes)
	drop := 0
	for len(r.list)-drop > coreWindow || r.bytes > coreBytes && drop < len(r.list)-1 {
		r.bytes -= len(r.list[drop].o.Frame.Bytes)
		drop++
	}
	if drop > 0 {
		r.list = slices.Delete(r.list, 0, drop)
	}
}

// coreKeeper gathers what may be needed to show one finding.
type coreKeeper struct {
	finding *Finding
	near    []placed // on the connections of the proof
	window  []placed // all before the finding was made
	done    bool
}

func newCoreKeeper(f *Finding) *coreKeeper { return &coreKeeper{finding: f} }

// look takes in an observation of the second reading.
func (k *coreKeeper) look(order uint64, o *recordings.Observation, opened map[*recordings.Conn]recordings.Observation, window *coreRing) {
	if k.done {
		return
	}
	for i := range k.finding.Proof {
		e := &k.finding.Proof[i]
		if e.Conn != o.Conn.ID || e.Stream != o.Conn.Stream {
			continue
		}
		if o.Kind != recordings.KindFrame || o.Seq < coreFirst || o.Seq+coreNear >= e.Seq && o.Seq <= e.Seq+coreNear {
			k.near = append(k.near, placed{order, *o})
			break
		}
	}
	if order == k.finding.order {
		k.done = true
		k.window = slices.Clone(window.list)
		seen := map[*recordings.Conn]bool{}
		for i := range k.window {
			if p := &k.window[i]; p.o.Kind == recordings.KindOpen {
				seen[p.o.Conn] = true
			}
		}
		var before []placed
		for i := range k.window {
			conn := k.window[i].o.Conn
			if o, ok := opened[conn]; ok && !seen[conn] {
				seen[conn] = true
				before = append(before, placed{0, o})
			}
		}
		k.window = append(before, k.window...)
	}
}

// coreUnit is what can only be left out together: a request and its answer, or anything else by itself.
type coreUnit struct{ parts []placed }

// reduce leaves out of the stream whatever the finding does not need.
func (k *coreKeeper) reduce(options Options, names map[string]kraft.NodeID) (Core, error) {
	if !k.done {
		return Core{}, ErrNoCore
	}
	r := &coreReducer{options: options, finding: k.finding, left: coreTrials}
	if k.finding.Rule == tier2Rule.ID {
		return k.shortest(r, names)
	}
	for _, start := range [][]placed{k.near, union(k.near, k.window)} {
		list := units(start)
		if !r.shows(list) {
			continue
		}
		return k.core(r.reduce(list), names), nil
	}
	return Core{}, ErrNoCore
}

// core is what is left of a stream as a core.
func (k *coreKeeper) core(list []coreUnit, names map[string]kraft.NodeID) Core {
	core := Core{Finding: *k.finding, Observations: finished(list, names)}
	for i := range core.Observations {
		if core.Observations[i].Kind == recordings.KindFrame {
			core.Frames++
		}
	}
	return core
}

// shortest is the reduction of a finding of the second tier. That tier explains what a node does by all that came to it, so nothing may be
// left out from the middle. But each node is judged alone, by its own connections, and from wherever judging begins: what is sought is the
// shortest end of the node's own stream that shows the finding.
func (k *coreKeeper) shortest(r *coreReducer, names map[string]kraft.NodeID) (Core, error) {
	r.options.Tier2, r.options.SeesAll = true, true
	own := map[*recordings.Conn]bool{}
	for i := range k.window {
		o := &k.window[i].o
		id, named := names[o.Conn.Endpoint]
		if named && id == k.finding.Node || o.Conn.Node == k.finding.Node {
			own[o.Conn] = true
		}
		if o.Kind == recordings.KindFrame && o.Dir == wire.Request {
			if h, _, err := wire.ParseRequestHeader(o.Frame.Bytes); err == nil {
				if id, ok := raftClientID(h.ClientID); ok && id == k.finding.Node {
					own[o.Conn] = true
				}
			}
		}
	}
	var all []placed
	for i := range k.window {
		if own[k.window[i].o.Conn] {
			all = append(all, k.window[i])
		}
	}
	last := k.finding.Proof[len(k.finding.Proof)-1].Number
	for n := len(all); n > 0 && all[n-1].o.Number > last; n-- { // what came behind the proof is not needed
		all = all[:n-1]
	}
	for size := 8; ; size *= 2 {
		from := max(0, len(all)-size)
		if list := units(midway(all[from:])); r.shows(list) {
			return k.core(list, names), nil
		}
		if from == 0 {
			return Core{}, ErrNoCore
		}
	}
}

// midway is a part of a stream as an observer would have seen it who came then: connections that it does not see opening were open.
func midway(list []placed) []placed {
	conns := map[*recordings.Conn]*recordings.Conn{}
	out := slices.Clone(list)
	for i := range out {
		o := &out[i].o
		conn := conns[o.Conn]
		if conn == nil {
			joined := *o.Conn
			joined.Midway = joined.Midway || o.Kind != recordings.KindOpen
			conn = &joined
			conns[o.Conn] = conn
		}
		o.Conn = conn
	}
	return out
}

// union merges two parts of a stream.
func union(a, b []placed) []placed {
	out := slices.Clone(b)
	for i := range a {
		same := func(p placed) bool {
			return p.o.Number == a[i].o.Number && p.o.Conn == a[i].o.Conn && p.o.Kind == a[i].o.Kind && p.o.Seq == a[i].o.Seq && p.o.Dir == a[i].o.Dir
		}
		if !slices.ContainsFunc(b, same) {
			out = append(out, a[i])
		}
	}
	slices.SortStableFunc(out, func(x, y placed) int {
		switch {
		case x.order < y.order:
			return -1
		case x.order > y.order:
			return 1
		}
		return 0
	})
	return out
}

// units pairs requests with their answers.
func units(list []placed) []coreUnit {
	type key struct {
		conn *recordings.Conn
		id   int32
	}
	var out []coreUnit
	open := map[key]int{}
	for _, p := range list {
		if p.o.Kind == recordings.KindFrame {
			if id, ok := correlation(&p.o); ok {
				at := key{p.o.Conn, id}
				if i, asked := open[at]; asked && p.o.Dir == wire.Response {
					out[i].parts = append(out[i].parts, p)
					delete(open, at)
					continue
				}
				if p.o.Dir == wire.Request {
					open[at] = len(out)
				}
			}
		}
		out = append(out, coreUnit{[]placed{p}})
	}
	return out
}

// correlation is the correlation id of a frame.
func correlation(o *recordings.Observation) (int32, bool) {
	b := o.Frame.Bytes
	if len(b) == 0 && o.Fault != nil {
		b = o.Fault.Sent
	}
	at := 0
	if o.Dir == wire.Request {
		at = 4
	}
	if len(b) < at+4 {
		return 0, false
	}
	return int32(uint32(b[at])<<24 | uint32(b[at+1])<<16 | uint32(b[at+2])<<8 | uint32(b[at+3])), true
}

// coreReducer tries parts of a stream.
type coreReducer struct {
	options Options
	finding *Finding
	left    int
}

// reduce leaves out ever smaller stretches, until none can be left out any more (Zeller, delta debugging).
func (r *coreReducer) reduce(list []coreUnit) []coreUnit {
	for size := max(len(list)/2, 1); ; {
		again := false
		for from := 0; from < len(list) && r.left > 0; {
			to := min(from+size, len(list))
			rest := append(slices.Clone(list[:from]), list[to:]...)
			if len(rest) > 0 && r.shows(rest) {
				list, again = rest, true
			} else {
				from = to
			}
		}
		if size == 1 && !again || r.left <= 0 {
			return list
		}
		size = max(size/2, 1)
	}
}

// shows reports whether a part of the stream leads to the finding, by the same frames. That it be the same frames keeps the reduction honest:
// where an answer is left out, another node may look guilty.
func (r *coreReducer) shows(list []coreUnit) bool {
	r.left--
	c := New(r.options)
	var all []placed
	for i := range list {
		all = append(all, list[i].parts...)
	}
	slices.SortStableFunc(all, byOrder)
	for i := range all {
		o := all[i].o
		c.Observe(&o)
	}
	c.Finish()
	for i := range c.findings.all {
		if c.findings.all[i].sameAs(r.finding) {
			return true
		}
	}
	return false
}

func byOrder(a, b placed) int {
	switch {
	case a.order < b.order:
		return -1
	case a.order > b.order:
		return 1
	}
	return 0
}

// sameAs reports whether two findings are of the same thing, by the same frames.
func (f *Finding) sameAs(o *Finding) bool {
	if f.Rule == tier2Rule.ID { // it tells what answers what only where it saw both
		return f.key == o.key && len(f.Proof) > 0 && len(o.Proof) > 0 && f.Proof[len(f.Proof)-1].Number == o.Proof[len(o.Proof)-1].Number
	}
	return f.key == o.key && slices.EqualFunc(f.Proof, o.Proof, func(a, b Evidence) bool {
		return a.Stream == b.Stream && a.Number == b.Number && a.Dir == b.Dir && a.Conn == b.Conn
	})
}

// finished makes a stream of its own of what is left: frames are counted anew, and listeners have their nodes' names.
func finished(list []coreUnit, names map[string]kraft.NodeID) []recordings.Observation {
	var all []placed
	for i := range list {
		all = append(all, list[i].parts...)
	}
	slices.SortStableFunc(all, byOrder)
	conns := map[*recordings.Conn]*recordings.Conn{}
	seq := map[*recordings.Conn]*[2]uint64{}
	out := make([]recordings.Observation, len(all))
	for i := range all {
		o := all[i].o
		conn := conns[o.Conn]
		if conn == nil {
			named := *o.Conn
			if id, ok := names[named.Endpoint]; ok {
				named.Node = id
			} else if id, ok := names[named.Server.String()]; ok {
				named.Node = id
			}
			conn = &named
			conns[o.Conn], seq[conn] = conn, new([2]uint64)
		}
		o.Conn, o.Number = conn, uint64(i+1)
		if o.Kind == recordings.KindFrame {
			o.Seq = seq[conn][o.Dir]
			seq[conn][o.Dir]++
		}
		out[i] = o
	}
	return out
}
