package twin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/compat/oracle"
)

// Replay plays a schedule from the beginning. Its error is a *Difference, or that the oracle failed.
func (t *Twin) Replay(schedule []oracle.Command) error {
	if err := t.Reset(); err != nil {
		return err
	}
	for _, c := range schedule {
		if _, err := t.Do(c); err != nil {
			return err
		}
	}
	return nil
}

// shrinkTime bounds how long a schedule is made smaller.
const shrinkTime = 30 * time.Second

// Shrink makes a failing schedule smaller: to the commands of the node that differs, then to those without which the
// difference goes away. It returns the smallest schedule found and its difference.
func (t *Twin) Shrink(schedule []oracle.Command, found *Difference) ([]oracle.Command, *Difference) {
	every := t.StateEvery
	defer func() { t.StateEvery = every }()
	t.StateEvery = 1
	until := time.Now().Add(shrinkTime)
	more := func() bool { return time.Now().Before(until) }
	try := func(candidate []oracle.Command) ([]oracle.Command, *Difference) {
		var d *Difference
		if err := t.Replay(candidate); errors.As(err, &d) && d.kind() == found.kind() {
			return slices.Clone(t.schedule), d // up to the command that differs
		}
		return nil, nil
	}
	best := slices.DeleteFunc(slices.Clone(schedule), func(c oracle.Command) bool { return c.Node != found.Command.Node })
	shorter, d := try(best)
	if d == nil {
		return schedule, found
	}
	best, found = shorter, d
	for size := len(best) / 2; size > 0 && more(); size /= 2 {
		for at := len(best) - size; at > 0 && more(); at -= size { // the first command starts the node
			if at+size > len(best) {
				continue
			}
			if shorter, d := try(slices.Concat(best[:at], best[at+size:])); d != nil {
				best, found = shorter, d
			}
		}
	}
	for i := range best {
		simple := best[i]
		simple.During, simple.Expire, simple.State = 0, false, false
		candidate := slices.Clone(best)
		candidate[i] = simple
		if !more() {
			break
		}
		if shorter, d := try(candidate); d != nil && len(shorter) == len(best) {
			best, found = shorter, d
		}
	}
	return best, found
}

// Save writes a schedule as JSON lines, with the difference as comments above it. The harness reads the file as it is.
func Save(file string, schedule []oracle.Command, about fmt.Stringer) error {
	var b bytes.Buffer
	if about != nil {
		for line := range bytes.Lines([]byte(about.String())) {
			fmt.Fprintf(&b, "# %s\n", bytes.TrimRight(line, "\n"))
		}
	}
	for _, c := range schedule {
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// Load reads a schedule.
func Load(file string) ([]oracle.Command, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var schedule []oracle.Command
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		var c oracle.Command
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", file, n, err)
		}
		schedule = append(schedule, c)
	}
	return schedule, lines.Err()
}

// String is the difference in words.
func (d *Difference) String() string { return d.Error() }
