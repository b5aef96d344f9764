package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// dumpFlags are the flags of dump.
type dumpFlags struct {
	output    string
	listeners []string
	nodes     []int32
	keys      []string
	epochs    []int32
	conns     []uint
	limit     uint64
	follow    bool
	canonical bool

	records []string // of Kafka's files, and all below
	from    int64
	to      int64
	batches bool
	verify  bool
	secrets bool
	doctor  bool
	configs []string
}

const dumpLong = `dump prints what is in recordings and captures (pcap or pcapng, plain, gzip or zstd; - is stdin), one line for
each frame: when, connection, who to whom, and the message. Several files are merged by time. With -o json each line is an
object that holds the whole message with Kafka's field names.

Filters are joined: a frame is printed if it passes all that are given. The responses of a request that passes --key pass too.
Connections and gaps are printed unless --key or --epoch is given.

What a redacted recording withholds is named, not shown. Secrets in messages are never printed.

Kafka's own files are told by their names: a data directory, __cluster_metadata-0, segments (.log), snapshots (.checkpoint), quorum-state,
leader-epoch-checkpoint, meta.properties. Batches and records are printed as Kafka's DumpLogSegments prints them, without the values
that may be secret unless --secrets is given; with -o json each record is an object. Nothing is changed, and nothing is locked: the
files of a running node can be read.

--doctor looks at one or several controllers' directories, and at their property files if --config names them, and explains what is wrong, with file, offset and what can safely be done; then it
says whether the nodes of these directories can elect a leader, who could win, and what the others would lose. Exit code 1: something
is at risk or damaged.`

func newDumpCommand() *cobra.Command {
	var flags dumpFlags
	cmd := &cobra.Command{
		Use:   "dump PATH...",
		Short: "Print recordings and captures, or Kafka's metadata log, snapshots and data directories",
		Long:  dumpLong,
		Example: `  understudy dump run
  understudy dump --key Vote --key BeginQuorumEpoch run-000001.pcapng.zst
  understudy dump --node 2 --epoch 7 --listener 1=c1:9093 --listener 2=c2:9093 capture.pcap.gz
  tcpdump -i any -w - 'tcp port 9093' | understudy dump -
  understudy dump -o json --key Fetch run | jq .body
  understudy dump --canonical run | grep -A1 -B1 'not canonical'
  understudy dump --follow run
  understudy dump /var/kafka/metadata
  understudy dump --record KRaftVoters --record LeaderChange /var/kafka/metadata
  understudy dump --doctor copy-of-1 copy-of-2 copy-of-3
  understudy dump --doctor --config /etc/kafka/controller.properties /var/kafka/metadata
  understudy dump --verify /var/kafka/metadata/__cluster_metadata-0
  understudy dump -o json --from 1000 --to 1999 00000000000000000000.log | jq .data`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runDumpCommand(cmd, &flags, args) },
	}
	flags.register(cmd)
	return cmd
}

// register declares the flags.
func (flags *dumpFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&flags.output, "output", "o", "text", "text or json (one object a line)")
	f.StringArrayVar(&flags.listeners, "listener", nil, "which node listens where, `ID=HOST:PORT`; otherwise learnt from the traffic")
	f.Int32SliceVar(&flags.nodes, "node", nil, "only frames from or to this node `ID`")
	f.StringArrayVar(&flags.keys, "key", nil, "only messages with this `NAME`, spelt as Kafka does")
	f.Int32SliceVar(&flags.epochs, "epoch", nil, "only messages that name this epoch")
	f.UintSliceVar(&flags.conns, "conn", nil, "only this connection")
	f.Uint64Var(&flags.limit, "limit", 0, "stop after so many lines; 0: never")
	f.BoolVar(&flags.follow, "follow", false, "wait for more at the end of a recording that is being written")
	f.BoolVar(&flags.canonical, "canonical", false, "say where the bytes of a message are not what Kafka would have written")
	f.StringArrayVar(&flags.records, "record", nil, "Kafka's files: only records of this `NAME`, such as KRaftVoters or FeatureLevelRecord")
	f.Int64Var(&flags.from, "from", 0, "Kafka's files: only records from this offset on")
	f.Int64Var(&flags.to, "to", -1, "Kafka's files: only records up to this offset; -1: all")
	f.BoolVar(&flags.batches, "batches", false, "Kafka's files: only batches, without their records")
	f.BoolVar(&flags.verify, "verify", false, "Kafka's files: decode everything and print only what is wrong")
	f.BoolVar(&flags.secrets, "secrets", false, "Kafka's files: print values that may be secret, too")
	f.StringArrayVar(&flags.configs, "config", nil, "with --doctor: the property `FILE` of a node, compared with its directory; once for each")
	f.BoolVar(&flags.doctor, "doctor", false, "data directories: say what is wrong with them, and what they can elect")
	_ = cmd.RegisterFlagCompletionFunc("record", cobra.FixedCompletions(wire.RecordNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("key", cobra.FixedCompletions(keyNames(), cobra.ShellCompDirectiveNoFileComp))
}

// runDumpCommand takes the files by their kind.
func runDumpCommand(cmd *cobra.Command, flags *dumpFlags, args []string) error {
	if flags.doctor {
		return diagnose(flags, args, cmd.OutOrStdout())
	}
	if len(flags.configs) > 0 {
		return usageError("--config is for --doctor")
	}
	files, err := kafkasFiles(args)
	if err != nil {
		return err
	}
	if files {
		return dumpFiles(cmd.Context(), flags, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	if flags.ofFiles() {
		if _, err := os.Stat(args[0]); err != nil && args[0] != "-" { // a recording is named without its suffix
			return &exitError{exitRuntime, err}
		}
		return usageError("--record, --from, --to, --batches, --verify and --secrets are for Kafka's files, not for recordings")
	}
	return dump(cmd.Context(), flags, args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// ofFiles reports whether a flag is given that only Kafka's files know.
func (flags *dumpFlags) ofFiles() bool {
	return len(flags.records) > 0 || flags.from != 0 || flags.to >= 0 || flags.batches || flags.verify || flags.secrets
}

// keyNames lists Kafka's api keys by name.
func keyNames() (names []string) {
	for key := int16(0); ; key++ {
		name := wire.Name(key)
		if _, ok := wire.KeyOf(name); !ok {
			return names
		}
		names = append(names, name)
	}
}

// dump prints the files.
func dump(ctx context.Context, flags *dumpFlags, files []string, stdin io.Reader, stdout, stderr io.Writer) error {
	d, err := newDumper(flags)
	if err != nil {
		return err
	}
	source, err := openChecked(ctx, flags.follow, files, stdin)
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	defer func() { _ = source.Close() }() // it was only read
	out := bufio.NewWriterSize(stdout, 64<<10)
	show := newProgress(stderr, source)
	var o recordings.Observation
	for flags.limit == 0 || d.lines < flags.limit {
		err := source.Next(&o)
		if err != nil {
			show.end()
			if !errors.Is(err, io.EOF) && !errors.Is(err, ctx.Err()) {
				return &exitError{exitRuntime, errors.Join(err, out.Flush())}
			}
			break
		}
		if _, err := out.Write(d.observation(&o)); err != nil {
			return &exitError{exitRuntime, fmt.Errorf("write: %w", err)}
		}
		if flags.follow {
			if err := out.Flush(); err != nil {
				return &exitError{exitRuntime, fmt.Errorf("write: %w", err)}
			}
		}
		if d.seen++; d.seen%4096 == 0 {
			show.at(d.seen)
			if ctx.Err() != nil {
				break
			}
		}
	}
	if err := out.Flush(); err != nil {
		return &exitError{exitRuntime, fmt.Errorf("write: %w", err)}
	}
	return reportDamage(source.Damage(), stderr)
}

// reportDamage tells what could not be read. A file that is cut off, or still being written, is no failure.
func reportDamage(list []*recordings.Damage, stderr io.Writer) error {
	failed := false
	for _, d := range list {
		fmt.Fprintf(stderr, "understudy: %v\n", d)
		failed = failed || !errors.Is(d, recordings.ErrCut) && !errors.Is(d, recordings.ErrNoTrailer)
	}
	if failed {
		return &exitError{code: exitRuntime}
	}
	return nil
}

// dumper prints observations.
type dumper struct {
	flags  *dumpFlags
	json   bool
	keys   []int16
	names  map[string]kraft.NodeID // by endpoint
	conns  map[*recordings.Conn]*dumpedConn
	decode wire.Decoder
	out    []byte
	lines  uint64
	seen   uint64
}

// dumpedConn is what is known of a connection.
type dumpedConn struct {
	pairs    wire.Pairer
	clientID string
}

func newDumper(flags *dumpFlags) (*dumper, error) {
	d := &dumper{flags: flags, conns: map[*recordings.Conn]*dumpedConn{}}
	switch flags.output {
	case "text":
	case "json":
		d.json = true
	default:
		return nil, usageError("--output %q: want text or json", flags.output)
	}
	for _, name := range flags.keys {
		key, ok := wire.KeyOf(name)
		if !ok {
			return nil, usageError("--key %q: no message of Kafka has this name%s", name, suggestKey(name))
		}
		d.keys = append(d.keys, key)
	}
	var err error
	if d.names, err = listeners("listener", flags.listeners); err != nil {
		return nil, err
	}
	return d, nil
}

// suggestKey looks for a name that differs only in case.
func suggestKey(name string) string {
	for _, known := range keyNames() {
		if strings.EqualFold(known, name) {
			return "; did you mean " + known + "?"
		}
	}
	return ""
}

// observation returns the lines of an observation: one, or none if a filter holds it back.
func (d *dumper) observation(o *recordings.Observation) []byte {
	c := d.conns[o.Conn]
	if c == nil {
		c = &dumpedConn{}
		d.conns[o.Conn] = c
	}
	d.out = d.out[:0]
	if o.Kind == recordings.KindFrame {
		d.frame(c, o)
		return d.out
	}
	switch o.Kind {
	case recordings.KindClose:
		delete(d.conns, o.Conn)
	case recordings.KindGap:
		c.pairs.Reset()
	case recordings.KindOpen, recordings.KindFrame:
	}
	if len(d.keys) == 0 && len(d.flags.epochs) == 0 && d.wanted(c, o) {
		d.lines++
		d.event(c, o)
	}
	return d.out
}

// wanted applies the filters that concern the connection.
func (d *dumper) wanted(c *dumpedConn, o *recordings.Observation) bool {
	if len(d.flags.conns) > 0 && !slices.Contains(d.flags.conns, uint(o.Conn.ID)) {
		return false
	}
	if len(d.flags.nodes) == 0 {
		return true
	}
	return slices.Contains(d.flags.nodes, int32(d.server(o.Conn))) || slices.Contains(d.flags.nodes, int32(c.client()))
}

// server is the node that listens.
func (d *dumper) server(c *recordings.Conn) kraft.NodeID {
	if c.Node != kraft.NoNode {
		return c.Node
	}
	if id, ok := d.names[c.Endpoint]; ok {
		return id
	}
	return kraft.NoNode
}

// client is the node that a client id names: "raft-client-2" of the raft layer, "2" of the other channels.
func (c *dumpedConn) client() kraft.NodeID {
	var id int32
	text := strings.TrimPrefix(c.clientID, "raft-client-")
	if n, err := fmt.Sscanf(text, "%d", &id); n != 1 || err != nil || fmt.Sprint(id) != text || id < 0 {
		return kraft.NoNode
	}
	return kraft.NodeID(id)
}
