package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/demo"
)

func newDemoCommand() *cobra.Command {
	o := &demoOptions{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job end to end: proxy, record, check",
		Long: `demo shows in three acts what understudy does.

  1  Three nodes of this program, each a process on files and sockets of its own, elect a leader behind the proxy; it is killed, the
     others elect again, and it comes back. All that appears as it happens, seen by a live checker.
  2  The frames, the verdict, the recording, and what the nodes' own logs say.
  3  A recorded quorum of Kafka 4.4.0 plays, with one vote answer altered on its way and judged as if the node had sent it.

With --recorded the recorded quorum plays in act 1, too. With --kafka the quorum is a real one: three controllers and a broker are started behind the proxy, topics
are created, and the leader is killed. That needs Java, and Maven for the first run of a release. What understudy saw is
compared with Kafka's own logs.

The exit code is 0 if everything came out as it should.`,
		Example: `  understudy demo
  understudy demo --recorded --speed 1          as slow as it was recorded
  understudy demo --dir recordings -o json
  understudy demo --kafka 4.4.0
  understudy demo --kafka-home /opt/kafka_2.13-4.1.2 --keep --dir my-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", "", "where the recordings go; it is made if need be (default a new temporary directory)")
	f.BoolVar(&o.recorded, "recorded", false, "play the recorded quorum of Kafka in act 1 instead of nodes of this program; --speed implies it")
	f.Float64Var(&o.speed, "speed", 2.5, "how fast the recorded quorum plays: 1 as recorded, 0 without any wait")
	f.StringVar(&o.kafka, "kafka", "", "start real controllers of this release instead, such as 4.4.0")
	f.StringVar(&o.home, "kafka-home", "", "start real controllers from this unpacked Kafka download")
	f.BoolVar(&o.keep, "keep", false, "with --kafka or --kafka-home: keep the nodes' data and logs as well, beside the recording")
	outputFlag(cmd, &o.output)
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagDirname("kafka-home")
	_ = cmd.RegisterFlagCompletionFunc("kafka", cobra.FixedCompletions(
		[]string{"4.4.0", "4.3.1", "4.2.1", "4.1.2", "4.0.2", "4.0.0", "3.9.2"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// demoOptions are the flags of demo.
type demoOptions struct {
	dir, output string
	speed       float64
	kafka, home string
	keep        bool
	recorded    bool

	release kafka.Release // that kafka names
}

// show is a demo under way.
type show struct {
	demoOptions
	out     io.Writer // text for people; nothing with -o json
	wait    io.Writer // what takes long; apart from the result with -o json
	style   demo.Style
	titled  bool
	summary demoSummary
	live    atomic.Bool // a timeline is being told
}

// demoSummary is the result of a demo for machines.
type demoSummary struct {
	Kafka string     `json:"kafka,omitempty"` // the release; empty where a recording was played
	Dir   string     `json:"dir"`
	OK    bool       `json:"ok"`
	Error string     `json:"error,omitempty"`
	Acts  []*demoAct `json:"acts"`
}

// act adds an act to the summary. It has failed until it says otherwise.
func (s *show) act(name string) *demoAct {
	a := &demoAct{Name: name}
	s.summary.Acts = append(s.summary.Acts, a)
	return a
}

func (o *demoOptions) run(cmd *cobra.Command) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	s := &show{demoOptions: *o, out: cmd.OutOrStdout(), wait: cmd.OutOrStdout(), style: demo.StyleFor(cmd.OutOrStdout())}
	if o.output == "json" {
		s.out, s.wait, s.style = io.Discard, cmd.ErrOrStderr(), demo.Style{}
	}
	if err := s.makeDir(); err != nil {
		return &exitError{exitRuntime, err}
	}
	play := s.own
	switch {
	case o.kafka != "" || o.home != "":
		play = s.real
	case o.recorded || cmd.Flags().Changed("speed"):
		play = s.playRecorded
	}
	err := play(cmd.Context())
	if err != nil && o.dir == "" {
		_ = os.Remove(s.dir) // if nothing came of it
	}
	s.summary.OK = err == nil
	if errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
		err = &exitError{exitRuntime, errors.New("demo: interrupted; everything it started has ended")}
	}
	if o.output == "json" {
		if err != nil {
			s.summary.Error = err.Error()
		}
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		return errors.Join(err, enc.Encode(&s.summary))
	}
	return err
}

func (o *demoOptions) check(cmd *cobra.Command) error {
	if err := checkOutput(o.output); err != nil {
		return err
	}
	if o.kafka != "" {
		var err error
		if o.release, err = kafka.ParseRelease(o.kafka); err != nil {
			return usageError("--kafka: %w", err)
		}
	}
	real := o.kafka != "" || o.home != ""
	switch {
	case !(o.speed >= 0 && o.speed <= 1000):
		return usageError("--speed %v: want a number from 0 to 1000", o.speed)
	case real && cmd.Flags().Changed("speed"):
		return usageError("--speed is for the recorded quorum; real controllers run at their own speed")
	case real && o.recorded:
		return usageError("--recorded and real controllers: want one of them")
	case o.keep && !real:
		return usageError("--keep is for --kafka and --kafka-home; recordings are kept anyway")
	}
	return nil
}

// makeDir settles where the recordings go.
func (s *show) makeDir() (err error) {
	if s.dir == "" {
		s.dir, err = os.MkdirTemp("", "understudy-demo-")
	} else {
		err = os.MkdirAll(s.dir, 0o750)
	}
	if err != nil {
		return fmt.Errorf("demo: directory for the recordings: %w", err)
	}
	s.summary.Dir = s.dir
	return nil
}

// title announces an act, or the end.
func (s *show) title(text string) {
	if s.titled {
		fmt.Fprintln(s.out)
	}
	s.titled = true
	fmt.Fprintln(s.out, s.style.Title(text))
}

func (s *show) say(format string, args ...any) { fmt.Fprintf(s.out, "  "+format+"\n", args...) }
