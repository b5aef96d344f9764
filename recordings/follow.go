package recordings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// follower waits at the end of a recording that is still being written.
type follower struct {
	pause   func() error // returns when it is worth to look again, or with the reason to stop
	last    bool         // a later segment was seen, and what is left of the current one is being read
	suspect int64        // the offset behind which bytes did not decode, plus one
}

// errNotFollowed marks a path that is no recording.
var errNotFollowed = errors.New("not a recording that can be followed")

// followPoll is how often a follower looks whether there is more: well below the time a chunk stays open.
const followPoll = 20 * time.Millisecond

// Follow reads a recording that is being written, from its begin, and waits for more at its end. path is a base name
// or one of its segments; it need not exist yet. Next returns io.EOF when the recorder has closed the recording, and
// the context's error when that is done.
func Follow(ctx context.Context, path string) (*Reader, error) {
	return followWith(path, &follower{pause: func() error { return sleep(ctx, followPoll) }})
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func followWith(path string, f *follower) (*Reader, error) {
	files := &segmentCount{base: path, number: 1}
	if base, number, ok := segmentOf(path); ok {
		files = &segmentCount{base: base, number: number}
	} else if names := segmentsOf(path); len(names) > 0 {
		_, files.number, _ = segmentOf(names[0])
	} else if _, err := os.Stat(path); err == nil { // it would wait for a recording of this name for ever
		return nil, fmt.Errorf("%s: %w: name NAME or a segment NAME-000001%s of a recording", path, errNotFollowed, segmentSuffix)
	}
	r := newReader(files, nil)
	r.follow = f
	return r, nil
}

// wait is called at the end of what a segment has so far. It reports true when reading is to be tried again, and
// false when the segment is left: a later one exists, so it will not grow.
func (f *follower) wait(r *Reader) (bool, error) {
	if !r.files.ready() {
		if err := f.pause(); err != nil {
			return false, err
		}
		return true, r.seg.retry()
	}
	// The recorder completed the segment before it began the next one, perhaps after the last look.
	f.last = !f.last
	if f.last {
		return true, r.seg.retry()
	}
	return false, nil
}

// again reports whether bytes that do not decode are to be read once more: the recorder may have replaced them
// between two reads.
func (f *follower) again(offset int64) bool {
	if f == nil || f.suspect == offset+1 {
		return false
	}
	f.suspect = offset + 1
	return true
}
