package shadow

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/recordings"
)

var corruptionSeed = flag.Uint64("corruption-seed", 0, "the one seed to try; 0: many")

// corruption damages a stream of observations as an observer may: it loses, repeats and shifts, and knows of what
// it lost.
type corruption func(r *rand.Rand, l loaded) loaded

func gapOf(o *recordings.Observation) recordings.Observation {
	return recordings.Observation{
		Kind: recordings.KindGap, Conn: o.Conn, Number: o.Number, Dir: o.Dir, At: o.At,
		Gap: &recordings.Gap{Reason: "lost", Bytes: int64(o.Frame.Size), Frames: 1},
	}
}

func loseFrames(r *rand.Rand, l loaded) loaded {
	share := r.Float64()
	var out loaded
	for i := range l {
		if l[i].Kind == recordings.KindFrame && r.Float64() < share {
			out = append(out, gapOf(&l[i]))
			continue
		}
		out = append(out, l[i])
	}
	return out
}

func loseAStretch(r *rand.Rand, l loaded) loaded {
	from := r.IntN(len(l))
	to := min(len(l), from+r.IntN(400))
	var out loaded
	for i := range l {
		if i >= from && i < to {
			if l[i].Kind == recordings.KindFrame {
				out = append(out, gapOf(&l[i]))
			}
			continue
		}
		out = append(out, l[i])
	}
	return out
}

// begin midway: connections are met while they are open
func beginMidway(r *rand.Rand, l loaded) loaded {
	out := slices.Clone(l[r.IntN(len(l)):])
	conns := map[*recordings.Conn]*recordings.Conn{}
	for i := range out {
		c := conns[out[i].Conn]
		if c == nil {
			copied := *out[i].Conn
			copied.Midway = out[i].Kind != recordings.KindOpen
			c = &copied
			conns[out[i].Conn] = c
		}
		out[i].Conn = c
	}
	return out
}

func endEarly(r *rand.Rand, l loaded) loaded { return l[:r.IntN(len(l))] }

func jumpTheClock(r *rand.Rand, l loaded) loaded {
	out := slices.Clone(l)
	for range 1 + r.IntN(4) {
		from, by := r.IntN(len(out)), (r.Int64N(20)-10)*r.Int64N(2_000_000_000)
		for i := from; i < len(out); i++ {
			out[i].At.Seen += by
			out[i].At.Forwarded += by
		}
	}
	return out
}

// duplicateAConnection shows one connection twice, as a capture of all interfaces may.
func duplicateAConnection(r *rand.Rand, l loaded) loaded {
	chosen := l[r.IntN(len(l))].Conn
	twin := *chosen
	twin.ID += 1 << 20
	var out loaded
	for i := range l {
		out = append(out, l[i])
		if l[i].Conn == chosen {
			again := l[i]
			again.Conn = &twin
			again.At.Seen += r.Int64N(1000)
			out = append(out, again)
		}
	}
	return out
}

func cutFrames(r *rand.Rand, l loaded) loaded {
	out := slices.Clone(l)
	for i := range out {
		if o := &out[i]; o.Kind == recordings.KindFrame && len(o.Frame.Bytes) > 40 && r.IntN(20) == 0 {
			o.Frame.Bytes = o.Frame.Bytes[:20+r.IntN(len(o.Frame.Bytes)-20)]
			o.Frame.Cut = true
		}
	}
	return out
}

func loseEnds(r *rand.Rand, l loaded) loaded { // the ends of connections are not seen
	var out loaded
	for i := range l {
		if l[i].Kind != recordings.KindClose || r.IntN(2) == 0 {
			out = append(out, l[i])
		}
	}
	return out
}

// splitStreams shows half of the connections as another recorder saw them, with a clock of its own.
func splitStreams(r *rand.Rand, l loaded) loaded {
	out, skew := slices.Clone(l), (r.Int64N(20)-10)*1_000_000_000
	conns := map[*recordings.Conn]*recordings.Conn{}
	for i := range out {
		c := conns[out[i].Conn]
		if c == nil {
			copied := *out[i].Conn
			copied.Stream = r.IntN(2)
			c = &copied
			conns[out[i].Conn] = c
		}
		out[i].Conn = c
		if c.Stream == 1 {
			out[i].At.Seen += skew
			out[i].At.Forwarded += skew
		}
	}
	slices.SortStableFunc(out, func(a, b recordings.Observation) int { return int(a.At.Seen - b.At.Seen) })
	return out
}

// parts collects what is written, call by call: a header, chunks, a trailer.
type parts [][]byte

func (p *parts) Write(b []byte) (int, error) {
	*p = append(*p, bytes.Clone(b))
	return len(b), nil
}

// shuffleChunks records the stream and takes chunks out of the file, repeats and moves them.
func shuffleChunks(r *rand.Rand, l loaded) loaded {
	var written parts
	w, err := recordings.NewWriter(&written, recordings.Options{ChunkSize: 500 + r.IntN(30_000), IncludeRecords: true})
	if err != nil {
		panic(err)
	}
	for i := range l {
		if err := w.Write(&l[i]); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	for range 1 + r.IntN(4) {
		from := 1 + r.IntN(len(written)-1)
		to := min(len(written), from+1+r.IntN(1+len(written)/8))
		some := slices.Clone(written[from:to])
		if r.IntN(3) > 0 {
			written = slices.Delete(written, from, to)
		}
		if r.IntN(2) > 0 {
			written = slices.Insert(written, min(len(written), 1+r.IntN(len(written))), some...)
		}
		if len(written) < 2 {
			break
		}
	}
	source, err := recordings.NewReader(bytes.NewReader(slices.Concat(written...)), "altered")
	if err != nil {
		panic(err)
	}
	var out loaded
	var o recordings.Observation
	for {
		if err := source.Next(&o); err != nil {
			return out
		}
		out = append(out, keep(&o))
	}
}

func TestCorrupted_StreamsNeverDiverge(t *testing.T) {
	kinds := []struct {
		name string
		do   corruption
	}{
		{"frames lost", loseFrames},
		{"a stretch lost", loseAStretch},
		{"begun midway", beginMidway},
		{"ends early", endEarly},
		{"clock jumps", jumpTheClock},
		{"a connection twice", duplicateAConnection},
		{"frames cut", cutFrames},
		{"ends not seen", loseEnds},
		{"two recorders", splitStreams},
		{"parts of the recording", shuffleChunks},
	}
	seeds := []uint64{*corruptionSeed}
	if *corruptionSeed == 0 {
		seeds = []uint64{5, 6, 7, 8, 1425953428456582062, 10482931246514704219} // these cut the Fetch that a watermark counts, and all that one recorder saw
		runs := 8
		if testing.Short() { // the first tier alone: the race detector makes it ten times as slow
			seeds, runs = seeds[:0], 3
		}
		for range runs {
			seeds = append(seeds, rand.Uint64())
		}
	}
	for _, name := range captures {
		l := load(t, name)
		for _, kind := range kinds {
			t.Run(name+"/"+kind.name, func(t *testing.T) {
				for _, seed := range seeds {
					r := rand.New(rand.NewPCG(seed, 1))
					damaged := kind.do(r, l)
					if r.IntN(3) == 0 {
						damaged = kinds[r.IntN(4)].do(r, damaged)
					}
					if len(damaged) == 0 {
						continue
					}
					rep := damaged.check(Options{Tier2: !testing.Short() || *corruptionSeed != 0})
					if rep.Verdict == Diverges || len(rep.Findings) > 0 {
						t.Fatalf("-corruption-seed=%d: %+v", seed, rep.Findings)
					}
					if why := withoutReason(rep); why != "" {
						t.Fatalf("-corruption-seed=%d: %s: %+v", seed, why, rep.Tier2)
					}
				}
			})
		}
	}
}

// withoutReason says what of a report has no reason though it needs one.
func withoutReason(r *Report) string {
	if r.Verdict == Inconclusive && (len(r.Reasons) == 0 || slices.Contains(r.Reasons, "")) {
		return "inconclusive without a reason"
	}
	for _, u := range r.Unjudged {
		if u.Reason == "" {
			return "decisions that are not judged without a reason"
		}
	}
	for _, n := range r.Tier2 {
		left := n.Judged + n.Diverged
		for why, count := range n.Unjudged {
			if left += count; why == "" {
				return "messages that tier 2 does not judge without a reason"
			}
		}
		if left != n.Messages {
			return "messages that tier 2 neither judges nor counts"
		}
	}
	return ""
}
