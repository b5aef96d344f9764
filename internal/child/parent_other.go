//go:build !linux

package child

import "syscall"

// dieWithParent has no equivalent outside Linux: there, a killed test leaves its nodes behind.
func dieWithParent(*syscall.SysProcAttr) {}
