package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/doctor"
)

// diagnose prints what is wrong with data directories.
func diagnose(flags *dumpFlags, dirs []string, stdout io.Writer) error {
	if flags.output != "text" && flags.output != "json" {
		return usageError("--output %q: want text or json", flags.output)
	}
	for _, dir := range dirs {
		if kindOf(dir) != directoryKind {
			return usageError("--doctor %s: want data directories of controllers", dir)
		}
	}
	report, err := doctor.Examine(storage.OS(), dirs...)
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	if flags.output == "json" {
		out := json.NewEncoder(stdout)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		_, err = fmt.Fprint(stdout, report)
	}
	if err != nil {
		return &exitError{exitRuntime, fmt.Errorf("write: %w", err)}
	}
	if report.Worst() > doctor.Note {
		return &exitError{code: exitFinding}
	}
	return nil
}
