package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/kraft/controller/properties"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

type joinFlags struct {
	config     string
	as         string
	leadership string
	release    string
	logFormat  string
	http       string
	verbose    bool
}

func newJoinCommand() *cobra.Command {
	var flags joinFlags
	cmd := &cobra.Command{
		Use:   "join",
		Short: "Run a node in a real quorum, as observer or voter",
		Long: `join runs a node of a metadata quorum from the property file and the formatted data directory of a controller of Kafka. It votes,
replicates and, if elected, leads as a controller of Kafka does; its files are Kafka's own, so either can go on where the other ended.

It has no metadata logic: it creates no topic and registers no broker. So a leader of this kind only keeps the quorum going, and by default
hands the leadership over as soon as a controller of Kafka has caught up. Meanwhile brokers serve what they know and ask again later for what
only an active controller can do. With --on-leadership never-campaign it votes and asks nobody for a vote: if it
alone has the last records of a leader that died, there is no leader until another voter that has them is back.

As an observer the node follows the log as a broker does, under its own node.id, and counts for no majority.

SIGTERM ends it in order: a leader resigns and stays until the quorum has another one, for five seconds at most. A second one ends it at once.`,
		Example: `  understudy join --config controller.properties --as voter
  understudy join --config controller.properties --as voter --on-leadership never-campaign
  understudy join --config observer.properties --as observer --release 4.1.2`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return join(cmd.Context(), &flags, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.config, "config", "c", "", "the node's property `FILE`")
	f.StringVar(&flags.as, "as", "voter", "`ROLE`: voter (may be one), or observer (never is)")
	f.StringVar(&flags.leadership, "on-leadership", controller.Handover.String(), "what to do as leader: `POLICY` handover, stay or never-campaign")
	f.StringVar(&flags.release, "release", "4.4.0", "the `RELEASE` of Kafka whose rules and versions it follows")
	f.StringVar(&flags.logFormat, "log-format", "text", "text, json, or kafka: lines like a controller's own log")
	f.StringVar(&flags.http, "http", "", "serve /metrics (Kafka's raft-metrics) and /healthz at `ADDRESS`")
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "log more")
	for flag, values := range map[string][]string{
		"as": {"voter", "observer"}, "on-leadership": {"handover", "stay", "never-campaign"}, "log-format": {"text", "json", "kafka"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.MarkFlagRequired("config")
	return cmd
}

// join runs the node until ctx ends. A leader then stays for up to five seconds, until the quorum has another one; a second signal ends it at once.
func join(ctx context.Context, flags *joinFlags, stdout, stderr io.Writer) error {
	defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	log, err := joinLog(flags, stderr)
	if err != nil {
		return err
	}
	cfg, node, err := joinConfig(flags, log)
	if err != nil {
		return err
	}
	above := standBy(cfg, node, log)
	c, err := controller.New(*cfg)
	if err != nil {
		return errors.Join(err, closeConfig(cfg))
	}
	fmt.Fprintf(stdout, "node %v of cluster %s, directory %s in %s\n", cfg.Directory.NodeID, cfg.Directory.ClusterID,
		cfg.Directory.DirectoryID, cfg.Directory.Path())
	for _, l := range cfg.Listeners {
		fmt.Fprintf(stdout, "  listener %s://%s\n", l.Name, l.Addr())
	}
	if flags.http != "" {
		shut, at, err := serveHTTP(flags.http, raftCollector{c}, nodeHealth(c), log)
		if err != nil {
			return &exitError{exitRuntime, errors.Join(err, closeConfig(cfg))}
		}
		defer shut()
		fmt.Fprintf(stdout, "  http://%s/metrics\n", at)
	}
	err = runAbove(ctx, c, above, log)
	if errors.Is(err, controller.ErrShutdownTimeout) {
		log.Warn().Err(err).Msg("Graceful shutdown timed out")
		err = nil
	}
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	return nil
}

// closeConfig closes what joinConfig has opened.
func closeConfig(cfg *controller.Config) error {
	err := cfg.Directory.Close()
	for _, l := range cfg.Listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// joinConfig makes of the flags and the property file what the node is made of, and opens its directory and its listener.
func joinConfig(flags *joinFlags, log zerolog.Logger) (*controller.Config, *properties.Node, error) {
	if flags.as != "observer" && flags.as != "voter" {
		return nil, nil, usageError("--as %q: want observer or voter", flags.as)
	}
	node, err := properties.Read(flags.config)
	if err != nil {
		return nil, nil, usageError("%w", err)
	}
	for _, name := range node.Ignored {
		log.Warn().Str("property", name).Msg("a property of the file is without effect here")
	}
	cfg := &controller.Config{
		Observer: flags.as == "observer", AutoJoin: node.Quorum.AutoJoin, Timeouts: node.Quorum.Timeouts, ListenerName: node.ControllerNames[0],
		BootstrapServers: node.Quorum.BootstrapServers, StaticVoters: staticVoters(node),
		FetchBytes: node.Quorum.FetchMaxBytes, SnapshotBytes: node.Quorum.FetchSnapshotMaxBytes,
		Dialer: controller.DialFunc(func(ctx context.Context, a kraft.Address) (net.Conn, error) { return dialController(ctx, node, a) }),
		Storage: storage.Options{
			SegmentBytes: int64(node.MetadataLog.SegmentBytes), SegmentMs: node.MetadataLog.SegmentMs,
			RetentionBytes: node.MetadataLog.MaxRetentionBytes, RetentionMs: node.MetadataLog.MaxRetentionMs,
		},
		Limits: controller.Limits{Connections: int(min(node.Network.ConnectionsMax, 512)), Idle: time.Duration(node.Network.MaxIdleMs) * time.Millisecond},
		Log:    log,
	}
	if cfg.Limits.Idle < 0 {
		cfg.Limits.Idle = 1 << 60 // never
	}
	if !cfg.Observer && !node.Controller {
		return nil, nil, usageError("%s: process.roles has no controller, so the node cannot be a voter; --as observer follows like a broker", flags.config)
	}
	if cfg.Leadership, err = controller.ParseLeadership(flags.leadership); err != nil {
		return nil, nil, usageError("--on-leadership %w", err)
	}
	if cfg.Observer { // whatever the log says of its directory
		cfg.Leadership = controller.NeverCampaign
	}
	if cfg.Profile, err = compat.ByRelease(flags.release); err != nil {
		return nil, nil, usageError("--release: %w", err)
	}
	if cfg.Directory, err = storage.OpenDirectory(storage.OS(), node.MetadataDir, storage.Identity{NodeID: node.ID}); err != nil {
		return nil, nil, &exitError{exitRuntime, err}
	}
	if !node.Controller { // a broker has no controller listener
		return cfg, node, nil
	}
	if err := listenControllers(cfg, node); err != nil {
		return nil, nil, errors.Join(err, cfg.Directory.Close())
	}
	return cfg, node, nil
}

// dialController connects with the protocol and credentials that controllers use among themselves.
func dialController(ctx context.Context, node *properties.Node, a kraft.Address) (net.Conn, error) {
	conn, err := node.Outgoing.Dial(ctx, net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port))))
	if errors.Is(err, secure.ErrAuthentication) {
		return nil, &controller.AuthenticationError{Err: err}
	}
	return conn, err
}

// listenControllers binds the controller listeners and notes how others reach them.
func listenControllers(cfg *controller.Config, node *properties.Node) error {
	bound := map[string]uint16{}
	for _, l := range node.Listeners {
		guard, ok := node.Incoming[l.Name]
		if !ok {
			continue // a broker's
		}
		ln, err := net.Listen("tcp", net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port))))
		if err != nil {
			for _, l := range cfg.Listeners {
				err = errors.Join(err, l.Close())
			}
			return &exitError{exitRuntime, fmt.Errorf("listener %s: %w", l.Name, err)}
		}
		bound[l.Name] = uint16(ln.Addr().(*net.TCPAddr).Port)
		own := controller.Listener{Name: l.Name, Listener: ln}
		if guard.Protocol != secure.Plaintext {
			own.Handshake = guard.Handshake
		}
		cfg.Listeners = append(cfg.Listeners, own)
	}
	var endpoints []kraft.Endpoint
	for _, l := range node.Advertised {
		e := kraft.Endpoint{Name: l.Name, Address: l.Address}
		if e.Host == "" {
			name, err := os.Hostname()
			if err != nil {
				return &exitError{exitRuntime, fmt.Errorf("the host name, to be advertised for listener %s: %w", l.Name, err)}
			}
			e.Host = name
		}
		if e.Port == 0 {
			e.Port = bound[l.Name]
		}
		endpoints = append(endpoints, e)
	}
	cfg.Endpoints = kraft.NewEndpoints(endpoints...)
	return nil
}

// staticVoters are those of controller.quorum.voters. Kafka takes them to support kraft.version 0 alone.
func staticVoters(node *properties.Node) kraft.VoterSet {
	var voters []kraft.Voter
	for _, v := range node.Quorum.Voters {
		voters = append(voters, kraft.Voter{
			Key: kraft.ReplicaKey{ID: v.ID}, Endpoints: kraft.NewEndpoints(kraft.Endpoint{Name: node.ControllerNames[0], Address: v.Address}),
		})
	}
	return kraft.NewVoterSet(voters...)
}

// joinLog logs to stderr.
func joinLog(flags *joinFlags, out io.Writer) (log zerolog.Logger, err error) {
	switch flags.logFormat {
	case "text":
		log = newLog(out)
	case "json":
		log = zerolog.New(out).With().Timestamp().Logger()
	case "kafka":
		log = zerolog.New(kafkaLog(out)).With().Timestamp().Logger()
	default:
		return log, usageError("--log-format %q: want text, json or kafka", flags.logFormat)
	}
	if level := zerolog.InfoLevel; !flags.verbose {
		log = log.Level(level)
	}
	return log, nil
}

// kafkaLog writes lines of the pattern "%d{UNIX_MILLIS} %p %m (%c{1})", which log4j has for a controller: what searches Kafka's logs for
// role changes finds them.
func kafkaLog(out io.Writer) io.Writer {
	return zerolog.ConsoleWriter{
		Out: out, NoColor: true, PartsOrder: []string{zerolog.TimestampFieldName, zerolog.LevelFieldName, zerolog.MessageFieldName},
		FormatTimestamp: func(any) string { return strconv.FormatInt(time.Now().UnixMilli(), 10) }, // the field has no milliseconds
		FormatLevel:     func(v any) string { return strings.ToUpper(fmt.Sprint(v)) },
	}
}
