package proxy

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

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
