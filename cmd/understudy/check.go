package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// checkFlags are the flags of check.
type checkFlags struct {
	output      string
	nodes       []string
	faultAsPeer bool
	follow      bool
	tier        int
	seesAll     bool
	releases    []string
	bundle      string
	html        string
	state       string
}

func newCheckCommand() *cobra.Command {
	var flags checkFlags
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Judge what the controllers did, from recordings and captures",
		Long: `check reads recordings and captures (pcap or pcapng, plain, gzip or zstd; - is stdin) and judges each
controller: CONFORMS, DIVERGES or INCONCLUSIVE, with the frames that prove it. Several files are merged; segments of one
recording are one stream.

A capture of one host lacks what the others say to each other. Controllers of which something is missing are judged by the rules of the
first tier alone, and the report says so; --sees-all says that nothing is.

A verdict rests on at least 95 % of the decisions that were seen. What could not be judged is counted, with the reason.

Exit codes: 0 conforms, 1 diverges, 3 inconclusive, 2 wrong usage, 4 an I/O error.`,
		Example: `  understudy check run.pcapng.zst
  tcpdump -i any -w - 'tcp port 9093' | understudy check -
  understudy check --node 1=10.0.0.1:9093 --node 2=10.0.0.2:9093 capture.pcap.gz
  understudy check -o json run.pcapng.zst | jq .findings
  understudy check --follow -o jsonl run
  understudy check -o junit --html report.html run.pcapng.zst > report.xml
  understudy check --state /var/lib/understudy/state today.pcapng.zst
  understudy check --bundle found run.pcapng.zst; understudy explain found/*`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return check(cmd.Context(), &flags, args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.output, "output", "o", "text", "text, json (the whole report), jsonl (events as they happen, the verdict last) or junit (JUnit XML: a suite for each node, a case for each rule)")
	f.StringArrayVar(&flags.nodes, "node", nil, "which node listens where, `ID=HOST:PORT`; otherwise learnt from the traffic")
	f.BoolVar(&flags.faultAsPeer, "fault-as-peer", false, "judge frames that a fault rule altered as if the peer had sent them so")
	f.IntVar(&flags.tier, "tier", defaultTier, "1: rules over what messages prove; 2: also, each message of a voter must be one that some state of a correct controller of its release (4.0.0 to 4.4.0) explains")
	f.StringArrayVar(&flags.releases, "release", nil, "which release the controllers are, `RELEASE` or ID=RELEASE, for --tier 2; only needed for captures that begin after their connections: with each they tell it")
	f.BoolVar(&flags.seesAll, "sees-all", false, "every connection between the controllers is in the input, though it may not show: --tier 2 judges a controller only if some of what it and each other voter said to each other is there, or a proxy stood before both")
	f.StringVar(&flags.bundle, "bundle", "", "for each finding, write what proves it to a directory under this one: text, JSON, and a small recording that shows it by itself; see explain")
	f.StringVar(&flags.html, "html", "", "also write the report to `FILE` as one page with a timeline, which needs no network")
	f.StringVar(&flags.state, "state", "", "remember what was seen of each cluster in this `DIR`: the high watermark, votes, epochs and voters; a quorum that comes back with less is found in a later run")
	f.BoolVar(&flags.follow, "follow", false, "wait for more at the end of a recording that is being written")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// defaultTier is the tier of rules that is judged unless another is asked for.
const defaultTier = 2

// valid looks at the flags together.
func (flags *checkFlags) valid(files []string) error {
	switch {
	case flags.tier != 1 && flags.tier != 2:
		return usageError("--tier %d: want 1 or 2", flags.tier)
	case !slices.Contains(outputs, flags.output):
		return usageError("--output %q: want %s", flags.output, strings.Join(outputs, ", "))
	case flags.follow && len(files) != 1:
		return usageError("--follow takes one recording")
	case flags.bundle != "" && (flags.follow || slices.Contains(files, "-")):
		return usageError("--bundle reads the input twice: it takes files, not stdin, and not --follow")
	}
	return nil
}

// outputs are the forms of the report.
var outputs = []string{"text", "json", "jsonl", "junit"}

// check judges the files and prints the report.
func check(ctx context.Context, flags *checkFlags, files []string, stdin io.Reader, stdout, stderr io.Writer) error {
	names, err := listeners("node", flags.nodes)
	if err != nil {
		return err
	}
	if err := flags.valid(files); err != nil {
		return err
	}
	releases, err := releasesOf(flags.releases)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(stdout)
	options := shadow.Options{Names: names, FaultAsPeer: flags.faultAsPeer, Tier2: flags.tier == 2, SeesAll: flags.seesAll, Releases: releases}
	var printed error // of the first event that could not be written
	film := shadow.NewFilm()
	lines := json.NewEncoder(out)
	if flags.output == "jsonl" || flags.html != "" {
		options.Events = func(e shadow.Event) {
			if flags.html != "" {
				film.Event(e)
			}
			if flags.output == "jsonl" && printed == nil {
				printed = errors.Join(lines.Encode(&e), out.Flush())
			}
		}
	}
	source, err := openChecked(ctx, flags.follow, files, stdin)
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	defer func() { _ = source.Close() }() // it was only read
	state := &stateDir{dir: flags.state}
	if flags.state != "" {
		options.Recall = state.recall
	}
	checker := shadow.New(options)
	film.Watch(checker)
	if err := feed(ctx, checker, source, &printed, newProgress(stderr, source)); err != nil {
		return &exitError{exitRuntime, err}
	}
	report := checker.Finish()
	if state.err != nil {
		return &exitError{exitRuntime, state.err}
	}
	if flags.state != "" {
		if err := state.remember(checker.Memory()); err != nil {
			return &exitError{exitRuntime, err}
		}
	}
	err = errors.Join(writeReport(out, report, flags.output), printed, out.Flush())
	if err == nil {
		err = writeFiles(flags, files, checker, options, film, report, stderr)
	}
	if err != nil {
		return &exitError{exitRuntime, fmt.Errorf("write the report: %w", err)}
	}
	switch report.Verdict {
	case shadow.Diverges:
		return &exitError{code: exitFinding}
	case shadow.Inconclusive:
		return &exitError{code: exitInconclusive}
	default:
		return nil
	}
}

// writeReport writes the report in the form asked for. Events have been written already.
func writeReport(out io.Writer, report *shadow.Report, form string) error {
	switch form {
	case "text":
		return report.WriteText(out)
	case "junit":
		return report.WriteJUnit(out)
	case "json":
		pretty := json.NewEncoder(out)
		pretty.SetIndent("", "  ")
		return pretty.Encode(report)
	}
	return nil
}

// writeFiles writes what goes to files of its own: bundles and the page.
func writeFiles(flags *checkFlags, files []string, c *shadow.Checker, options shadow.Options, film *shadow.Film, r *shadow.Report, stderr io.Writer) error {
	if flags.html != "" {
		page, err := film.Page(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(flags.html, page, 0o644); err != nil {
			return err
		}
	}
	if flags.bundle == "" {
		return nil
	}
	dirs, err := writeBundles(flags.bundle, flags, files, c, options)
	for _, dir := range dirs {
		fmt.Fprintf(stderr, "wrote %s\n", dir)
	}
	return err
}

// listeners reads flags that say which node listens where.
func listeners(name string, flags []string) (map[string]kraft.NodeID, error) {
	names := map[string]kraft.NodeID{}
	for _, flag := range flags {
		id, address, ok := strings.Cut(flag, "=")
		n, err := strconv.ParseInt(id, 10, 32)
		_, port, badAddress := net.SplitHostPort(address)
		if _, badPort := strconv.ParseUint(port, 10, 16); !ok || err != nil || n < 0 || badAddress != nil || badPort != nil {
			return nil, usageError("--%s %q: want ID=HOST:PORT", name, flag)
		}
		if other, taken := names[address]; taken && other != kraft.NodeID(n) {
			return nil, usageError("--%s: %s is said to be node %s and node %d", name, address, other, n)
		}
		names[address] = kraft.NodeID(n)
	}
	return names, nil
}

// releasesOf reads which node is of which release. NoNode stands for all.
func releasesOf(flags []string) (map[kraft.NodeID]string, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	releases := map[kraft.NodeID]string{}
	for _, flag := range flags {
		id, release, named := strings.Cut(flag, "=")
		node := kraft.NoNode
		if !named {
			release = flag
		} else if n, err := strconv.ParseInt(id, 10, 32); err != nil || n < 0 {
			return nil, usageError("--release %q: want RELEASE or ID=RELEASE", flag)
		} else {
			node = kraft.NodeID(n)
		}
		if _, err := compat.ByRelease(release); err != nil {
			return nil, usageError("--release %q: %v", flag, err)
		}
		releases[node] = release
	}
	return releases, nil
}

// checkedSource is what check reads.
type checkedSource interface {
	recordings.Source
	Damage() []*recordings.Damage
	Close() error
}

func openChecked(ctx context.Context, follow bool, files []string, stdin io.Reader) (checkedSource, error) {
	if !follow || files[0] == "-" { // a pipe is followed anyway, until it is closed
		return recordings.OpenAny(stdin, files...)
	}
	return recordings.Follow(ctx, files[0])
}

// feed hands all observations of a source to the checker. A file that is cut is judged up to there.
func feed(ctx context.Context, checker *shadow.Checker, source checkedSource, printed *error, show *progress) error {
	defer show.end()
	var o recordings.Observation
	for n := 0; ; n++ {
		err := source.Next(&o)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			for _, d := range source.Damage() {
				if errors.Is(d, recordings.ErrCut) || errors.Is(d, recordings.ErrNoTrailer) {
					checker.Cut(d.Error())
				} else {
					checker.Damaged(d.Error())
				}
			}
			return nil
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			checker.Cut("interrupted")
			return nil
		default:
			return err
		}
		checker.Observe(&o)
		if n%4096 == 0 {
			show.at(checker.Counts().Frames)
			if *printed != nil {
				return fmt.Errorf("write events: %w", *printed)
			}
			if ctx.Err() != nil {
				checker.Cut("interrupted")
				return nil
			}
		}
	}
}

// progress says on a terminal how far a long file is read.
type progress struct {
	out   io.Writer // nil: not a terminal, or the size is not known
	size  func() (read, total int64)
	begun time.Time
	last  time.Time
	shown bool
}

// progressAfter and progressEvery say when progress begins to be shown, and how often.
const (
	progressAfter = 2 * time.Second
	progressEvery = 500 * time.Millisecond
)

func newProgress(out io.Writer, source checkedSource) *progress {
	p := &progress{begun: time.Now()}
	f, ok := out.(*os.File)
	sized, hasSize := source.(interface{ Progress() (read, total int64) })
	if ok && hasSize && term.IsTerminal(int(f.Fd())) {
		p.out, p.size = out, sized.Progress
	}
	return p
}

func (p *progress) at(frames uint64) {
	if p.out == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.begun) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	read, total := p.size()
	rate := float64(frames) / now.Sub(p.begun).Seconds()
	if total > 0 {
		fmt.Fprintf(p.out, "\r%3d %%  %d frames  %.0f frames/s ", read*100/total, frames, rate)
	} else {
		fmt.Fprintf(p.out, "\r%d frames  %.0f frames/s ", frames, rate)
	}
}

func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.out, "\r\033[K")
	}
}
