package explore

import (
	"fmt"
	"slices"
	"strings"
)

// BudgetNames are what has a budget.
func BudgetNames() []string { return slices.Clone(budgetNames[:]) }

// Set changes one budget.
func (b *Budget) Set(name string, n int) error {
	i := slices.Index(budgetNames[:], name)
	if i < 0 || n < 0 || n > maxBudget {
		return fmt.Errorf("budget %s=%d: want 0 to %d of one of %s", name, n, maxBudget, strings.Join(budgetNames[:], ", "))
	}
	b[i] = uint8(n)
	return nil
}

func (b Budget) String() string {
	var list []string
	for i, n := range b {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s %d", budgetNames[i], n))
		}
	}
	return strings.Join(list, ", ")
}
