package sim

import (
	"os"
	"slices"
	"testing"
)

// elections plays seeds whose faults end after a short time, and returns how long it took until a leader had committed in those runs that
// had none when the faults ended, sorted.
func elections(t *testing.T, seeds []uint64, voters, profile int) []int64 {
	t.Helper()
	w := New()
	var times []int64
	for _, seed := range seeds {
		o := Draw(seed)
		o.Events, o.Wire = 400, false
		if err := o.Resize(voters, 0, 0); err != nil {
			t.Fatal(err)
		}
		o.Kinds = o.Kinds.Without(Releases)
		for i := range o.Profiles {
			o.Profiles[i] = profiles[profile]
		}
		r := w.Run(o)
		if r.Violation != nil {
			report(t, w, r)
			return times
		}
		if r.Leaderless {
			times = append(times, r.ElectionMs)
		}
	}
	slices.Sort(times)
	return times
}

// TestLiveness_ALeaderCommitsSoonAfterTheFaults: in election timeouts of one second, the median is at most 3, the 99.9th percentile at most
// 12, and 40 are never reached (the run would break Liveness). The releases before 4.1, whose candidates back off in step, are reported beside
// that.
func TestLiveness_ALeaderCommitsSoonAfterTheFaults(t *testing.T) {
	const first41 = 2 // of profiles
	perCell := uint64(125)
	switch {
	case os.Getenv("UNDERSTUDY_MATRIX") != "":
		perCell = 1250 // 10,000 seeds of 4.1 and later
	case testing.Short():
		perCell = 30
	}
	var all []int64
	for profile := range profiles {
		for _, voters := range []int{3, 5} {
			var seeds []uint64
			for i := range perCell {
				seeds = append(seeds, 1+i+uint64(profile*2+voters/4)*perCell)
			}
			times := elections(t, seeds, voters, profile)
			if t.Failed() {
				return
			}
			if profile >= first41 {
				all = append(all, times...)
			}
			t.Logf("%s, %d voters, %d seeds, %d without a leader: median %d ms, 99.9 %%: %d ms, longest %d ms", profiles[profile].Build, voters, perCell, len(times),
				times[len(times)/2], times[len(times)*999/1000], times[len(times)-1])
		}
	}
	slices.Sort(all)
	median, high := all[len(all)/2], all[len(all)*999/1000]
	t.Logf("4.1 and later, %d seeds without a leader: median %d ms, 99.9 %%: %d ms, longest %d ms", len(all), median, high, all[len(all)-1])
	if second := int64(timeouts.ElectionMs); median > 3*second || high > 12*second {
		t.Errorf("median %d ms, 99.9 %% %d ms: want at most 3 and 12 election timeouts", median, high)
	}
}
