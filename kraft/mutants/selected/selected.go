// Package selected holds which mutant of package kraft is at work. Only a binary that was built with the overlay of package
// mutants looks at it; see there.
package selected

// Mutant is the number of the mutant at work, 0 for the engine as it is. It is read on each call of a mutated function: whoever
// sets it must be the only one who runs an engine at that time.
var Mutant int

// Entered says of each mutant, by its number, whether the engine as it is has called the function that the mutant changes. Nil: nobody
// wants to know.
var Entered []bool

// Enter notes a call of a function that the mutants with these numbers change.
func Enter(mutants ...int) {
	if Mutant != 0 || Entered == nil {
		return
	}
	for _, m := range mutants {
		Entered[m] = true
	}
}
