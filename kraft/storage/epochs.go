package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// EpochsFile is the name of the epoch cache in the partition directory (Kafka: LeaderEpochCheckpointFile).
const EpochsFile = "leader-epoch-checkpoint"

// ReadEpochs reads the leader-epoch-checkpoint of a partition directory. A file that is not there is an empty cache, and so is an empty
// one, which Kafka makes before it writes (CheckpointFile).
func ReadEpochs(fsys FS, dir string) (kraft.EpochCache, error) {
	path := filepath.Join(dir, EpochsFile)
	text, err := ReadFile(fsys, path, 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || len(text) == 0 {
		return nil, err
	}
	cache, err := parseEpochs(string(text))
	if err != nil {
		return nil, &Error{Path: path, Remedy: "remove the file: it is made again from the log", Err: err}
	}
	return cache, nil
}

func parseEpochs(text string) (kraft.EpochCache, error) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) < 2 {
		return nil, fmt.Errorf("no version and count: %w", ErrCorrupt)
	}
	if lines[0] != "0" {
		return nil, fmt.Errorf("version %q, want 0: %w", lines[0], ErrVersion)
	}
	count, err := strconv.Atoi(lines[1])
	if err != nil || count != len(lines)-2 {
		return nil, fmt.Errorf("count %q, but there are %d entries: %w", lines[1], len(lines)-2, ErrCorrupt)
	}
	var cache kraft.EpochCache
	for i, line := range lines[2:] {
		epochText, startText, _ := strings.Cut(line, " ")
		epoch, err1 := strconv.ParseInt(epochText, 10, 32)
		start, err2 := strconv.ParseInt(startText, 10, 64)
		if err1 != nil || err2 != nil || epoch < 0 || start < 0 {
			return nil, fmt.Errorf("line %d, %q: want EPOCH OFFSET: %w", i+3, line, ErrCorrupt)
		}
		e := kraft.EpochStart{Epoch: kraft.Epoch(epoch), Start: kraft.Offset(start)}
		if n := len(cache); n > 0 && (cache[n-1].Epoch >= e.Epoch || cache[n-1].Start >= e.Start) {
			return nil, fmt.Errorf("line %d, %q: not above the entry before it: %w", i+3, line, ErrCorrupt)
		}
		cache = append(cache, e)
	}
	return cache, nil
}

// AppendEpochs appends the file's text, as Kafka writes it.
func AppendEpochs(dst []byte, cache kraft.EpochCache) []byte {
	dst = strconv.AppendInt(append(dst, "0\n"...), int64(len(cache)), 10)
	dst = append(dst, '\n')
	for _, e := range cache {
		dst = strconv.AppendInt(dst, int64(e.Epoch), 10)
		dst = strconv.AppendInt(append(dst, ' '), int64(e.Start), 10)
		dst = append(dst, '\n')
	}
	return dst
}
