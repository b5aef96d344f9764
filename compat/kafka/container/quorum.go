package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/proxy"
	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// startLimit bounds the start of a quorum; an image that must be pulled takes its time.
const startLimit = 5 * time.Minute

// Quorum is a quorum of containers behind a proxy. It ends with the test.
type Quorum struct {
	*kafka.Quorum
	First kafka.Elected // who led when all were ready

	base    string // of the recording
	stop    context.CancelFunc
	stopped chan struct{} // closed when the proxy has ended and the recording is complete
	once    sync.Once
	err     error // of the proxy, once stopped is closed
}

// Start starts the controllers and brokers of a quorum behind a proxy, and returns when a leader is elected and all are
// ready. It fails the test where that cannot be; with -short it skips the test.
func Start(t testing.TB, cfg Config) *Quorum {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it starts containers, and the short tier needs no container engine")
	}
	q, err := start(t, cfg)
	if err != nil {
		t.Fatalf("quorum of %s: %v", cfg.Image, err)
	}
	return q
}

func start(t testing.TB, cfg Config) (*Quorum, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("it runs on Linux alone, as the proxy does, not on %s", runtime.GOOS)
	}
	if cfg.Image == "" {
		return nil, errors.New("Config.Image is not set: name one such as understudy/kafka:4.4.0, which `make images` builds")
	}
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	if cfg.Release.IsZero() {
		cfg.Release = release(cfg.Image)
	}
	cfg.Dir, cfg.Proxied = t.ArtifactDir(), true
	e, err := newEngine(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = e.provider.Close() }) // connections alone
	cfg.Source = e.source
	q := &Quorum{base: filepath.Join(cfg.Dir, "recording"), stopped: make(chan struct{})}
	if q.Quorum, err = kafka.New(ctx, cfg.Config); err != nil {
		return nil, err
	}
	if err := q.listen(cfg.Faults); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the quorum when the test failed:\n%s", q.Summary())
		}
		if err := errors.Join(q.Close(), q.end()); err != nil {
			t.Errorf("close the quorum: %v", err)
		}
	})
	q.First, err = q.StartAll(ctx)
	return q, err
}

// listen starts the proxy and the recording.
func (q *Quorum) listen(faults []*proxy.Rule) error {
	cfg := proxy.Config{DialFrom: netip.MustParseAddr(kafka.DialFrom), Faults: faults, Log: zerolog.Nop()}
	var opts recordings.Options
	for _, text := range q.Upstreams() {
		u, err := proxy.ParseUpstream(text)
		if err != nil {
			return err
		}
		cfg.Upstreams = append(cfg.Upstreams, u)
		opts.Upstreams = append(opts.Upstreams, recordings.Upstream{Node: u.Node, Endpoint: u.Listen, Target: u.Address})
	}
	opts.IncludeRecords, opts.Tool = true, "understudy container"
	p, err := proxy.New(cfg)
	if err != nil {
		return err
	}
	w, err := recordings.Create(q.base, proxy.InBackground(opts))
	if err != nil {
		p.Close()
		return err
	}
	p.Attach(proxy.NewRecording(q.base, w, cfg.Log))
	ctx, stop := context.WithCancel(context.Background())
	q.stop = stop
	go func() {
		defer close(q.stopped)
		q.err = p.Run(ctx)
	}()
	return nil
}

// end stops the proxy.
func (q *Quorum) end() error {
	q.once.Do(q.stop)
	<-q.stopped
	return q.err
}

// Recording are the files of what crossed, for `understudy dump`, `understudy check` and Wireshark. They are complete
// when the proxy has ended, and stay if the test is run with -artifacts.
func (q *Quorum) Recording() []string {
	files, _ := filepath.Glob(q.base + "-*.pcapng.zst") // the pattern is well-formed
	return files
}

// Judge ends the quorum and the proxy, and has the shadow judge all that crossed, as `understudy check` does. It may be
// asked again, with other options.
func (q *Quorum) Judge(options shadow.Options) (*shadow.Report, error) {
	if err := errors.Join(q.CloseInOrder(), q.end()); err != nil {
		return nil, err
	}
	in, err := recordings.Open(q.Recording()...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	checker := shadow.New(options)
	var o recordings.Observation
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			return checker.Finish(), nil
		}
		if err != nil {
			return nil, err
		}
		checker.Observe(&o)
	}
}

// MustConform ends the quorum and fails the test unless every controller conforms. It returns the report.
func (q *Quorum) MustConform(t testing.TB) *shadow.Report {
	t.Helper()
	report, err := q.Judge(shadow.Options{})
	if err != nil {
		t.Fatalf("judge the quorum: %v", err)
	}
	if report.Verdict != shadow.Conforms {
		var text strings.Builder
		_ = report.WriteText(&text) // to memory
		t.Errorf("the quorum does not conform:\n%s", &text)
	}
	return report
}
