package proxy

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeSize is what the pipe to the checker should hold: a batch of the recorder, so that one call passes it on.
const pipeSize = 1 << 20

// newPipe makes the pipe to the checker's stdin.
func newPipe() (stdin, pipe *os.File, err error) {
	stdin, pipe, err = os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	raw, err := pipe.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) // may be above the user's limit: then it stays small
		})
	}
	if err != nil {
		return nil, nil, errors.Join(err, stdin.Close(), pipe.Close())
	}
	return stdin, pipe, nil
}

// startApart starts a child in a process group of its own, so that a Ctrl-C reaches it only through us, with a lower
// priority.
func startApart(cmd *exec.Cmd, nice int) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	// For the group, since for a process it would change the one thread only.
	_ = unix.Setpriority(unix.PRIO_PGRP, cmd.Process.Pid, nice) // without it the child is merely not held back
	return nil
}
