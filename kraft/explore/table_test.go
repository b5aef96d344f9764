package explore

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTable_EqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table table
		table.grow()
		twin := map[uint64]uint32{}
		for i, key := range rapid.SliceOfN(rapid.Uint64Range(0, 3000), 0, 3000).Draw(t, "keys") {
			if _, ok := twin[key]; !ok {
				twin[key] = uint32(i)
				table.put(key, uint32(i))
			}
		}
		for key := uint64(0); key < 3001; key++ {
			got, ok := table.get(key)
			want, wanted := twin[key]
			if got != want || ok != wanted {
				t.Fatalf("%d: %d %t, want %d %t", key, got, ok, want, wanted)
			}
		}
	})
}

func TestSums_EqualsSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var seen sums
		twin := map[uint64]bool{}
		for _, sum := range rapid.SliceOfN(rapid.Uint64Range(0, 5000), 0, 6000).Draw(t, "sums") {
			sum *= 0x9e3779b97f4a7c15
			if seen.add(sum) == twin[sum] {
				t.Fatalf("%x: new %t", sum, !twin[sum])
			}
			twin[sum] = true
		}
	})
}

func TestState_UnpacksWhatWasPacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.Uint32()
		nodes := rapid.IntRange(1, maxNodes).Draw(t, "nodes")
		var list []uint32
		var states []state
		for range rapid.IntRange(1, 5).Draw(t, "states") {
			s := state{
				commit: word.Draw(t, "commit"), leaders: word.Draw(t, "leaders"), budget: rapid.Uint64().Draw(t, "budget"),
				packets: rapid.SliceOfN(word, 0, 9).Draw(t, "packets"),
			}
			for i := range nodes {
				s.nodes[i] = word.Draw(t, "node")
			}
			list, states = s.pack(list, nodes), append(states, s)
		}
		var got state
		for _, want := range states {
			list = got.unpack(list, nodes)
			if got.commit != want.commit || got.leaders != want.leaders || got.budget != want.budget || got.nodes != want.nodes ||
				!slices.Equal(got.packets, want.packets) {
				t.Fatalf("%+v, want %+v", got, want)
			}
		}
		if len(list) != 0 {
			t.Fatalf("%d words are left", len(list))
		}
	})
}
