package child

import "syscall"

// dieWithParent makes the kernel kill the child when this process dies, however it dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
