package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudy-kafka/understudy/kraft/sim"
)

// simFlags are the flags of sim.
type simFlags struct {
	scenario   string
	list       bool
	everything bool
	html       string
	seed       uint64
	seeds      uint64
	events     int
	without    []string
	skipFaults string
	nodes      []int
	append     time.Duration
	plain      bool
	noShrink   bool
}

func newSimCommand() *cobra.Command {
	var flags simFlags
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Simulate a quorum: random runs under faults, or a scenario that explains one thing",
		Long: `sim plays a KRaft quorum in virtual time with the engine that checks and joins real ones. Every run has a seed: it draws the
quorum, the Kafka releases, and which faults happen how often (lost, doubled, late and overtaking messages, partitions, crashes between any
two actions, lost and torn disks, slow and full ones, wrong clocks, changes of the voters). Safety is checked at every step. Then the faults
end, and a leader must be elected and commit within a bound. A seed that fails is made smaller, and told step by step.

Scenarios are runs without chance: --list names them, --scenario NAME tells one, and --html FILE writes it as a page that needs no network,
with a lane for each node.`,
		Example: `  understudy sim --list
  understudy sim --scenario double-leader-prevented
  understudy sim --scenario split-brain-prevented --html split.html
  understudy sim --seeds 100
  understudy sim --seed 4711 --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return simulate(cmd, &flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.scenario, "scenario", "", "tell the scenario `NAME`")
	f.BoolVar(&flags.list, "list", false, "list the scenarios")
	f.BoolVar(&flags.everything, "all", false, "print every message, not only those that change something")
	f.StringVar(&flags.html, "html", "", "write the scenario or the seed to `FILE` as a page")
	f.Uint64Var(&flags.seed, "seed", 0, "play this seed and tell what happens")
	f.Uint64Var(&flags.seeds, "seeds", 0, "play so many seeds, from 1 or --seed on, and tell the first that fails")
	f.IntVar(&flags.events, "events", 0, "length of the phase with faults; 0: as drawn")
	f.StringSliceVar(&flags.without, "without", nil, "leave out these `KINDS` of faults")
	f.StringVar(&flags.skipFaults, "skip-faults", "", "leave out the faults with these `NUMBERS`, as in 3,7-12")
	f.IntSliceVar(&flags.nodes, "nodes", nil, "`VOTERS,SPARES,OBSERVERS` instead of what is drawn")
	f.DurationVar(&flags.append, "append-every", 0, "time between two writes; 0: as drawn")
	f.BoolVar(&flags.plain, "plain", false, "neither real bytes nor auto-join")
	f.BoolVar(&flags.noShrink, "no-shrink", false, "do not make a failing seed smaller")
	_ = cmd.RegisterFlagCompletionFunc("scenario", cobra.FixedCompletions(scenarioNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func scenarioNames() (names []string) {
	for _, s := range sim.Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

func simulate(cmd *cobra.Command, flags *simFlags) error {
	out := cmd.OutOrStdout()
	switch {
	case flags.list:
		for _, s := range sim.Scenarios() {
			fmt.Fprintf(out, "%-34s %s\n", s.Name, s.Title)
		}
		return nil
	case flags.scenario != "":
		s, err := sim.ScenarioByName(flags.scenario)
		if err != nil {
			return usageError("%w", err)
		}
		if flags.html != "" {
			return writePage(out, flags.html, s.Film())
		}
		if err := s.Tell(out, flags.everything); err != nil {
			return &exitError{exitFinding, err}
		}
		return nil
	case flags.seeds > 0:
		return playSeeds(cmd, flags)
	case flags.seed > 0:
		return playSeed(out, flags)
	}
	return usageError("want --list, --scenario, --seed or --seeds\nRun 'understudy sim --help' for examples")
}

// drawn are the options of a seed with what the flags say.
func (f *simFlags) drawn(seed uint64) (sim.Options, error) {
	o := sim.Draw(seed)
	if f.events > 0 {
		o.Events = f.events
	}
	if f.append > 0 {
		o.AppendEvery = max(1, f.append.Microseconds())
	}
	if f.plain {
		o.AutoJoin, o.Wire = false, false
	}
	for _, name := range f.without {
		k, err := sim.KindByName(name)
		if err != nil {
			return o, usageError("%w", err)
		}
		o.Kinds = o.Kinds.Without(k)
	}
	if f.skipFaults != "" {
		skip, err := sim.ParseFaults(f.skipFaults)
		if err != nil {
			return o, usageError("%w", err)
		}
		o.Skip = skip
	}
	if len(f.nodes) > 0 {
		if len(f.nodes) != 3 {
			return o, usageError("--nodes %v: want three numbers", f.nodes)
		}
		if err := o.Resize(f.nodes[0], f.nodes[1], f.nodes[2]); err != nil {
			return o, usageError("%w", err)
		}
	}
	return o, nil
}

func playSeed(out io.Writer, flags *simFlags) error {
	o, err := flags.drawn(flags.seed)
	if err != nil {
		return err
	}
	w := sim.New()
	r := w.Run(o)
	if r.Violation != nil && !flags.noShrink {
		small := w.Shrink(r, 200)
		fmt.Fprintf(out, "%v\nmade smaller; again with: understudy sim --no-shrink %s\n", &r, small.Options.Replay())
		o = small.Options
	}
	if flags.html != "" {
		return writePage(out, flags.html, w.Film(o))
	}
	fmt.Fprintln(out, &o)
	r = w.Watch(o, func(x sim.Note) {
		if flags.everything || !x.Quiet {
			fmt.Fprintln(out, x)
		}
	})
	fmt.Fprintln(out, &r)
	if r.Violation != nil {
		return &exitError{exitFinding, nil}
	}
	return nil
}

func playSeeds(cmd *cobra.Command, flags *simFlags) error {
	w, first := sim.New(), max(flags.seed, 1)
	var events, played uint64
	begin := time.Now()
	for seed := first; seed < first+flags.seeds; seed++ {
		if cmd.Context().Err() != nil {
			break
		}
		o, err := flags.drawn(seed)
		if err != nil {
			return err
		}
		r := w.Run(o)
		events += r.Events
		if r.Violation != nil {
			flags.seed = seed
			return playSeed(cmd.OutOrStdout(), flags)
		}
		if played++; played%1000 == 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d seeds, %d events, %s\n", played, events, time.Since(begin).Round(time.Second))
		}
	}
	seconds := time.Since(begin).Seconds()
	fmt.Fprintf(cmd.OutOrStdout(), "%d seeds, %d events, no invariant is broken (%.0f events/s)\n", played, events, float64(events)/seconds)
	return nil
}

func writePage(out io.Writer, file string, film *sim.Film) error {
	page, err := film.Page()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, page, 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	fmt.Fprintf(out, "%s: %d nodes, %d steps; open it in a browser\n", file, film.Nodes, len(film.Steps))
	return nil
}
