package sim

// Shrink makes a failing run smaller for as long as the same invariant breaks: it takes away kinds of faults, then single faults, then
// nodes, then events. It gives up after so many tries.
func (w *World) Shrink(failed Result, tries int) Result {
	s := shrinker{w: w, best: failed, tries: tries}
	s.best.Options.Events = int(failed.Events)
	s.kinds()
	s.faults()
	s.nodes()
	s.rates()
	s.kinds()
	s.faults()
	return s.best
}

type shrinker struct {
	w     *World
	best  Result
	tries int
}

// try reports whether the options still break the invariant, and keeps them if so.
func (s *shrinker) try(o Options) bool {
	if s.tries--; s.tries < 0 {
		return false
	}
	r := s.w.Run(o)
	if r.Violation == nil || r.Violation.Invariant != s.best.Violation.Invariant {
		return false
	}
	if !s.best.late() && !r.late() { // it broke in the safety phase: nothing behind it is needed
		o.Events = int(r.Events)
		r.Options = o
	}
	s.best = r
	return true
}

// late reports whether it took the liveness phase.
func (r *Result) late() bool { return r.Events > uint64(r.Options.Events) }

func (s *shrinker) kinds() {
	for k := range kinds {
		if o := s.best.Options; o.Kinds.Has(k) {
			o.Kinds = o.Kinds.Without(k)
			s.try(o)
		}
	}
}

// faults leaves out ever smaller ranges of the faults that struck.
func (s *shrinker) faults() {
	n := s.best.Faults
	for size := n; size >= 1; size /= 2 {
		for from := 1; from <= n; from += size {
			o := s.best.Options
			skip := map[int]bool{}
			for k := range o.Skip {
				skip[k] = true
			}
			added := false
			for i := from; i < from+size && i <= n; i++ {
				added = added || !skip[i]
				skip[i] = true
			}
			o.Skip = skip
			if added {
				s.try(o)
			}
		}
	}
}

func (s *shrinker) nodes() {
	for _, fewer := range []func(*Options) *int{
		func(o *Options) *int { return &o.Observers }, func(o *Options) *int { return &o.Spares }, func(o *Options) *int { return &o.Voters },
	} {
		for {
			o := s.best.Options
			if n := fewer(&o); *n == 0 || o.nodes() == 1 || o.Voters == 1 && n == &o.Voters {
				break
			}
			*fewer(&o)--
			o.Profiles = o.Profiles[:o.nodes()]
			if !s.try(o) {
				break
			}
		}
	}
}

// rates makes it quieter.
func (s *shrinker) rates() {
	o := s.best.Options
	o.AppendEvery *= 4
	s.try(o)
	o = s.best.Options
	o.AutoJoin, o.Wire = false, false
	s.try(o)
}
