package kafka

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/understudy-kafka/understudy/internal/filelock"
)

// startSlots is how many JVMs may be starting at once on this machine: with more on two cores, start times
// triple and elections with short timeouts fail.
const startSlots = 3

// startSlot waits for the right to start a JVM. It is given back when the node's raft thread runs, which
// depends on no other node: so nodes that wait for each other's votes do not hold slots.
func startSlot(ctx context.Context) (*filelock.Lock, error) {
	dir, err := cacheDir("start-slots")
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for i := range startSlots {
			lock, err := filelock.Try(filepath.Join(dir, strconv.Itoa(i)))
			if lock != nil || err != nil {
				return lock, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for other JVMs to start: %w", ctx.Err())
		case <-tick.C:
		}
	}
}
