package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/internal/build"
)

func newVersionCommand() *cobra.Command {
	var output string
	var rules bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the protocol library and the Kafka releases it knows",
		Example: "  understudy version\n  understudy version -o json\n  understudy version --rules",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rules {
				return printRules(cmd, output)
			}
			return printVersion(cmd, output)
		},
	}
	outputFlag(cmd, &output)
	cmd.Flags().BoolVar(&rules, "rules", false, "list what the consensus code of the releases does differently")
	return cmd
}

// outputFlag adds -o text|json to a command.
func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "output format: text or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// checkOutput refuses an output format that does not exist.
func checkOutput(output string) error {
	if output != "text" && output != "json" {
		return usageError("--output %q: want text or json", output)
	}
	return nil
}

func printVersion(cmd *cobra.Command, output string) error {
	if err := checkOutput(output); err != nil {
		return err
	}
	kmsg := build.ModuleVersion("github.com/twmb/franz-go/pkg/kmsg")
	out := cmd.OutOrStdout()
	if output == "json" {
		return json.NewEncoder(out).Encode(map[string]any{
			"version": build.Version, "revision": build.Revision(), "go": runtime.Version(),
			"kmsg": kmsg, "kafkaBuilds": compat.Builds(),
		})
	}
	var builds []string
	for _, releases := range compat.Builds() {
		builds = append(builds, strings.Join(releases, " = "))
	}
	revision := build.Revision()
	if revision != "" {
		revision = " (" + revision + ")"
	}
	_, err := fmt.Fprintf(out, "understudy %s%s\n%s, kmsg %s\nApache Kafka releases: %s\n",
		build.Version, revision, runtime.Version(), kmsg, strings.Join(builds, " | "))
	return err
}
