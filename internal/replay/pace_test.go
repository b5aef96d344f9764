package replay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace_FollowsTheRecordedInstants(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, tc := range []struct {
		name  string
		pace  Pace
		steps []int64
		busy  time.Duration // what a step itself takes
		want  time.Duration
	}{
		{"as recorded", Pace{Speed: 1}, []int64{5 * ms, 15 * ms, 115 * ms}, 0, 110 * time.Millisecond},
		{"twice as fast", Pace{Speed: 2}, []int64{5 * ms, 15 * ms, 115 * ms}, 0, 55 * time.Millisecond},
		{"no long idle times", Pace{Speed: 1, MaxIdle: 20 * time.Millisecond}, []int64{5 * ms, 15 * ms, 115 * ms}, 0, 30 * time.Millisecond},
		{"no wait", Pace{}, []int64{5 * ms, 15 * ms, 115 * ms}, 0, 0},
		{"slow steps are made up for", Pace{Speed: 1}, []int64{5 * ms, 15 * ms, 115 * ms}, 30 * time.Millisecond, 110 * time.Millisecond},
		{"time never goes back", Pace{Speed: 1}, []int64{50 * ms, 5 * ms, 60 * ms}, 0, 10 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tc.pace.clock()
				begin := time.Now()
				for i, at := range tc.steps {
					if err := c.wait(t.Context(), at); err != nil {
						t.Fatal(err)
					}
					if i < len(tc.steps)-1 {
						<-time.After(tc.busy)
					}
				}
				if took := time.Since(begin); took != tc.want {
					t.Errorf("it took %s, want %s", took, tc.want)
				}
			})
		})
	}
}

func TestPace_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := Pace{Speed: 1}.clock()
		if err := c.wait(ctx, 1); err != nil {
			t.Fatal(err)
		}
		if err := c.wait(ctx, int64(time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}
