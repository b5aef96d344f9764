package proxy

import (
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// foldFor is how long a message that repeats is only counted.
const foldFor = 10 * time.Second

// folder logs, and folds what repeats: a message with the same fields is logged once, then only counted for a while,
// then logged with its count. A dead controller is dialled every 20 to 50 ms by each of its peers.
type folder struct {
	log zerolog.Logger

	mu   sync.Mutex
	last map[string]*folded
}

type folded struct {
	at      time.Time
	skipped int
}

// maxFolded bounds what is remembered.
const maxFolded = 1024

func newFolder(log zerolog.Logger) *folder { return &folder{log: log, last: map[string]*folded{}} }

// warn logs a message with pairs of names and values. Messages are the same if all but the pair named "from" is, since
// a client's port changes with every connection.
func (f *folder) warn(message string, pairs ...string) {
	key := message
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] != "from" {
			key += "\x00" + pairs[i+1]
		}
	}
	now := time.Now()
	f.mu.Lock()
	l := f.last[key]
	if l != nil && now.Sub(l.at) < foldFor {
		l.skipped++
		f.mu.Unlock()
		return
	}
	if len(f.last) >= maxFolded {
		clear(f.last)
	}
	skipped := 0
	if l != nil {
		skipped = l.skipped
	}
	f.last[key] = &folded{at: now}
	f.mu.Unlock()

	ev := f.log.Warn()
	for i := 0; i+1 < len(pairs); i += 2 {
		ev = ev.Str(pairs[i], pairs[i+1])
	}
	if skipped > 0 {
		ev = ev.Int("more", skipped)
	}
	ev.Msg(message)
}

// flush logs the counts of what has been folded.
func (f *folder) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, l := range f.last {
		if l.skipped > 0 {
			f.log.Warn().Int("more", l.skipped).Msg(strings.ReplaceAll(key, "\x00", ", "))
			l.skipped = 0
		}
	}
}
