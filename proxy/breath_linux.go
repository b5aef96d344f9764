package proxy

import "golang.org/x/sys/unix"

// yield lets other threads that wait for this processor run first. The loop is one of them where there are few
// processors.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
