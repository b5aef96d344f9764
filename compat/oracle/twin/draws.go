package twin

import (
	"slices"
	"strconv"
)

func bounds(origin, bound int64) string {
	return strconv.FormatInt(origin, 10) + ":" + strconv.FormatInt(bound, 10)
}

// draw is Kafka's next draw with these bounds.
func (n *node) draw(origin, bound int64) int64 {
	name := bounds(origin, bound)
	if !n.scripted {
		v := n.seeded(origin, bound)
		n.effect("draw", name, v)
		return v
	}
	i := slices.IndexFunc(n.draws, func(d draw) bool { return d.bounds == name })
	if i < 0 {
		n.effect("draw", name, "none")
		return 0
	}
	v := n.draws[i].value
	n.draws = slices.Delete(n.draws, i, i+1)
	n.effect("draw", name, v)
	return v
}

// few is how many values a draw may have that is not numbered within its instant: Kafka repeats the draw of a bootstrap server
// as long as all of them back off.
const few = 16

// seeded is the value that the harness gives to a draw: it follows from seed, time and bounds (OracleRandom does the same).
func (n *node) seeded(origin, bound int64) int64 {
	if bound <= origin {
		return origin
	}
	if n.now != n.instant {
		n.instant, n.drawn = n.now, 0
	}
	z := uint64(*n.init.Seed)*0x9E3779B97F4A7C15 + uint64(n.now)*0xD1B54A32D192ED03 + uint64(origin)*31 + uint64(bound)
	if bound-origin > few {
		n.drawn++
		z += 0x8CB92BA72F3D8DD7 * n.drawn
	}
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return origin + int64((z>>1)%uint64(bound-origin))
}

// draw is one that the oracle tells of.
type draw struct {
	bounds string
	value  int64
}
