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
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range cleanPages(string(maps), exe) {
		// A refusal costs memory and nothing else.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// pages are those of one mapping, as addresses.
type pages struct{ from, to uintptr }

// cleanPages are the mappings of a file in smaps (proc(5)) that nobody can write to and that hold no page of the process's own. Read-only is not enough: what
// the dynamic linker has relocated is read-only from then on, and the file has it otherwise.
func cleanPages(smaps, file string) (list []pages) {
	candidate := false // the last mapping, until a page of its own is found
	for line := range strings.Lines(smaps) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 6 && strings.Contains(f[0], "-"): // FROM-TO PERMISSIONS OFFSET DEVICE INODE PATH
			low, high, _ := strings.Cut(f[0], "-")
			from, err1 := strconv.ParseUint(low, 16, 64)
			to, err2 := strconv.ParseUint(high, 16, 64)
			if candidate = f[5] == file && !strings.Contains(f[1], "w") && err1 == nil && err2 == nil && from < to; candidate {
				list = append(list, pages{uintptr(from), uintptr(to)})
			}
		case len(f) >= 5 && strings.Contains(f[0], "-"): // memory without a file
			candidate = false
		case candidate && len(f) >= 2 && f[0] == "Anonymous:" && f[1] != "0": // not the dirty ones: those wait for the disk, and are the file's
			list, candidate = list[:len(list)-1], false
		}
	}
	return list
}
