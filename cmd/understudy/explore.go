package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/explore"
)

// exploreFlags are the flags of explore.
type exploreFlags struct {
	list   bool
	limit  int
	epochs int32
	budget map[string]int
}

func newExploreCommand() *cobra.Command {
	var flags exploreFlags
	cmd := &cobra.Command{
		Use:   "explore [MODEL...]",
		Short: "Look at every state of small quorums that run the engine",
		Long: `explore runs the engine of understudy in quorums that are small enough to look at everything that can happen to them: every order of
messages, losses, copies, time-outs, crashes between any two actions, lost disks, voter changes and snapshots, within the budget of the
model. In each state it asks for the invariants of the quorum: one leader an epoch, one vote, logs that match, nothing lost that was
committed. What breaks one is told step by step, by the shortest way there, and the exit code is 1.

Without a model all are explored. A budget may be changed to look further.`,
		Example: `  understudy explore --list
  understudy explore restart
  understudy explore replication --epochs 3 --budget timeouts=3,appends=1   looks further: many millions of states`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, m := range explore.Models() {
				names = append(names, m.Name+"\t"+m.About)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runExplore(cmd, &flags, args) },
	}
	cmd.Flags().BoolVar(&flags.list, "list", false, "list the models with their budgets")
	cmd.Flags().IntVar(&flags.limit, "limit", 200_000_000, "give up beyond that many states (12 bytes each, and the frontier)")
	cmd.Flags().Int32Var(&flags.epochs, "epochs", 0, "go up to this epoch instead of the model's own")
	cmd.Flags().StringToIntVar(&flags.budget, "budget", nil, "how often something may happen, beside the model's own budget: "+strings.Join(explore.BudgetNames(), ", "))
	return cmd
}

func runExplore(cmd *cobra.Command, flags *exploreFlags, names []string) error {
	models := explore.Models()
	if len(names) > 0 {
		models = nil
		for _, name := range names {
			m, err := explore.ModelByName(name)
			if err != nil {
				return usageError("%w: explore --list names them", err)
			}
			models = append(models, m)
		}
	}
	for _, m := range models {
		if flags.epochs > 0 {
			m.Epochs = kraft.Epoch(flags.epochs)
		}
		for name, n := range flags.budget {
			if err := m.Budget.Set(name, n); err != nil {
				return usageError("%w", err)
			}
		}
		if flags.list {
			fmt.Fprintf(cmd.OutOrStdout(), "%-14s %s\n%14s %d nodes, %d voters, %d epochs; %v\n", m.Name, m.About, "", m.Nodes, m.Voters, m.Epochs, m.Budget)
			continue
		}
		if err := exploreModel(cmd, m, flags.limit); err != nil {
			return err
		}
	}
	return nil
}

// exploreModel prints what there is to say of one model.
func exploreModel(cmd *cobra.Command, m *explore.Model, limit int) error {
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // nearly all memory is in a few tables that stay
	ctx, out, start := cmd.Context(), cmd.OutOrStdout(), time.Now()
	r, err := explore.Explore(m, explore.Options{Limit: limit, Stop: func() bool { return ctx.Err() != nil }, Progress: func(states, depth int) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d states, depth %d, %v\n", m.Name, states, depth, time.Since(start).Round(time.Second))
	}})
	switch {
	case errors.Is(err, explore.ErrLimit), errors.Is(err, explore.ErrBounds), errors.Is(err, explore.ErrStopped):
		return &exitError{exitInconclusive, err}
	case err != nil:
		return usageError("%w", err)
	case r.Violation != nil:
		fmt.Fprint(out, r.CounterExample)
		return &exitError{code: exitFinding}
	}
	took := time.Since(start)
	fmt.Fprintf(out, "%-14s %d states, %d transitions, depth %d, in %v: %.0f states/s; the engine took %d different steps\n", m.Name,
		r.States, r.Transitions, r.Depth, took.Round(time.Millisecond), float64(r.States)/took.Seconds(), r.Steps)
	return nil
}
