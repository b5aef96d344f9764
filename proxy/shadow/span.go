package shadow

// Moment is a point in one stream of observations.
type Moment struct {
	Stream int    // instants and orders of different streams are not comparable
	Order  uint64 // number of the observation, from 1, counted by the checker
	At     int64  // nanoseconds since the Unix epoch, by the stream's clock
}

// before reports whether m lies certainly before o. Order and clock must agree: an observer may hand observations
// over in another order than they happened, and a clock may jump.
func (m Moment) before(o Moment) bool {
	return m.Stream == o.Stream && m.Order < o.Order && m.At < o.At
}

// Span is the time in which something happened. A server took its decision between the moment its request
// came by and the moment its response did. A client built its request at some time before it came by; since a request may have
// waited in the client's queue, nothing is known of the earliest moment.
type Span struct {
	From Moment
	To   Moment
	Open bool // From means nothing
}

// Before reports whether s ended certainly before o began.
func (s Span) Before(o Span) bool { return !o.Open && s.To.before(o.From) }

// rise remembers values that may only grow: for any later span, what is the greatest value attested certainly
// before it? A value that is not greater than one attested earlier answers no such question, so it is not kept.
type rise struct {
	steps []step // of one stream; values and moments increase
}

type step struct {
	value int64
	to    Moment
	ref   ref
}

// riseLimit bounds the memory of a rise; thinning it out can only hide an order, not invent one.
const riseLimit = 64

// add takes note of a value attested at the latest at moment to.
func (r *rise) add(value int64, to Moment, at *ref) {
	if n := len(r.steps); n > 0 {
		last := &r.steps[n-1]
		if value <= last.value || to.Order < last.to.Order {
			return
		}
		if n == riseLimit {
			r.thin()
		}
	}
	r.steps = append(r.steps, step{value, to, *at})
}

// before returns the greatest value attested certainly before the span.
func (r *rise) before(s Span) (*step, bool) {
	for i := len(r.steps) - 1; i >= 0; i-- {
		if (Span{To: r.steps[i].to}).Before(s) {
			return &r.steps[i], true
		}
	}
	return nil, false
}

// prune drops what can no longer matter if every span to come begins at or after the order given.
func (r *rise) prune(oldest uint64) {
	keep := 0
	for keep+1 < len(r.steps) && r.steps[keep+1].to.Order < oldest {
		keep++
	}
	if keep > 0 {
		r.steps = append(r.steps[:0], r.steps[keep:]...)
	}
}

// thin drops every other step, but not the last.
func (r *rise) thin() {
	kept := r.steps[:0]
	for i := range r.steps {
		if i%2 == 1 || i == len(r.steps)-1 {
			kept = append(kept, r.steps[i])
		}
	}
	r.steps = kept
}

// rises is a rise for each stream.
type rises struct{ list []streamRise }

type streamRise struct {
	stream int
	rise   rise
}

func (r *rises) of(stream int) *rise {
	for i := range r.list {
		if r.list[i].stream == stream {
			return &r.list[i].rise
		}
	}
	r.list = append(r.list, streamRise{stream: stream})
	return &r.list[len(r.list)-1].rise
}
