package explore

import "testing"

func TestBudget_IsSetByName(t *testing.T) {
	var b Budget
	for i, name := range BudgetNames() {
		if err := b.Set(name, i); err != nil || b[i] != uint8(i) {
			t.Errorf("%s: %v, %v", name, err, b)
		}
	}
	for _, n := range []int{-1, 16, 1 << 20} {
		if b.Set("losses", n) == nil {
			t.Errorf("a budget of %d is taken", n)
		}
	}
	if b.Set("nothing", 1) == nil {
		t.Error("a budget for nothing is taken")
	}
	b = Budget{Timeouts: 2, Losses: 1}
	if got := b.String(); got != "timeouts 2, losses 1" {
		t.Error(got)
	}
}
