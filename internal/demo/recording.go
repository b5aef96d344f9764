// Package demo holds what `understudy demo` shows: a recorded quorum, and the text that tells its story.
package demo

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/understudy-kafka/understudy/internal/replay"
	"github.com/understudy-kafka/understudy/recordings"
)

// recording is real traffic of Kafka 4.4.0: three controllers and a broker that start, elect, create topics, and lose their
// leader. It was captured on a loopback interface; the nodes' own logs lie beside the capture.
//
//go:generate go run ./remake ../../recordings/testdata/captures/440-dynamic-start-kill 440-dynamic-start-kill.pcapng.zst
//go:embed 440-dynamic-start-kill.pcapng.zst
var recording []byte

// Keys of the recording's configuration.
const (
	ConfigTitle   = "title"
	ConfigActions = "actions" // JSON, see Action
)

// Action is what was done to the quorum while it was recorded.
type Action struct {
	At   int64 // nanoseconds since the Unix epoch, by the recording's clock
	What string
}

// UnmarshalJSON reads {"t": milliseconds, "what": text}.
func (a *Action) UnmarshalJSON(b []byte) error {
	var raw struct {
		T    int64  `json:"t"`
		What string `json:"what"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	a.At, a.What = raw.T*int64(time.Millisecond), raw.What
	return nil
}

// Recorded is the recorded quorum, ready to be played.
type Recorded struct {
	Title   string
	Script  *replay.Script
	Actions []Action
}

// Open opens the recording itself.
func Open() (*recordings.Reader, error) {
	return recordings.NewReader(bytes.NewReader(recording), "the demo's recording")
}

// Load reads the recorded quorum.
func Load() (*Recorded, error) {
	r, err := Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	script, err := replay.Load(r)
	if err != nil {
		return nil, err
	}
	for _, d := range r.Damage() {
		return nil, d
	}
	q := &Recorded{Title: r.Info().Config[ConfigTitle], Script: script}
	if err := json.Unmarshal([]byte(r.Info().Config[ConfigActions]), &q.Actions); err != nil {
		return nil, fmt.Errorf("the demo's recording: actions: %w", err)
	}
	return q, nil
}
