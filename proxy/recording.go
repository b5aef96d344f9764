package proxy

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/recordings"
)

// Recording is the sink that writes a recording. What cannot be written is counted, and the recording says so where
// it goes on.
type Recording struct {
	name   string
	writer *recordings.Writer
	log    *folder
	errors counter
	last   atomic.Value // string
	wrote  atomic.Int64 // frames written when the last error came
}

// recordingHaste is at some 30,000 frames a second: far above what a quorum exchanges, and where compressing and
// describing them would take a tenth of a processor.
const recordingHaste = 10 * time.Millisecond

// InBackground makes options of a recording whose writing holds forwarding up as little as can be, also on one
// processor.
func InBackground(o recordings.Options) recordings.Options {
	o.Background, o.Haste, o.Breath = true, recordingHaste, yield
	return o
}

// NewRecording makes a sink of a writer, which it closes in the end. name stands for it in messages.
func NewRecording(name string, w *recordings.Writer, log zerolog.Logger) *Recording {
	return &Recording{name: name, writer: w, log: newFolder(log)}
}

// Observe implements [Sink].
func (s *Recording) Observe(o *recordings.Observation) { s.check(s.writer.Write(o)) }

// Idle implements [Sink].
func (s *Recording) Idle(now int64) { s.check(s.writer.Tick(now)) }

// Close implements [Sink].
func (s *Recording) Close() error {
	defer s.log.flush()
	return s.writer.Close()
}

func (s *Recording) check(err error) {
	if err == nil {
		return
	}
	s.errors.add(1)
	s.last.Store(err.Error())
	s.wrote.Store(s.writer.Stats().Written.Load())
	s.log.warn("recording failed; forwarding goes on", "recording", s.name, "error", err.Error())
}

// Stats implements [Sink].
func (s *Recording) Stats() SinkStats {
	st := s.writer.Stats()
	last, _ := s.last.Load().(string)
	return SinkStats{
		Name: "recording", Frames: uint64(st.Frames.Load()), Lost: uint64(st.Lost.Load()), Errors: s.errors.get(), LastError: last,
		Up: s.errors.get() == 0 || st.Written.Load() > s.wrote.Load(),
	}
}
