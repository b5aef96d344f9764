package memfs

import (
	"maps"
	"slices"
)

// sector is what a disk writes as a whole.
const sector = 512

// Dice are a source of randomness, such as *rand.Rand.
type Dice interface{ IntN(n int) int }

// Crash is the file system after the machine has lost power: what was synced, and of what was not, some. Without random source
// nothing of it is left. Of changes to names a prefix is left; of the changes to one file any subset, each perhaps only in part.
func (f *FS) Crash(r Dice) *FS {
	after := New()
	after.dirs, after.clock = maps.Clone(f.dirs), f.clock+1
	names := maps.Clone(f.stable)
	if r != nil && len(f.journal) > 0 {
		for _, c := range f.journal[:r.IntN(len(f.journal)+1)] {
			c.apply(names)
		}
	}
	made := map[*node]*node{}
	for _, name := range slices.Sorted(maps.Keys(names)) { // in one order, so that a seed is a crash
		n := names[name]
		if made[n] == nil {
			data := n.after(r)
			made[n] = &node{data: data, stable: slices.Clone(data), changed: after.clock}
		}
		after.names[name], after.stable[name] = made[n], made[n]
	}
	return after
}

// after is what is left of a file.
func (n *node) after(r Dice) []byte {
	data := slices.Clone(n.stable)
	if r == nil {
		return data
	}
	style := r.IntN(3) // most of it, little of it, or anything
	for _, c := range n.pending {
		if style == 0 && r.IntN(10) == 0 || style == 1 && r.IntN(10) != 0 || style == 2 && r.IntN(2) == 0 {
			continue
		}
		if len(c.data) > 0 && r.IntN(3) == 0 {
			c = c.torn(r)
		}
		data = c.apply(data)
	}
	return data
}

// torn leaves out sectors of a write, or its end.
func (c change) torn(r Dice) change {
	if r.IntN(2) == 0 || len(c.data) <= sector {
		c.data = c.data[:r.IntN(len(c.data))]
		if len(c.data) == 0 {
			c.data = []byte{}
		}
		return c
	}
	at := r.IntN(len(c.data)/sector) * sector
	c.data = slices.Clone(c.data)
	clear(c.data[at : at+sector])
	return c
}
