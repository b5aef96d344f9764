package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// shrink gives back the memory that starting took. Half of what a node of ours has resident are pages of the program that run once, in
// package initialisation and configuration, with the 64 KiB around each that the kernel maps with it. They are clean and in the page cache:
// what is needed again is mapped again in microseconds.
func shrink() {
	debug.FreeOSMemory()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line) // FROM-TO PERMISSIONS OFFSET DEVICE INODE PATH
		if len(f) < 6 || f[5] != exe || strings.Contains(f[1], "w") {
			continue
		}
		low, high, _ := strings.Cut(f[0], "-")
		from, err1 := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		if err1 != nil || err2 != nil || to <= from {
			continue
		}
		// A refusal costs memory and nothing else.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(from), uintptr(to-from), syscall.MADV_DONTNEED)
	}
}
