package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/replay"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	output   string
	node     int32
	against  string
	engine   string
	config   string
	peers    []string
	recorded string
	live     string
	patience time.Duration
	fast     bool
}

func newReplayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay RECORDING... {--against HOST:PORT | --engine RELEASE --config FILE}",
		Short: "Feed a recording to a node again, and compare its answers",
		Long: `replay asks a node again what was asked of it in a recording, in the recorded order, and says where its answers differ. Where the node asked
its peers something, replay is those peers: it waits until the node asks the same, and answers as they answered. It listens where the
node dialled them in the recording, or where --peer says.

Answers depend on a node's state. Start the target from what the recording began with: the same cluster id, node id, directory id, voters
and log (a freshly formatted directory for a recording of a fresh node). A recording of a node that takes records, as one that follows a
leader does, needs proxy --include-records: otherwise they are not in it, and the node cannot be given them. A capture (pcap) is no
recording: it does not say which node listens where. A node that leads writes records at moments of its own, so offsets may differ then.

With --engine a node of ours is the target: in this process, without a network, on a copy of the directory that the property file names,
by the rules of a release. Differences between two releases that a named rule of theirs explains are counted by rule (understudy version
--rules). Clocks, and the node's own name and version, are not compared.

A recording that is cut off, or whose proxy did not end in order, is played as far as it goes, and the report says where it ends. Where no
difference shows up to there, that is inconclusive. A recording that lacks a part before its end is not played: what follows has no known cause.

Exit codes: 0 no difference, or only such as named rules explain, 1 a difference, 2 wrong usage, 3 nothing could be compared, or the recording
is cut, 4 the node cannot be reached or the recording not be read.`,
		Example: `  understudy replay run-000001.pcapng.zst --against 127.0.0.1:9093
  understudy replay run-000001.pcapng.zst --node 1 --against 127.0.0.1:19091 --peer 2=127.0.0.1:9092 --peer 3=127.0.0.1:9093
  understudy replay run-000001.pcapng.zst --engine 4.4.0 --config node-1.properties
  understudy replay -o json run-000001.pcapng.zst --against 127.0.0.1:9093 | jq .differences`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runReplay(cmd.Context(), &f, args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	outputFlag(cmd, &f.output)
	flags.Int32Var(&f.node, "node", int32(kraft.NoNode), "the `ID` of the node that is replayed; needed if the recording has requests to several")
	flags.StringVar(&f.against, "against", "", "the node's listener, `HOST:PORT`")
	flags.StringVar(&f.engine, "engine", "", "replay to our own engine, by the rules of this `RELEASE` of Kafka")
	flags.StringVar(&f.config, "config", "", "with --engine: the node's property `FILE`; its directory is copied and stays as it is")
	flags.StringArrayVar(&f.peers, "peer", nil, "where to listen for a peer, `ID=HOST:PORT`; otherwise where the node dialled it in the recording")
	flags.StringVar(&f.recorded, "recorded-release", "", "the `RELEASE` of the recorded node, if its ApiVersions is not in the recording")
	flags.StringVar(&f.live, "release", "", "the `RELEASE` of the live node, instead of what it says of itself")
	flags.DurationVar(&f.patience, "patience", 15*time.Second, "how long to wait for an answer, and for a request that an election timer brings")
	flags.BoolVar(&f.fast, "fast", false, "do not wait as long between two steps as the recording did; what the node's timers bring may then come elsewhere")
	cmd.MarkFlagsMutuallyExclusive("against", "engine")
	cmd.MarkFlagsOneRequired("against", "engine")
	return cmd
}

// valid looks at the flags together.
func (f *replayFlags) valid() error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	if (f.engine == "") != (f.config == "") {
		return usageError("--engine and --config go together")
	}
	if f.engine != "" && (len(f.peers) > 0 || f.live != "") {
		return usageError("--peer and --release belong to --against")
	}
	if f.against != "" && !isAddress(f.against) {
		return usageError("--against %q: want HOST:PORT, such as 127.0.0.1:9093", f.against)
	}
	if f.patience <= 0 {
		return usageError("--patience %s: want a time above 0", f.patience)
	}
	for flag, release := range map[string]string{"engine": f.engine, "recorded-release": f.recorded, "release": f.live} {
		if _, err := compat.ByRelease(release); release != "" && err != nil {
			return usageError("--%s: %w", flag, err)
		}
	}
	return nil
}

func runReplay(ctx context.Context, f *replayFlags, files []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := f.valid(); err != nil {
		return err
	}
	script, err := loadScript(f, files, stdin)
	if err != nil {
		return err
	}
	progress := newReplayProgress(stderr)
	options := replay.Options{Recorded: f.recorded, Live: f.live, Patience: f.patience, Fast: f.fast, Progress: progress.at}
	var report *replay.Report
	if f.engine != "" {
		report, err = replayToEngine(ctx, f, script, options)
	} else {
		report, err = replayToNode(ctx, f, script, options)
	}
	progress.end()
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		return err
	case err != nil:
		return &exitError{exitRuntime, fmt.Errorf("replay to node %s: %w", script.Node, err)}
	}
	if f.output == "json" {
		pretty := json.NewEncoder(stdout)
		pretty.SetIndent("", "  ")
		err = pretty.Encode(struct {
			Outcome replay.Outcome `json:"outcome"`
			Rules   map[string]int `json:"rules"`
			Seconds float64        `json:"seconds"`
			*replay.Report
		}{report.Outcome(), report.Rules(), report.Took.Seconds(), report})
	} else {
		err = report.WriteText(stdout)
	}
	if err != nil {
		return &exitError{exitRuntime, fmt.Errorf("write the report: %w", err)}
	}
	switch report.Outcome() {
	case replay.Differs:
		return &exitError{code: exitFinding}
	case replay.Inconclusive:
		return &exitError{code: exitInconclusive}
	}
	return nil
}

func loadScript(f *replayFlags, files []string, stdin io.Reader) (*replay.Script, error) {
	in, err := recordings.OpenAny(stdin, files...)
	if err != nil {
		return nil, &exitError{exitRuntime, err}
	}
	defer func() { _ = in.Close() }() // it was only read
	script, err := replay.Load(in, kraft.NodeID(f.node))
	var choice *replay.NodeError
	if errors.As(err, &choice) {
		flag := "--node"
		if choice.Node != kraft.NoNode {
			flag = "--node " + choice.Node.String()
		}
		return nil, usageError("%s: %s: %w", flag, files[0], err)
	}
	if err != nil {
		return nil, &exitError{exitRuntime, fmt.Errorf("%s: %w", files[0], err)}
	}
	return script, nil
}

// replayToNode plays the script to a node that listens.
func replayToNode(ctx context.Context, f *replayFlags, script *replay.Script, o replay.Options) (report *replay.Report, err error) {
	where, err := listeners("peer", f.peers)
	if err != nil {
		return nil, err
	}
	told := map[kraft.NodeID]bool{}
	for _, id := range where {
		if told[id] {
			return nil, usageError("--peer: node %s is there twice", id)
		}
		told[id] = true
	}
	peers := script.Peers
	for address, id := range where {
		if _, known := peers[id]; !known {
			return nil, usageError("--peer %s=%s: node %s asks nothing of node %s in the recording", id, address, script.Node, id)
		}
		peers[id] = address
	}
	if o.Peers, err = replay.ListenFor(peers); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Peers.Close()) }()
	o.Dial = func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", f.against)
	}
	return replay.Run(ctx, script, o)
}

// replayProgress shows on a terminal how far a replay is.
type replayProgress struct {
	out   io.Writer // nil: nobody looks
	last  time.Time
	shown bool
}

func newReplayProgress(stderr io.Writer) *replayProgress {
	p := &replayProgress{last: time.Now()}
	if file, ok := stderr.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.out = file
	}
	return p
}

func (p *replayProgress) at(done, total int) {
	if p.out == nil || time.Since(p.last) < progressEvery {
		return
	}
	p.last, p.shown = time.Now(), true
	fmt.Fprintf(p.out, "\rstep %d of %d ", done+1, total)
}

// end takes away what is shown, however far the replay came.
func (p *replayProgress) end() {
	if p.shown {
		fmt.Fprint(p.out, "\r\033[K")
	}
}
