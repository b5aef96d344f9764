//go:build !linux

package main

import "runtime/debug"

// shrink gives back the memory that starting took.
func shrink() { debug.FreeOSMemory() }
