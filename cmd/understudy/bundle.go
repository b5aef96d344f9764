package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// The files of a bundle.
const (
	bundleFinding = "finding.json"
	bundleStory   = "story.txt"
	bundleCore    = "core"
)

// maxBundles bounds how many findings get a bundle; repeats are folded before.
const maxBundles = 100

// bundle is what finding.json holds.
type bundle struct {
	Finding     shadow.Finding   `json:"finding"`
	Rule        *shadow.Rule     `json:"rule"`
	Resembles   []shadow.Exhibit `json:"resembles,omitempty"`
	Inputs      []string         `json:"inputs"`
	Frames      int              `json:"frames"` // of the core
	FaultAsPeer bool             `json:"faultAsPeer,omitempty"`
	Tier2       bool             `json:"tier2,omitempty"`

	Releases map[kraft.NodeID]string `json:"releases,omitempty"` // as they were given
	Command  string                  `json:"command"`            // run in the bundle's directory, it leads to the finding
}

// writeBundles reads the inputs again and writes a bundle for each finding. It returns the directories.
func writeBundles(dir string, flags *checkFlags, files []string, c *shadow.Checker, options shadow.Options) ([]string, error) {
	findings := c.Findings()
	if len(findings) > maxBundles {
		findings = findings[:maxBundles]
	}
	if len(findings) == 0 {
		return nil, nil
	}
	in, err := recordings.OpenAny(nil, files...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	cores, reasons, err := shadow.Cores(options, c.Names(), findings, in)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for i := range findings {
		f := &findings[i]
		at := filepath.Join(dir, fmt.Sprintf("%02d-%s-node-%s", i+1, f.Rule, f.Node))
		b := bundle{Finding: *f, Rule: shadow.RuleOf(f.Rule), Resembles: shadow.Resembles(f.Rule), FaultAsPeer: flags.faultAsPeer, Frames: cores[i].Frames}
		for _, name := range files {
			if abs, err := filepath.Abs(name); err == nil {
				name = abs
			}
			b.Inputs = append(b.Inputs, name)
		}
		b.Command = "understudy check"
		if flags.faultAsPeer {
			b.Command += " --fault-as-peer"
		}
		if f.Rule == shadow.Tier2 {
			b.Tier2, b.Command, b.Releases = true, b.Command+" --tier 2 --sees-all", options.Releases
			for _, release := range flags.releases {
				b.Command += " --release " + release
			}
		} else {
			b.Command += " --tier 1" // what is left out of the core the second tier would miss
		}
		b.Command += " " + bundleCore
		if reasons[i] != nil {
			b.Command = ""
		}
		if err := writeBundle(at, &b, cores[i].Observations); err != nil {
			return nil, fmt.Errorf("bundle %s: %w", at, err)
		}
		dirs = append(dirs, at)
	}
	return dirs, nil
}

func writeBundle(dir string, b *bundle, core []recordings.Observation) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, bundleCore+"*"))
	if err != nil {
		return err
	}
	for _, name := range old { // of an earlier check with the same directory
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	if len(core) > 0 {
		w, err := recordings.Create(filepath.Join(dir, bundleCore), recordings.Options{})
		if err != nil {
			return err
		}
		for i := range core {
			err = errors.Join(err, w.Write(&core[i]))
		}
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
	}
	raw, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	var story bytes.Buffer
	if err := tellStory(&story, b, core); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, bundleFinding), append(raw, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, bundleStory), story.Bytes(), 0o644))
}

// tellStory writes the story of a bundle for people.
func tellStory(out io.Writer, b *bundle, core []recordings.Observation) error {
	if err := shadow.WriteStory(out, &b.Finding, b.Rule, core); err != nil {
		return err
	}
	last := fmt.Sprintf("\n%d frames show it by themselves. In the directory of the bundle: %s\n", b.Frames, b.Command)
	if len(core) == 0 {
		last = "\nNo small part of the input shows it alone; the frames that prove it are:\n"
		for i := range b.Finding.Proof {
			last += "  " + b.Finding.Proof[i].String() + "\n"
		}
	}
	_, err := io.WriteString(out, last)
	return err
}

// readAll reads a small recording into memory.
func readAll(base string) ([]recordings.Observation, error) {
	in, err := recordings.OpenAny(nil, base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	var list []recordings.Observation
	for {
		var o recordings.Observation
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		o.Frame.Bytes, o.Withheld = bytes.Clone(o.Frame.Bytes), slices.Clone(o.Withheld)
		if o.Fault != nil {
			fault := *o.Fault
			fault.Sent, fault.Withheld = bytes.Clone(fault.Sent), slices.Clone(fault.Withheld)
			o.Fault = &fault
		}
		if list = append(list, o); len(list) > 1<<16 {
			return nil, fmt.Errorf("%s: too large for the core of a bundle", base)
		}
	}
}
