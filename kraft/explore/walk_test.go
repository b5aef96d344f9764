package explore

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var seedFlag = flag.Uint64("seed", 0, "take the random walk with this seed only")

// TestQuorum_RandomWalks goes far into quorums that are too large to be explored. A failing walk prints its seed.
func TestQuorum_RandomWalks(t *testing.T) {
	walks := uint64(300)
	if testing.Short() {
		walks = 10
	}
	for seed := uint64(1); seed <= walks; seed++ {
		if *seedFlag != 0 && seed != *seedFlag {
			continue
		}
		random := rand.New(rand.NewPCG(seed, 5))
		models := open()
		choices := make([]byte, 400)
		for i := range choices {
			choices[i] = byte(random.Uint32())
		}
		m := models[seed%uint64(len(models))]
		t.Logf("seed %d: %s", seed, m.Name)
		walk(t, m, choices)
	}
}
