package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/conform"
	"github.com/understudy-kafka/understudy/kraft"
)

// conformFlags are the flags of `understudy conform`.
type conformFlags struct {
	output, release, cluster string
	node                     int32
	match, explain           string
	list, verbose            bool
	junit, html              string
	own                      bool
	voters                   map[string]string
	restart                  string
}

func newConformCommand() *cobra.Command {
	var f conformFlags
	cmd := &cobra.Command{
		Use:   "conform HOST:PORT...",
		Short: "Check what a KRaft controller answers, rule by rule",
		Long: `conform asks a controller's listener what a conforming node refuses, or answers without a change of state, and says case by case
which rule of Kafka's it keeps. It may be pointed at a live quorum: no vote, epoch, leader, voter or log changes.

What differs between releases is judged by a release's rules: the one the node says it is, or the one named by --release. Several
targets, such as all controllers of a quorum, make the columns of one matrix; some cases can only be asked of a leader or a follower.

With --own-quorum the suite itself plays the other voters, and drives the node through follower, candidate and leader. This needs a
node made for the purpose: its controller.quorum.voters names itself and two voters at addresses where nothing listens yet. Its data is
spoilt for any other use. --restart-cmd, a shell command that kills the node and starts it again, adds what must survive that.

Exit codes: 0 all cases that apply passed, 1 a case failed, 2 wrong usage, 3 a case could not be judged, 4 a target cannot be reached.`,
		Example: `  understudy conform 127.0.0.1:9093
  understudy conform --run '^vote/' -v 127.0.0.1:9093
  understudy conform --html matrix.html 127.0.0.1:9093 127.0.0.1:9094
  understudy conform --junit report.xml 127.0.0.1:9093
  understudy conform --own-quorum --node-id 1 --cluster-id "$ID" --voters 2=127.0.0.1:9094,3=127.0.0.1:9095 127.0.0.1:9093
  understudy conform --list --release 4.4.0
  understudy conform --explain vote/v2/prevote-does-not-change-state`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runConform(cmd, args, &f) },
	}
	flags := cmd.Flags()
	outputFlag(cmd, &f.output)
	flags.StringVar(&f.release, "release", "", "judge by the rules of this Kafka release instead of the one that the node says it is")
	flags.StringVar(&f.cluster, "cluster-id", "", "the cluster id, for nodes that do not tell it")
	flags.Int32Var(&f.node, "node-id", -1, "the target's node id, for nodes that do not tell it")
	flags.StringVar(&f.match, "run", "", "only cases whose id matches this regular expression")
	flags.BoolVar(&f.list, "list", false, "list the cases instead of asking them")
	flags.StringVar(&f.explain, "explain", "", "say what this case asks and expects, and why")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "also list the cases that passed")
	flags.StringVar(&f.junit, "junit", "", "also write JUnit XML to this file (one target)")
	flags.BoolVar(&f.own, "own-quorum", false, "play the other voters of a quorum made for the suite; needs --voters, --node-id and --cluster-id")
	flags.StringToStringVar(&f.voters, "voters", nil, "the two voters that the suite plays, as ID=HOST:PORT,ID=HOST:PORT")
	flags.StringVar(&f.restart, "restart-cmd", "", "shell command that kills the node and starts it again on its data")
	flags.StringVar(&f.html, "html", "", "also write a matrix of cases and targets to this file")
	return cmd
}

func runConform(cmd *cobra.Command, args []string, f *conformFlags) error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	match, err := regexp.Compile(f.match)
	if err != nil {
		return usageError("--run: %w", err)
	}
	if f.release != "" {
		if _, err := compat.ByRelease(f.release); err != nil {
			return usageError("--release: %w", err)
		}
	}
	switch {
	case f.explain != "":
		return explainCase(cmd.OutOrStdout(), f)
	case f.list:
		return listCases(cmd.OutOrStdout(), f, match)
	case len(args) == 0:
		return usageError("no target: name a controller's listener as HOST:PORT\nRun '%s --help' for usage", cmd.CommandPath())
	case f.own && len(args) > 1:
		return usageError("--own-quorum takes one target, not %d", len(args))
	case !f.own && (f.restart != "" || len(f.voters) > 0):
		return usageError("--voters and --restart-cmd belong to --own-quorum")
	case f.junit != "" && len(args) > 1:
		return usageError("--junit takes one target, not %d", len(args))
	}
	var columns []conform.Column
	for _, address := range args {
		report, err := conformTarget(cmd, address, f, match)
		if err != nil {
			return err
		}
		columns = append(columns, conform.Column{Name: address, Report: report})
	}
	if err := writeConformFiles(f, columns); err != nil {
		return err
	}
	return conformVerdict(columns)
}

// conformTarget runs the suite against one target and prints its report.
func conformTarget(cmd *cobra.Command, address string, f *conformFlags, match *regexp.Regexp) (*conform.Report, error) {
	o := conform.Options{Address: address, Release: f.release, ClusterID: f.cluster, NodeID: kraft.NodeID(f.node), Match: match}
	if progress := cmd.ErrOrStderr(); isTerminal(progress) {
		o.Progress = func(done, of int, r *conform.Result) { fmt.Fprintf(progress, "\r%d/%d %-70.70s", done, of, r.Case.ID) }
		defer fmt.Fprintf(progress, "\r%-80s\r", "")
	}
	report, err := runSuite(cmd, o, f)
	var usage *exitError
	if errors.As(err, &usage) {
		return nil, err
	}
	if errors.Is(err, conform.ErrUndecided) {
		return nil, &exitError{exitInconclusive, fmt.Errorf("conform: %w", err)}
	}
	if errors.Is(err, conform.ErrNoCase) {
		return nil, usageError("--run %q: %w", f.match, err)
	}
	if err != nil {
		return nil, &exitError{exitRuntime, fmt.Errorf("conform %s: %w", address, err)}
	}
	if f.output == "json" {
		return report, report.WriteJSON(cmd.OutOrStdout())
	}
	return report, report.WriteText(cmd.OutOrStdout(), f.verbose)
}

// runSuite runs the mode that the flags name.
func runSuite(cmd *cobra.Command, o conform.Options, f *conformFlags) (*conform.Report, error) {
	if !f.own {
		return conform.Run(cmd.Context(), o)
	}
	own := conform.OwnOptions{Options: o, Voters: map[kraft.NodeID]string{}}
	for text, address := range f.voters {
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil || id < 0 {
			return nil, usageError("--voters: %q is no node id", text)
		}
		own.Voters[kraft.NodeID(id)] = address
	}
	if len(own.Voters) != 2 || f.node < 0 || f.cluster == "" {
		return nil, usageError("--own-quorum needs --node-id, --cluster-id and two --voters")
	}
	if f.restart != "" {
		own.Restart = func(ctx context.Context) error {
			command := exec.CommandContext(ctx, "sh", "-c", f.restart)
			command.WaitDelay = 2 * time.Second // the node that it starts may keep its output open
			out, err := command.CombinedOutput()
			if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
				return fmt.Errorf("--restart-cmd: %w: %s", err, bytes.TrimSpace(out))
			}
			return nil
		}
	}
	return conform.RunOwn(cmd.Context(), own)
}

func writeConformFiles(f *conformFlags, columns []conform.Column) error {
	write := func(name string, to func(io.Writer) error) error {
		file, err := os.Create(name)
		if err != nil {
			return &exitError{exitRuntime, err}
		}
		if err := errors.Join(to(file), file.Close()); err != nil {
			return &exitError{exitRuntime, fmt.Errorf("write %s: %w", name, err)}
		}
		return nil
	}
	if f.junit != "" {
		if err := write(f.junit, columns[0].Report.WriteJUnit); err != nil {
			return err
		}
	}
	if f.html != "" {
		return write(f.html, func(w io.Writer) error { return conform.WriteHTML(w, columns) })
	}
	return nil
}

// conformVerdict is the exit code of all targets together.
func conformVerdict(columns []conform.Column) error {
	worst := error(nil)
	for i := range columns {
		switch columns[i].Report.Verdict() {
		case conform.Failed:
			return &exitError{code: exitFinding}
		case conform.Inconclusive:
			worst = &exitError{code: exitInconclusive}
		case conform.Passed, conform.Skipped:
		}
	}
	return worst
}

// conformCases are the cases of the release asked for, or of the newest one.
func conformCases(release string) ([]conform.Case, error) {
	profiles := compat.Profiles()
	p := profiles[len(profiles)-1]
	if release != "" {
		var err error
		if p, err = compat.ByRelease(release); err != nil {
			return nil, err
		}
	}
	cases := conform.Cases(p)
	for _, s := range conform.Scenarios(p) {
		cases = append(cases, s.Case)
	}
	return cases, nil
}

func listCases(w io.Writer, f *conformFlags, match *regexp.Regexp) error {
	cases, err := conformCases(f.release)
	if err != nil {
		return err
	}
	n := 0
	for i := range cases {
		if match.MatchString(cases[i].ID) {
			n++
			fmt.Fprintf(w, "%s: %s\n", &cases[i], cases[i].Says)
		}
	}
	if n == 0 {
		return usageError("--run %q: %w", f.match, conform.ErrNoCase)
	}
	return nil
}

func explainCase(w io.Writer, f *conformFlags) error {
	cases, err := conformCases(f.release)
	if err != nil {
		return err
	}
	var near []string
	for i := range cases {
		if cases[i].ID == f.explain {
			_, err := io.WriteString(w, cases[i].Explain())
			return err
		}
		if strings.Contains(cases[i].ID, f.explain) && len(near) < 5 {
			near = append(near, cases[i].ID)
		}
	}
	if len(near) > 0 {
		return usageError("--explain %q: no such case; there is %s", f.explain, strings.Join(near, ", "))
	}
	return usageError("--explain %q: no such case; --list shows all", f.explain)
}

// isTerminal reports whether progress can be shown on the writer.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
