package explore

// table maps numbers to small ones. A key may be 0.
type table struct {
	keys   []uint64
	values []uint32 // 0: free; else the value + 1
	used   int
}

func mix(v uint64) uint64 {
	v ^= v >> 32
	v *= 0xd6e8feb86659fd93
	v ^= v >> 32
	v *= 0xd6e8feb86659fd93
	return v ^ v>>32
}

func (t *table) get(key uint64) (uint32, bool) {
	mask := uint64(len(t.keys) - 1)
	for i := mix(key) & mask; ; i = (i + 1) & mask {
		if t.values[i] == 0 {
			return 0, false
		}
		if t.keys[i] == key {
			return t.values[i] - 1, true
		}
	}
}

func (t *table) put(key uint64, value uint32) {
	if t.used*3 >= len(t.keys)*2 {
		t.grow()
	}
	mask := uint64(len(t.keys) - 1)
	i := mix(key) & mask
	for t.values[i] != 0 {
		i = (i + 1) & mask
	}
	t.keys[i], t.values[i] = key, value+1
	t.used++
}

func (t *table) grow() {
	keys, values := t.keys, t.values
	n := max(1<<10, 2*len(keys))
	t.keys, t.values, t.used = make([]uint64, n), make([]uint32, n), 0
	for i, v := range values {
		if v != 0 {
			t.put(keys[i], v-1)
		}
	}
}

// sums is a set of 64-bit sums: the states that have been seen.
type sums struct {
	list []uint64
	used int
	zero bool
}

// add reports whether the sum is new.
func (s *sums) add(sum uint64) bool {
	if sum == 0 {
		added := !s.zero
		s.zero = true
		return added
	}
	if s.used*4 >= len(s.list)*3 {
		s.grow()
	}
	mask := uint64(len(s.list) - 1)
	i := sum & mask
	for s.list[i] != 0 {
		if s.list[i] == sum {
			return false
		}
		i = (i + 1) & mask
	}
	s.list[i] = sum
	s.used++
	return true
}

func (s *sums) grow() {
	old := s.list
	s.list = make([]uint64, max(1<<12, 2*len(old)))
	mask := uint64(len(s.list) - 1)
	for _, sum := range old {
		if sum == 0 {
			continue
		}
		i := sum & mask
		for s.list[i] != 0 {
			i = (i + 1) & mask
		}
		s.list[i] = sum
	}
}
