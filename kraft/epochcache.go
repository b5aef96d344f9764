package kraft

import (
	"fmt"
	"slices"
)

// EpochStart says at which offset an epoch begins.
type EpochStart struct {
	Epoch Epoch
	Start Offset
}

func (e EpochStart) String() string { return fmt.Sprintf("%d@%d", e.Epoch, e.Start) }

// EpochCache lists the epochs of a log with their start offsets, both strictly increasing (Kafka: LeaderEpochFileCache). The
// value is immutable: a change makes a new one, and copies may be shared.
type EpochCache []EpochStart

// Last is the newest epoch, or not ok if the cache is empty.
func (c EpochCache) Last() (Epoch, bool) {
	if len(c) == 0 {
		return 0, false
	}
	return c[len(c)-1].Epoch, true
}

// Assign notes that the epoch starts at the offset. It is ignored for the newest epoch at or behind its start; otherwise
// entries with that or a later epoch, and entries that start at or behind the offset, go (Kafka: LeaderEpochFileCache.assign).
func (c EpochCache) Assign(epoch Epoch, start Offset) EpochCache {
	if n := len(c); n > 0 && c[n-1].Epoch == epoch && start >= c[n-1].Start {
		return c
	}
	keep := len(c)
	for keep > 0 && (c[keep-1].Epoch >= epoch || c[keep-1].Start >= start) {
		keep--
	}
	return append(slices.Clip(slices.Clone(c[:keep])), EpochStart{epoch, start})
}

// Recover notes a batch that is read when the log is opened: only an epoch above all is new (Kafka: LogSegment.recover).
func (c EpochCache) Recover(epoch Epoch, base Offset) EpochCache {
	if last, ok := c.Last(); ok && epoch <= last {
		return c
	}
	return c.Assign(epoch, base)
}

// TruncateFromEnd forgets the entries that start at or behind the new log end, also when the log end does not move.
func (c EpochCache) TruncateFromEnd(end Offset) EpochCache {
	keep := len(c)
	for keep > 0 && c[keep-1].Start >= end {
		keep--
	}
	return c[:keep:keep]
}

// TruncateFromStart moves the log start: of the entries up to it the last one stays and begins there.
func (c EpochCache) TruncateFromStart(start Offset) EpochCache {
	drop := 0
	for drop < len(c) && c[drop].Start <= start {
		drop++
	}
	if drop == 0 {
		return c
	}
	kept := slices.Clone(c[drop-1:])
	kept[0].Start = start
	return kept
}

// endOffsetFor answers where the epoch ends, for a log that ends at end. Not ok: the epoch is newer than all entries
// (Kafka: LeaderEpochFileCache.endOffsetFor).
func (c EpochCache) endOffsetFor(epoch Epoch, end Offset) (OffsetAndEpoch, bool) {
	if last, ok := c.Last(); ok && last == epoch {
		return OffsetAndEpoch{Offset: end, Epoch: epoch}, true
	}
	for i, e := range c {
		if e.Epoch <= epoch {
			continue
		}
		if i == 0 {
			return OffsetAndEpoch{Offset: e.Start, Epoch: epoch}, true
		}
		return OffsetAndEpoch{Offset: e.Start, Epoch: c[i-1].Epoch}, true
	}
	return OffsetAndEpoch{}, false
}
