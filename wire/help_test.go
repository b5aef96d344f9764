package wire

import "fmt"

// dump prints a value with all its fields, for comparison.
func dump(v any) string { return fmt.Sprintf("%+v", v) }
