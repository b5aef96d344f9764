package kafka

import (
	"os"
	"strings"

	"github.com/understudy-kafka/understudy/internal/child"
)

// openLog opens a node's log for appending, on a fresh line: a process that was killed may have left half of one.
func openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	last := make([]byte, 1)
	if size, err := f.Seek(0, 2); err == nil && size > 0 {
		if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			if _, err := f.WriteString("\n"); err != nil {
				_ = f.Close()
				return nil, err
			}
		}
	}
	return f, nil
}

// lastLines is the end of a log without the frames of Java's stack traces, which hide what was said.
func lastLines(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for l := range strings.Lines(string(text)) {
		if !strings.HasPrefix(l, "\tat ") {
			b.WriteString(l)
		}
	}
	return child.Tail(b.String(), n)
}
