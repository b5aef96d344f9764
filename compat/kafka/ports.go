package kafka

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/understudy-kafka/understudy/internal/filelock"
)

// Ports are handed out from below the range that the kernel takes outgoing ports from (32768 and up on Linux):
// a port that an outgoing connection holds cannot be listened on. Each process of this machine takes whole
// blocks, locked by a file, so that two test runs never meet.
const (
	firstPort  = 20000
	endPort    = 32000
	blockPorts = 40
	blocks     = (endPort - firstPort) / blockPorts
)

// portAllocator hands out each port once.
type portAllocator struct {
	mu    sync.Mutex
	dir   string           // of the lock files
	start int              // block to try first
	tried int              // blocks tried so far
	held  []*filelock.Lock // kept until the process ends
	next  int
	end   int
	free  func(port int) bool
}

var ports = portAllocator{
	dir:   filepath.Join(os.TempDir(), "understudy-ports-"+strconv.Itoa(os.Getuid())),
	start: os.Getpid() % blocks,
	free:  portIsFree,
}

// TakePorts returns n ports of the loopback address that nothing listens on and that this machine's other
// users of this package do not get.
func TakePorts(n int) ([]int, error) { return ports.take(n) }

func (a *portAllocator) take(n int) ([]int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var got []int
	for len(got) < n {
		if a.next == a.end {
			if err := a.block(); err != nil {
				return nil, err
			}
		}
		if port := a.next; a.free(port) {
			got = append(got, port)
		}
		a.next++
	}
	return got, nil
}

// block locks the next block of ports that no other process has.
func (a *portAllocator) block() error {
	if err := os.MkdirAll(a.dir, 0o755); err != nil {
		return fmt.Errorf("port blocks: %w", err)
	}
	for ; a.tried < blocks; a.tried++ {
		n := (a.start + a.tried) % blocks
		lock, err := filelock.Try(filepath.Join(a.dir, strconv.Itoa(n)))
		if err != nil {
			return fmt.Errorf("port blocks: %w", err)
		}
		if lock == nil {
			continue
		}
		a.held = append(a.held, lock)
		a.next = firstPort + n*blockPorts
		a.end = a.next + blockPorts
		a.tried++
		return nil
	}
	return fmt.Errorf("no free ports left between %d and %d", firstPort, endPort)
}

func portIsFree(port int) bool {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
