package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/understudy-kafka/understudy/internal/build"
	"github.com/understudy-kafka/understudy/proxy"
	"github.com/understudy-kafka/understudy/recordings"
)

func newProxyCommand() *cobra.Command {
	o := &proxyOptions{checked: true}
	cmd := &cobra.Command{
		Use:   "proxy --upstream NODE=HOST:PORT=LISTEN ...",
		Short: "Relay, record and check the traffic of a controller quorum",
		Long: `proxy listens for each controller, passes every byte on unchanged, records every frame, and checks what
the controllers decide. The checker is a process of its own that reads along; forwarding never waits for it.

It prints elections as they happen, and when it is stopped (SIGTERM, Ctrl-C) the verdict; the exit code is 1 if a
controller has diverged.

The proxy must be the address that the controllers advertise: set advertised.listeners (and
controller.quorum.voters or controller.quorum.bootstrap.servers) of each controller to LISTEN,
and leave only listeners at HOST:PORT.

A fault rule makes the proxy misbehave on purpose:
` + faultHelp + `

` + controlHelp,
		Example: `  understudy proxy --upstream 1=127.0.0.1:19091=127.0.0.1:9091 --upstream 2=127.0.0.1:19092=127.0.0.1:9092 --upstream 3=127.0.0.1:19093=127.0.0.1:9093
  understudy proxy --config quorum.yaml --record /var/lib/understudy/ --rotate-size 1GiB --http :9644
  understudy proxy --config quorum.yaml --fault 'drop Vote from 3 to 1 nth 2' --fault 'delay 200ms Fetch response to 2'
  understudy proxy --config quorum.yaml --watch
  understudy proxy --config quorum.yaml --control unix:/run/understudy.sock
  curl --unix-socket /run/understudy.sock http://proxy/faults -d 'partition 1->2'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.flags(cmd)
	return cmd
}

const faultHelp = `  drop MESSAGE | cut MESSAGE | cut after MESSAGE | delay 200ms MESSAGE | duplicate MESSAGE | reorder MESSAGE
  truncate 20 MESSAGE | blackhole MESSAGE | partition 1->2 | answer FENCED_LEADER_EPOCH MESSAGE
  mutate MESSAGE field PATH=VALUE ... (also PATH+=N, PATH-=N, PATH^=N: a bit in the N-th byte from the end, ARRAY=reversed)
each followed by any of: request, response, from NODE, to NODE, 3->1, after K, nth K, every K, first K, epoch E,
probability P, seed S. Without request or response the requests are meant. from and to are the sender and the receiver
of the frame, so the answer to Vote 3->1 is Vote response 1->3.`

// proxyOptions are the flags of proxy and record.
type proxyOptions struct {
	checked bool // with a live checker

	upstreams      []string
	config         string
	record         string
	includeRecords bool
	rotateSize     string
	rotateInterval time.Duration
	durability     string
	faults         []string
	http           string
	dialFrom       string
	control        string
	tapMemory      string

	noCheck        bool
	faultAsPeer    bool
	state          string
	tier           int
	watch          bool
	checkerRestart bool
	checker        []string // another program in place of understudy check
}

func (o *proxyOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.upstreams, "upstream", nil, "a controller as NODE=HOST:PORT=LISTEN; repeat it for each one")
	f.StringVar(&o.config, "config", "", "YAML file with upstreams, dial-from and faults; flags add to it")
	f.StringVar(&o.record, "record", "", "name of the recording, DIR/NAME, or a directory, in which each run gets a name of its own (default understudy-DATE-TIME in the current directory)")
	f.BoolVar(&o.includeRecords, "include-records", false, "record what may hold secrets: records, snapshots, credentials, configuration")
	f.StringVar(&o.rotateSize, "rotate-size", "0", "begin a new segment of the recording at this size, such as 512MiB; 0: never")
	f.DurationVar(&o.rotateInterval, "rotate-interval", 0, "begin a new segment of the recording after this time; 0: never")
	f.StringVar(&o.durability, "durability", "none", "when the recording is forced to the disk: none, interval or frame")
	f.StringArrayVar(&o.faults, "fault", nil, "a fault rule, such as 'drop Vote from 3 to 1 nth 2'; repeat it for more")
	f.StringVar(&o.http, "http", "", "serve /metrics and /healthz at this address, such as :9644")
	f.StringVar(&o.control, "control", "", "serve the control API, which changes fault rules, at unix:PATH or a loopback address")
	f.StringVar(&o.dialFrom, "dial-from", "", "local address of connections to the controllers, such as 127.0.0.9")
	f.StringVar(&o.tapMemory, "tap-memory", "64MiB", "the most that may wait for the recorder; beyond it frames are left out of the recording")
	if o.checked {
		f.BoolVar(&o.noCheck, "no-check", false, "do not start the checker")
		f.BoolVar(&o.faultAsPeer, "fault-as-peer", false, "judge frames that a fault rule altered as if the peer had sent them so")
		f.IntVar(&o.tier, "tier", defaultTier, "what the checker judges, 1 or 2; see check --tier")
		f.BoolVar(&o.watch, "watch", false, "show the quorum as it is, once a second: nodes, roles, epochs, lags, the latest events, a verdict for each node")
		f.StringVar(&o.state, "state", "", "remember what was seen of each cluster in this `DIR`, from run to run; see check --state")
		f.BoolVar(&o.checkerRestart, "restart-checker", true, "start the checker again when it ends by itself")
		f.StringArrayVar(&o.checker, "checker", nil, "program to use in place of understudy check; repeat it for its arguments")
		_ = f.MarkHidden("checker")
	}
	_ = cmd.RegisterFlagCompletionFunc("durability", cobra.FixedCompletions([]string{"none", "interval", "frame"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// settle reads the flags and the file into a configuration of the proxy and of the recording.
func (o *proxyOptions) settle() (cfg proxy.Config, rec recordings.Options, err error) {
	if o.config != "" {
		file, err := proxy.ReadFile(o.config)
		if err != nil {
			return cfg, rec, usageError("%w", err)
		}
		cfg.Upstreams, cfg.DialFrom, cfg.Faults = file.Upstreams, file.DialFrom, file.Faults
	}
	for _, text := range o.upstreams {
		u, err := proxy.ParseUpstream(text)
		if err != nil {
			return cfg, rec, usageError("--upstream: %w", err)
		}
		cfg.Upstreams = append(cfg.Upstreams, u)
	}
	for _, text := range o.faults {
		rule, err := proxy.ParseRule(text)
		if err != nil {
			return cfg, rec, usageError("--fault: %w", err)
		}
		cfg.Faults = append(cfg.Faults, rule)
	}
	if o.dialFrom != "" {
		if cfg.DialFrom, err = netip.ParseAddr(o.dialFrom); err != nil {
			return cfg, rec, usageError("--dial-from: %w", err)
		}
	}
	memory, err := parseSize(o.tapMemory)
	if err != nil || memory < 1<<20 || memory > 1<<40 {
		return cfg, rec, usageError("--tap-memory %q: want a size from 1MiB on, such as 64MiB", o.tapMemory)
	}
	cfg.TapMemory = int(memory)
	if rec.SegmentSize, err = parseSize(o.rotateSize); err != nil {
		return cfg, rec, usageError("--rotate-size %q: want a size such as 512MiB, or 0", o.rotateSize)
	}
	if rec.Durability, err = recordings.ParseDurability(o.durability); err != nil {
		return cfg, rec, usageError("--durability: %w", err)
	}
	if o.rotateInterval < 0 {
		return cfg, rec, usageError("--rotate-interval %s: want a time above 0, or 0 for never", o.rotateInterval)
	}
	rec.SegmentAge, rec.IncludeRecords = o.rotateInterval, o.includeRecords
	rec.Tool = "understudy " + build.Version
	return cfg, rec, nil
}

// target is the base name of the recording; its directory exists afterwards.
func (o *proxyOptions) target(now time.Time) (string, error) {
	base := o.record
	stamp := "understudy-" + now.Format("20060102-150405")
	if base == "" {
		return stamp, nil
	}
	if info, err := os.Stat(base); err == nil && info.IsDir() || strings.HasSuffix(base, string(filepath.Separator)) {
		base = filepath.Join(base, stamp)
	}
	return base, os.MkdirAll(filepath.Dir(base), 0o750)
}

func (o *proxyOptions) run(cmd *cobra.Command) error {
	cfg, rec, err := o.settle()
	if err != nil {
		return err
	}
	if o.checked && o.tier != 1 && o.tier != 2 {
		return usageError("--tier %d: want 1 or 2", o.tier)
	}
	if o.noCheck && (o.watch || o.state != "") {
		return usageError("--watch and --state show and keep what the checker sees; they cannot go with --no-check")
	}
	// The loop must never wait for the recorder to leave a processor of the Go scheduler; the kernel shares the real
	// ones better.
	if procs := runtime.GOMAXPROCS(0); procs < 4 && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(4)
	}
	cfg.Log = newLog(cmd.ErrOrStderr())
	var control net.Listener
	if o.control != "" { // before anything is written
		if control, err = listenControl(o.control); err != nil {
			return err
		}
		defer func() { _ = control.Close() }() // it is closed already where it was served
	}
	base, err := o.target(time.Now())
	if err != nil {
		return &exitError{exitRuntime, fmt.Errorf("recording: %w", err)}
	}
	p, err := proxy.New(cfg)
	if errors.Is(err, proxy.ErrConfig) {
		return usageError("%w\nRun '%s --help' for the flags and examples", err, cmd.CommandPath())
	}
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	for _, u := range p.Upstreams() {
		rec.Upstreams = append(rec.Upstreams, recordings.Upstream{Node: u.Node, Endpoint: u.Listen, Target: u.Address})
	}
	w, err := recordings.Create(base, proxy.InBackground(rec))
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w\na recording is never overwritten: choose another name with --record, or the name of a directory, in which each run gets a name of its own", err)
	}
	if err != nil {
		p.Close()
		return &exitError{exitRuntime, err}
	}
	p.Attach(proxy.NewRecording(base, w, cfg.Log))
	var show *timeline
	if o.checked && !o.noCheck {
		show = &timeline{out: cmd.OutOrStdout()}
		if o.watch {
			show.watch = &liveView{out: show.out, screen: isTerminal(show.out)}
		}
		checker, err := o.startChecker(show, rec, cfg.Log)
		if err != nil {
			p.Close()
			return &exitError{exitRuntime, errors.Join(err, w.Close())}
		}
		p.Attach(checker)
	}
	return o.serve(cmd, p, &cfg, base, show, control)
}

// newLog logs for people: in colour only to a terminal, and not there where NO_COLOR asks for none.
func newLog(out io.Writer) zerolog.Logger {
	f, ok := out.(*os.File)
	plain := !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("NO_COLOR") != ""
	return zerolog.New(zerolog.ConsoleWriter{Out: out, NoColor: plain, TimeFormat: time.TimeOnly}).With().Timestamp().Logger()
}

// serve runs the proxy until it is told to end.
func (o *proxyOptions) serve(cmd *cobra.Command, p *proxy.Proxy, cfg *proxy.Config, base string, show *timeline, control net.Listener) error {
	out := cmd.OutOrStdout()
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	var httpErr error
	if control != nil {
		defer serveControl(control, p, cfg.Log)()
	}
	if o.http != "" {
		shut, addr, err := serveProxy(o.http, p, cfg.Log)
		if err != nil {
			httpErr = errors.Join(httpErr, err)
			stop() // what has been started ends in order
		} else {
			defer shut()
			o.http = addr
		}
	}
	if httpErr == nil {
		o.summary(out, p, cfg, base)
	}
	err := errors.Join(httpErr, p.Run(ctx))
	var exit *exitError
	if errors.As(httpErr, &exit) {
		return httpErr
	}
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	o.farewell(out, p.Stats(), base)
	if show != nil {
		return show.end()
	}
	return nil
}

func (o *proxyOptions) summary(out io.Writer, p *proxy.Proxy, cfg *proxy.Config, base string) {
	fmt.Fprintf(out, "understudy %s\n", build.Version)
	for _, u := range p.Upstreams() {
		fmt.Fprintf(out, "  node %-4s %s -> %s\n", u.Node, u.Listen, u.Address)
	}
	for _, r := range cfg.Faults {
		fmt.Fprintf(out, "  fault     %s\n", r.Text)
	}
	kept := "records and credentials withheld"
	if o.includeRecords {
		kept = "complete, with everything secret in it"
	}
	fmt.Fprintf(out, "  recording %s-*.pcapng.zst (%s)\n", base, kept)
	if o.checked && !o.noCheck {
		fmt.Fprintf(out, "  checker   live\n")
	}
	if o.http != "" {
		fmt.Fprintf(out, "  http      http://%s/metrics\n", o.http)
	}
}

func (o *proxyOptions) farewell(out io.Writer, s proxy.Stats, base string) {
	fmt.Fprintf(out, "%d connections, %d requests, %d responses forwarded; %d frames recorded in %s-*.pcapng.zst\n",
		s.Opened, s.FramesRequest, s.FramesResponse, s.Recorded, base)
	if s.Gaps+s.Unrecorded > 0 {
		fmt.Fprintf(out, "%d gaps: %d frames (%d bytes) are missing from the recording, and %d whole connections\n",
			s.Gaps, s.GapFrames, s.GapBytes, s.Unrecorded)
	}
	for _, sink := range s.Sinks {
		if sink.Lost > 0 || sink.Errors > 0 {
			fmt.Fprintf(out, "%s: %d errors, %d frames lost; the last error: %s\n", sink.Name, sink.Errors, sink.Lost, sink.LastError)
		}
	}
}
