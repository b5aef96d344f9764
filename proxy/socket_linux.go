package proxy

import (
	"fmt"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readFD and writeFD are for non-blocking sockets only. They do not tell the Go scheduler that a system call is under
// way, which costs more than many of these calls take.
func readFD(fd int, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

func writeFD(fd int, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// detach takes the socket out of Go's network poller. The connection is closed; the descriptor is non-blocking.
func detach(c *net.TCPConn) (int, error) {
	defer func() { _ = c.Close() }()
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var dupErr error
	err = raw.Control(func(own uintptr) {
		fd, dupErr = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil {
		err = dupErr
	}
	if err != nil {
		return -1, fmt.Errorf("taking over the socket of %s: %w", c.RemoteAddr(), err)
	}
	return fd, nil
}

// socketError is the pending error of a socket, or 0.
func socketError(fd int) syscall.Errno {
	v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return unix.EBADF
	}
	return syscall.Errno(v)
}

// closeReset closes a socket so that its peer sees a reset.
func closeReset(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 0})
	_ = unix.Close(fd)
}

func closeFD(fd int) { _ = unix.Close(fd) }
