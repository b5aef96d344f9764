//go:build linux

package main

import (
	"math/rand/v2"
	"slices"
)

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	if n == 0 {
		return 0
	}
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// interval is the bootstrap 95 % interval of the median.
func interval(v []float64, seed uint64) (low, high float64) {
	if len(v) == 0 {
		return 0, 0
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	medians := make([]float64, 2000)
	again := make([]float64, len(v))
	for i := range medians {
		for j := range again {
			again[j] = v[rng.IntN(len(v))]
		}
		medians[i] = median(again)
	}
	slices.Sort(medians)
	return medians[len(medians)*25/1000], medians[len(medians)*975/1000]
}
