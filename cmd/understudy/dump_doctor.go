package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
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
	configs, err := doctorConfigs(flags.configs)
	if err != nil {
		return err
	}
	report, err := doctor.ExamineConfigured(storage.OS(), configs, dirs...)
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

// doctorConfigs reads the property files that the directories are compared with.
func doctorConfigs(files []string) (configs []doctor.Config, err error) {
	for _, file := range files {
		node, err := readIdentity(file)
		if err != nil {
			return nil, err
		}
		c := doctor.Config{File: file, NodeID: node.ID, Directories: node.Directories, Listener: node.Listener}
		if node.Controller {
			if c.Advertised, err = advertised(node); err != nil {
				return nil, err
			}
		}
		for _, voter := range node.Voters {
			id, _, _ := strings.Cut(voter, "@")
			n, err := strconv.ParseInt(id, 10, 32)
			if err != nil {
				return nil, usageError("%s: controller.quorum.voters: %q: want ID@HOST:PORT", file, voter)
			}
			c.StaticVoters = append(c.StaticVoters, kraft.NodeID(n))
		}
		configs = append(configs, c)
	}
	return configs, nil
}
