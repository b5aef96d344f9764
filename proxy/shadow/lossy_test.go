package shadow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/understudy-kafka/understudy/recordings"
)

var lossyRounds = flag.Uint64("lossy-rounds", 0, "how many lossy captures to try of each; 0: 300, or 40 in short tests")

// pcapOf returns the header and the packets of a capture, each with its header.
func pcapOf(t *testing.T, name string) (head []byte, packets [][]byte) {
	t.Helper()
	zipped, err := os.ReadFile(captureFile(name, "capture.pcap.zst"))
	if err != nil {
		t.Fatal(err)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	b, err := dec.DecodeAll(zipped, nil)
	if err != nil {
		t.Fatal(err)
	}
	head, b = b[:24], b[24:]
	for len(b) > 16 {
		n := 16 + int(binary.LittleEndian.Uint32(b[8:]))
		packets, b = append(packets, b[:n]), b[n:]
	}
	return head, packets
}

// thinOut is what a capture that lost packets, or took them from several queues, has of them.
func thinOut(rng *rand.Rand, packets [][]byte) (kept [][]byte, how string) {
	n := len(packets)
	switch rng.IntN(6) {
	case 0:
		share := []float64{0.005, 0.05, 0.2, 0.5, 0.9}[rng.IntN(5)]
		for _, p := range packets {
			if rng.Float64() >= share {
				kept = append(kept, p)
			}
		}
		return kept, fmt.Sprintf("a share of %v is lost", share)
	case 1:
		at, size := rng.IntN(n), 1+rng.IntN(n/2)
		return append(append(kept, packets[:at]...), packets[min(n, at+size):]...), fmt.Sprintf("%d packets from %d on are lost", size, at)
	case 2, 3:
		for i := range packets {
			if j := min(i+rng.IntN(6), n-1); rng.IntN(3) == 0 {
				packets[i], packets[j] = packets[j], packets[i]
			}
		}
		return packets, "packets are out of order"
	case 4:
		at := rng.IntN(n)
		return packets[at:], fmt.Sprintf("begins at packet %d", at)
	default:
		on := true
		for _, p := range packets {
			if rng.IntN(30) == 0 {
				on = !on
			}
			if on {
				kept = append(kept, p)
			}
		}
		return kept, "bursts are lost"
	}
}

// TestLossyCapture_NeverConvictsACorrectController takes any packets out of captures of real quorums, or puts them a little
// out of order.
func TestLossyCapture_NeverConvictsACorrectController(t *testing.T) {
	rounds := *lossyRounds
	if rounds == 0 {
		rounds = 300
		if testing.Short() {
			rounds = 40
		}
	}
	for _, name := range captures {
		head, packets := pcapOf(t, name)
		for seed := range rounds {
			kept, how := thinOut(rand.New(rand.NewPCG(seed, 0)), slices.Clone(packets))
			in, err := recordings.NewCapture(io.MultiReader(bytes.NewReader(head), bytes.NewReader(bytes.Join(kept, nil))), name)
			if err != nil {
				t.Fatal(err)
			}
			c := New(Options{})
			var o recordings.Observation
			for err = in.Next(&o); err == nil; err = in.Next(&o) {
				c.Observe(&o)
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if r := c.Finish(); r.Verdict == Diverges {
				t.Errorf("%s, seed %d: %s: %+v", name, seed, how, r.Findings)
			}
		}
	}
}
