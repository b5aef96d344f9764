//go:build invariants || race

package kraft

// checked builds look at the whole state after every event, and panic.
const checked = true
