package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/understudy-kafka/understudy/proxy/shadow"
)

func newExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain BUNDLE...",
		Short: "Tell the story of a finding from its bundle",
		Long: `explain tells what one finding is about: what the nodes said to each other, which frames prove it, which rule they break, why
that matters, and which public failure of Kafka it resembles. A bundle is a directory that check --bundle wrote. Its
recording is judged anew, so the story holds for this version of understudy.

Exit codes: 0 the bundle shows its finding, 3 it does not, 2 it is no bundle, 4 an I/O error.`,
		Example: `  understudy check --bundle found run.pcapng.zst
  understudy explain found/01-M9-node-1`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for i, dir := range args {
				if i > 0 {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				if err := explain(dir, cmd.OutOrStdout()); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func explain(dir string, out io.Writer) error {
	raw, err := os.ReadFile(filepath.Join(dir, bundleFinding))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return usageError("%s is no bundle: it has no %s; understudy check --bundle DIR writes one directory for each finding", dir, bundleFinding)
	case err != nil:
		return &exitError{exitRuntime, fmt.Errorf("read bundle: %w", err)}
	}
	var b bundle
	if err := json.Unmarshal(raw, &b); err != nil || b.Finding.Rule == "" {
		return usageError("%s: not the finding of a bundle: %v", filepath.Join(dir, bundleFinding), err)
	}
	if b.Command == "" {
		if err := tellStory(out, &b, nil); err != nil {
			return &exitError{exitRuntime, fmt.Errorf("write the story: %w", err)}
		}
		return &exitError{exitInconclusive, fmt.Errorf("%s has no recording, so it cannot be judged anew", dir)}
	}
	core, err := readAll(filepath.Join(dir, bundleCore))
	if err != nil {
		return &exitError{exitRuntime, fmt.Errorf("read bundle: %w", err)}
	}
	c := shadow.New(shadow.Options{FaultAsPeer: b.FaultAsPeer, Tier2: b.Tier2, SeesAll: b.Tier2, Releases: b.Releases})
	for i := range core {
		o := core[i]
		c.Observe(&o)
	}
	c.Finish()
	shown := false
	for _, f := range c.Findings() {
		if f.Rule == b.Finding.Rule && f.Node == b.Finding.Node && f.Epoch == b.Finding.Epoch {
			f.Count = b.Finding.Count
			b.Finding, shown = f, true
			break
		}
	}
	b.Rule = shadow.RuleOf(b.Finding.Rule)
	if err := tellStory(out, &b, core); err != nil {
		return &exitError{exitRuntime, fmt.Errorf("write the story: %w", err)}
	}
	if !shown {
		return &exitError{exitInconclusive, fmt.Errorf("judged anew, the recording in %s does not show %s at node %s", dir, b.Finding.Rule, b.Finding.Node)}
	}
	return nil
}
