package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/conform"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller/properties"
)

// conformFlags are the flags of `understudy conform`.
type conformFlags struct {
	output, release, cluster string
	node                     int32
	match, explain           string
	list, verbose            bool
	junit, html              string
	own                      bool
	voters                   []string
	restart                  string
	hostile, security        string
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
node made for the purpose: its controller.quorum.voters names itself and two voters at addresses where nothing listens yet, and so does
--voters. A dynamic quorum (KIP-853) is formatted with --initial-controllers instead; --voters with the directory ids that were named
there adds what only such a quorum has. The node's data is spoilt for any other use. --restart-cmd, a shell command that kills the node
and starts it again, adds what must survive that.

--hostile adds what must not kill a node: garbage, frames that are cut off or claim to be huge, slow readers, lists without end. After each
the node must answer as before. --hostile=killers also sends what is known to end nodes of Kafka releases; a node that ends so is reported
as KNOWN, with the release and the issue, and --restart-cmd brings it back. Ask for neither at a quorum that others need.

A listener with TLS or SASL PLAIN needs --command-config, the file that Kafka's tools take: security.protocol, ssl.*, sasl.*, keys in PEM.
With --own-quorum the suite listens by the same: it shows the certificate of that file, for which the node must take it at the voters'
addresses, and believes the user and password of that file.

Exit codes: 0 all cases that apply passed, 1 a case failed, 2 wrong usage or credentials, 3 a case could not be judged, 4 a target cannot
be reached.`,
		Example: `  understudy conform 127.0.0.1:9093
  understudy conform --run '^vote/' -v 127.0.0.1:9093
  understudy conform --html matrix.html 127.0.0.1:9093 127.0.0.1:9094
  understudy conform --junit report.xml 127.0.0.1:9093
  understudy conform --own-quorum --node-id 1 --cluster-id "$ID" --voters 2@127.0.0.1:9094,3@127.0.0.1:9095 127.0.0.1:9093
  understudy conform --hostile 127.0.0.1:9093
  understudy conform --command-config client.properties controller1:9093
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
	flags.StringSliceVar(&f.voters, "voters", nil, "the two voters that the suite plays, as ID@HOST:PORT,…; of a dynamic quorum ID@HOST:PORT:DIRECTORY-ID,…")
	flags.StringVar(&f.restart, "restart-cmd", "", "shell command that kills the node and starts it again on its data")
	flags.StringVar(&f.hostile, "hostile", "", "also do what must not kill a node; =killers: also what ends nodes of Kafka, with --restart-cmd")
	flags.Lookup("hostile").NoOptDefVal = hostileYes
	flags.StringVar(&f.security, "command-config", "", "property file with security.protocol, ssl.* and sasl.*, as for Kafka's tools")
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
	}
	if err := f.check(cmd, args); err != nil {
		return err
	}
	var columns []conform.Column
	var unreached error // or the report could not be printed
	for _, address := range args {
		report, err := conformTarget(cmd, address, f, match)
		if report != nil {
			columns = append(columns, conform.Column{Name: address, Report: report})
		}
		if unreached = err; err != nil {
			break
		}
	}
	if len(columns) > 0 { // what has been asked is not lost with a target that cannot be
		if err := writeConformFiles(f, columns); err != nil {
			return errors.Join(unreached, err)
		}
	}
	if unreached != nil {
		return unreached
	}
	return conformVerdict(columns)
}

// The values of --hostile.
const (
	hostileYes     = "yes"
	hostileKillers = "killers"
)

// check refuses flags and targets that make no sense together.
func (f *conformFlags) check(cmd *cobra.Command, args []string) error {
	killers := f.hostile == hostileKillers
	switch {
	case len(args) == 0:
		return usageError("no target: name a controller's listener as HOST:PORT\nRun '%s --help' for usage", cmd.CommandPath())
	case f.hostile != "" && f.hostile != hostileYes && !killers:
		return usageError("--hostile=%s: want --hostile or --hostile=%s", f.hostile, hostileKillers)
	case f.own && len(args) > 1:
		return usageError("--own-quorum takes one target, not %d", len(args))
	case !f.own && len(f.voters) > 0:
		return usageError("--voters belongs to --own-quorum")
	case !f.own && !killers && f.restart != "":
		return usageError("--restart-cmd belongs to --own-quorum or --hostile=%s", hostileKillers)
	case killers && f.restart == "":
		return usageError("--hostile=%s needs --restart-cmd: it ends nodes, and goes on with the next", hostileKillers)
	case killers && len(args) > 1:
		return usageError("--hostile=%s takes one target, not %d: --restart-cmd is that of one", hostileKillers, len(args))
	case f.junit != "" && len(args) > 1:
		return usageError("--junit takes one target, not %d", len(args))
	}
	for flag, name := range map[string]string{"junit": f.junit, "html": f.html} { // before a run of a minute
		if dir, err := os.Stat(filepath.Dir(name)); name != "" && (err != nil || !dir.IsDir()) {
			return usageError("--%s %s: there is no directory %s", flag, name, filepath.Dir(name))
		}
	}
	for _, address := range args {
		if !isAddress(address) {
			return usageError("%q is no target: name a controller's listener as HOST:PORT, such as 127.0.0.1:9093", address)
		}
	}
	return nil
}

// conformOptions are those of the flags that all modes have.
func conformOptions(address string, f *conformFlags, match *regexp.Regexp) (conform.Options, error) {
	o := conform.Options{Address: address, Release: f.release, ClusterID: f.cluster, NodeID: kraft.NodeID(f.node), Match: match}
	switch f.hostile {
	case hostileYes:
		o.Hostility = conform.Hostile
	case hostileKillers:
		o.Hostility = conform.Killers
	}
	if f.restart != "" {
		o.Restart, o.RestartName = f.restartTarget, fmt.Sprintf("--restart-cmd %q", f.restart)
	}
	if f.security != "" {
		guard, err := properties.ReadClient(f.security)
		if err != nil {
			return o, usageError("--command-config: %w", err)
		}
		o.Dial = guard.Dial
	}
	return o, nil
}

// restartLimit is how long --restart-cmd may take. One that runs the node itself, and not in the background, would never end.
const restartLimit = 2 * time.Minute

// restartTarget runs --restart-cmd.
func (f *conformFlags) restartTarget(ctx context.Context) error {
	return f.restartWithin(ctx, restartLimit)
}

func (f *conformFlags) restartWithin(ctx context.Context, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	command := exec.CommandContext(limited, "sh", "-c", f.restart)
	command.WaitDelay = 2 * time.Second // the node that it starts may keep its output open
	out, err := command.CombinedOutput()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && limited.Err() == nil:
		return nil
	case limited.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("--restart-cmd has not ended within %v: it has to leave the node in the background", limit)
	}
	if out = bytes.TrimSpace(out); len(out) > 0 {
		return fmt.Errorf("--restart-cmd: %w: %s", err, out)
	}
	return fmt.Errorf("--restart-cmd: %w", err)
}

// conformTarget runs the suite against one target and prints its report.
func conformTarget(cmd *cobra.Command, address string, f *conformFlags, match *regexp.Regexp) (*conform.Report, error) {
	o, err := conformOptions(address, f, match)
	if err != nil {
		return nil, err
	}
	if progress := cmd.ErrOrStderr(); isTerminal(progress) {
		fmt.Fprintf(progress, "waiting for %s", address)
		o.Progress = func(done, of int, r *conform.Result) { fmt.Fprintf(progress, "\r%d/%d %-70.70s", done, of, r.Case.ID) }
		defer fmt.Fprintf(progress, "\r%-80s\r", "")
	}
	report, err := runSuite(cmd, o, f)
	var usage *exitError
	switch {
	case errors.As(err, &usage):
		return nil, err
	case errors.Is(err, conform.ErrUndecided):
		return nil, &exitError{exitInconclusive, fmt.Errorf("conform: %w", err)}
	case errors.Is(err, conform.ErrNoCase):
		return nil, usageError("--run %q: %w; --list shows all%s", f.match, err, notAsked(f, match))
	case errors.Is(err, secure.ErrAuthentication), errors.Is(err, conform.ErrNoController):
		return nil, usageError("conform: %w", err)
	case err != nil && strings.HasPrefix(err.Error(), address+": "):
		return nil, &exitError{exitRuntime, fmt.Errorf("conform: %w", err)}
	case err != nil:
		return nil, &exitError{exitRuntime, fmt.Errorf("conform %s: %w", address, err)}
	}
	if f.output == "json" {
		return report, report.WriteJSON(cmd.OutOrStdout())
	}
	return report, report.WriteText(cmd.OutOrStdout(), f.verbose)
}

// notAsked says which flag has the cases of a pattern that matches none of the mode.
func notAsked(f *conformFlags, match *regexp.Regexp) string {
	cases, err := conformCases(f.release)
	if err != nil {
		return ""
	}
	for i := range cases {
		if match.MatchString(cases[i].ID) {
			return fmt.Sprintf(" (%s belongs to %s)", cases[i].ID, conform.ModeOf(&cases[i]))
		}
	}
	return ""
}

// runSuite runs the mode that the flags name.
func runSuite(cmd *cobra.Command, o conform.Options, f *conformFlags) (*conform.Report, error) {
	if !f.own {
		return conform.Run(cmd.Context(), o)
	}
	return conformOwn(cmd, o, f)
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
		case conform.Passed, conform.Skipped, conform.Known:
		}
	}
	return worst
}

// isTerminal reports whether progress can be shown on the writer.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
