// Command understudy proxies, records and checks the traffic of Apache Kafka KRaft controllers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitFine         = 0 // nothing to report
	exitFinding      = 1 // a divergence, a failed case, an unsafe state
	exitUsage        = 2 // wrong flags, arguments or configuration
	exitInconclusive = 3 // a verdict could not be reached
	exitRuntime      = 4 // I/O or another failure while running
)

// exitError carries the exit code of an outcome. An err of nil means that the outcome has been printed already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError marks a mistake in flags, arguments or configuration.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	collectLess(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitFine
	}
	var exit *exitError
	if errors.As(err, &exit) {
		if exit.err != nil {
			fmt.Fprintf(stderr, "understudy: %v\n", err)
		}
		return exit.code
	}
	fmt.Fprintf(stderr, "understudy: %v\n", err)
	if wrongFlags(err) {
		return exitUsage
	}
	return exitRuntime
}

// wrongFlags reports whether cobra refused the command line for flags that are missing or exclude each other. It has no types for these.
func wrongFlags(err error) bool {
	return strings.HasPrefix(err.Error(), "required flag(s)") || strings.Contains(err.Error(), "flags in the group")
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "understudy",
		Short: "Proxy, record and check the traffic of Kafka KRaft controllers",
		Long: `understudy stands in front of Apache Kafka KRaft controllers. It passes every byte on unchanged,
decodes and records every frame, and checks what each controller decides.

Exit codes: 0 fine, 1 a finding, 2 wrong usage or configuration, 3 inconclusive, 4 a runtime or I/O error.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%w\nRun '%s --help' for the flags and examples", err, cmd.CommandPath())
	})
	root.AddCommand(newProxyCommand(), newRecordCommand(), newCheckCommand(), newExplainCommand(), newConformCommand(), newDumpCommand(),
		newFormatCommand(), newDemoCommand(), newExploreCommand(), newSimCommand(), newJoinCommand(), newReplayCommand(), newVersionCommand())
	markUsageErrors(root)
	return root
}

// markUsageErrors turns what an argument check reports into a usage error, for all commands.
func markUsageErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usageError("%w\nRun '%s --help' for usage", err, c.CommandPath())
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		markUsageErrors(child)
	}
}
