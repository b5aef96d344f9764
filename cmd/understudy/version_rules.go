package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/understudy-kafka/understudy/compat"
)

// ruleLine is one difference between the releases, and what each build does.
type ruleLine struct {
	Name   string            `json:"name"`
	Says   string            `json:"says"`
	Source string            `json:"source"`
	Builds map[string]string `json:"builds"`
}

func printRules(cmd *cobra.Command, output string) error {
	if err := checkOutput(output); err != nil {
		return err
	}
	profiles := compat.Profiles()
	var lines []ruleLine
	for _, r := range compat.Rules() {
		line := ruleLine{Name: r.Name, Says: r.Says, Source: r.Source, Builds: map[string]string{}}
		for _, p := range profiles {
			line.Builds[p.Build] = r.Value(p.Rules)
		}
		lines = append(lines, line)
	}
	if output == "json" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(lines)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "RULE")
	for _, p := range profiles {
		fmt.Fprintf(w, "\t%s", p.Build)
	}
	fmt.Fprintln(w, "\tSOURCE\tWHAT IT SAYS")
	for _, line := range lines {
		fmt.Fprint(w, line.Name)
		for _, p := range profiles {
			fmt.Fprintf(w, "\t%s", line.Builds[p.Build])
		}
		fmt.Fprintf(w, "\t%s\t%s\n", line.Source, line.Says)
	}
	return w.Flush()
}
