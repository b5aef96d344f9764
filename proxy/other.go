//go:build !linux

package proxy

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"time"
)

// The relay is built on epoll. Elsewhere a proxy cannot be made; everything else of the program works.

var errPlatform = errors.New("relaying needs Linux: the relay is built on epoll")

type loop struct {
	asked *rules
	slept atomic.Bool
	wake  func()
}

type relay struct{ client, server netip.AddrPort }

func newLoop(clock, *queue, *rules, *folder, *counters) (*loop, error) { return nil, errPlatform }

func newRelay(uint64, int, int, int) *relay { return new(relay) }

func (*loop) run() error          { return errPlatform }
func (*loop) post(func()) bool    { return false }
func (*loop) add(*relay)          {}
func (*loop) drain(time.Duration) {}
func (*loop) shut()               {}

func detach(c *net.TCPConn) (int, error) { return -1, errors.Join(errPlatform, c.Close()) }

func closeFD(int) {}

func yield() { runtime.Gosched() }

func newPipe() (stdin, pipe *os.File, err error) { return os.Pipe() }

func startApart(cmd *exec.Cmd, _ int) error { return cmd.Start() }

// AddFault puts a rule in force.
func (*Proxy) AddFault(*Rule) (FaultRule, error) { return FaultRule{}, errPlatform }

// Faults lists the rules that are in force.
func (*Proxy) Faults() ([]FaultRule, error) { return nil, errPlatform }

// RemoveFault takes a rule out.
func (*Proxy) RemoveFault(int) (int, error) { return 0, errPlatform }
