package sim

// random is a small generator (splitmix64). The simulator has several, each seeded with the seed and its purpose, so that a fault that
// is left out while a failure is shrunk does not change what the network draws.
type random struct{ state uint64 }

func newRandom(seed, purpose uint64) random {
	r := random{seed*0x9e3779b97f4a7c15 ^ purpose*0xbf58476d1ce4e5b9}
	r.next()
	return r
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below draws from [0, n); 0 for n of 0 and less.
func (r *random) below(n int64) int64 {
	if n <= 0 {
		return 0
	}
	return int64(r.next() >> 33 * uint64(n) >> 31)
}

// between draws from [low, high].
func (r *random) between(low, high int64) int64 { return low + r.below(high-low+1) }

func (r *random) pick(n int) int { return int(r.below(int64(n))) }

// chance is true perMille times in a thousand.
func (r *random) chance(perMille int64) bool { return perMille > 0 && r.below(1000) < perMille }
