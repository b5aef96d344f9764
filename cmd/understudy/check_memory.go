package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

// What a checker holds is small and nearly all that it allocates is garbage at once, so the collector may let five times as much lie as is in
// use. The limit keeps the process below 128 MB, which the program itself is a part of: beyond it the collector works harder.
const (
	checkGCPercent = 400
	checkHeapLimit = 88 << 20
)

// collectLess sets up the collector for a process that is nothing but a checker. What the user's environment says of it counts.
func collectLess(args []string) {
	if len(args) == 0 || args[0] != "check" {
		return
	}
	if slices.Contains(args, "--follow") && os.Getenv("GOMAXPROCS") == "" { // it waits most of the time, and each frame would wake a thread to look for work
		runtime.GOMAXPROCS(1)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(checkGCPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(checkHeapLimit)
	}
}
