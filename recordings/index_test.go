package recordings

import (
	"os"
	"slices"
	"testing"
)

// TestIndex_SavesTimeAndNothingElse reads from each block with the index, with it deleted, cut, damaged, rebuilt,
// and with that of another recording.
func TestIndex_SavesTimeAndNothingElse(t *testing.T) {
	base, other := tempBase(t), tempBase(t)
	a, b := newStory(1).votes(20), newStory(2).votes(20)
	var list []Observation
	for i := range a.list {
		list = append(list, a.list[i], b.list[i])
	}
	list = append(list, Observation{Kind: KindClose, Conn: a.conn, At: a.list[len(a.list)-1].At})
	opts := Options{ChunkSize: 900, SegmentSize: 2500}
	writeAll(t, base, opts, list)
	writeAll(t, other, Options{ChunkSize: 400}, newStory(1).votes(90).list)
	index, err := os.ReadFile(indexName(base))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(indexName(other))
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := mustRead(t, base)
	if scanned, err := scanIndex(base); err != nil || !slices.Equal(scanned, readIndex(base)) {
		t.Errorf("a scan gives another index, or %v", err)
	}
	put := func(b []byte) func() error {
		return func() error { return os.WriteFile(indexName(base), b, 0o600) }
	}
	flipped := slices.Clone(index)
	for i := len(indexMagic); i < len(flipped); i += 7 {
		flipped[i] ^= 1
	}
	for _, tt := range []struct {
		name string
		set  func() error
	}{
		{"as written", put(index)},
		{"deleted", func() error { return os.Remove(indexName(base)) }},
		{"empty", put(nil)},
		{"cut", put(index[:len(index)/2+3])},
		{"damaged", put(flipped)},
		{"of another recording", put(foreign)},
		{"rebuilt", func() error { return RebuildIndex(base) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.set(); err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(whole); i += 7 {
				r, err := OpenAt(base, whole[i].Number)
				if err != nil {
					t.Fatal(err)
				}
				checkRest(t, r, whole[i:])
				if r, err = OpenSince(base, whole[i].At.Seen); err != nil {
					t.Fatal(err)
				}
				first := i
				for first > 0 && whole[first-1].At.Seen == whole[i].At.Seen {
					first--
				}
				checkRest(t, r, whole[first:])
			}
		})
	}
	if rebuilt, err := os.ReadFile(indexName(base)); err != nil || !slices.Equal(rebuilt, index) {
		t.Error("the rebuilt index is not as it was written")
	}
}

// checkRest reads to the end and compares with want, but for the opening of connections that began before.
func checkRest(t *testing.T, r *Reader, want []Observation) {
	t.Helper()
	defer r.Close()
	list, err := readAll(r)
	if err != nil {
		t.Fatal(err)
	}
	known := map[uint64]bool{}
	var rest []Observation
	for _, o := range list {
		if o.Kind == KindOpen {
			known[o.Conn.ID] = true
			if o.Conn.Midway {
				continue
			}
		}
		if !known[o.Conn.ID] {
			t.Fatalf("%s of a connection that was not opened", brief(o))
		}
		o.Conn.Midway = false
		rest = append(rest, o)
	}
	if !same(rest, want) {
		t.Fatalf("from block %d: %d observations, want %d, or others", want[0].Number, len(rest), len(want))
	}
	if d := r.Damage(); len(d) > 0 {
		t.Errorf("damage %v", d)
	}
}

func TestIndex_UnwritableIsHarmless(t *testing.T) {
	base := tempBase(t)
	if err := os.Mkdir(indexName(base), 0o700); err != nil {
		t.Fatal(err)
	}
	list := newStory(1).votes(10).list
	writeAll(t, base, Options{}, list)
	if got, _ := mustRead(t, base); len(got) != len(list) {
		t.Errorf("%d observations of %d", len(got), len(list))
	}
}
