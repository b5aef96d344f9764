package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller/properties"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// formatFlags are those of kafka-storage format.
type formatFlags struct {
	config          string
	clusterID       string
	standalone      bool
	initial         string
	noInitial       bool
	release         string
	features        []string
	scram           []string
	ignoreFormatted bool
}

func newFormatCommand() *cobra.Command {
	var flags formatFlags
	cmd := &cobra.Command{
		Use:   "format",
		Short: "Make data directories that Kafka and understudy start on",
		Long: `format writes what kafka-storage format writes, from the node's own property file: meta.properties in each log directory, and for a
controller the checkpoint with the first voters and the features of the new cluster.

A dynamic quorum needs one of --standalone, --initial-controllers (the same on each controller) and --no-initial-controllers; a static
one has controller.quorum.voters in its properties instead.

With a release version of 4.4 the features lie in the 0-0 checkpoint, as Kafka 4.4 writes them. With an older one they lie in
bootstrap.checkpoint, which all releases read. Nothing is written unless all directories can be formatted.`,
		Example: `  understudy format -c node.properties -t TkdhMa2VkDnuKa28Zx6ajw --standalone
  understudy format -c node.properties -t TkdhMa2VkDnuKa28Zx6ajw -I 1@c1:9093:Ed0_z6eWSMito5mSxIgznw,2@c2:9093:RQYBEBfCQBe3zVVL1v9Sbg
  understudy format -c node.properties -t TkdhMa2VkDnuKa28Zx6ajw --no-initial-controllers
  understudy format -c node.properties -t TkdhMa2VkDnuKa28Zx6ajw --standalone --release-version 4.1-IV1 --feature group.version=0
  understudy format -c node.properties -t TkdhMa2VkDnuKa28Zx6ajw --standalone --add-scram 'SCRAM-SHA-512=[name=alice,password=alice-secret]'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return format(storage.OS(), &flags, cmd.OutOrStdout()) },
	}
	f := cmd.Flags()
	f.StringVarP(&flags.config, "config", "c", "", "the node's property `FILE`")
	f.StringVarP(&flags.clusterID, "cluster-id", "t", "", "the cluster's `ID`, the same on each node")
	f.BoolVarP(&flags.standalone, "standalone", "s", false, "this controller is the only voter of a new dynamic quorum")
	f.StringVarP(&flags.initial, "initial-controllers", "I", "", "the voters of a new dynamic quorum, `ID@HOST:PORT:DIRECTORYID,…`")
	f.BoolVarP(&flags.noInitial, "no-initial-controllers", "N", false, "this controller joins a dynamic quorum later, or is told its voters by the others")
	f.StringVarP(&flags.release, "release-version", "r", "", "metadata.version of the new cluster, such as 4.1-IV1; the newest known if not given")
	f.StringArrayVarP(&flags.features, "feature", "f", nil, "level of a feature of the new cluster, `NAME=LEVEL`")
	f.StringArrayVarP(&flags.scram, "add-scram", "S", nil, "a user of the new cluster, `MECHANISM=[name=…,password=…]`; also iterations=, salt= and saltedpassword=")
	f.BoolVarP(&flags.ignoreFormatted, "ignore-formatted", "g", false, "pass over directories that are formatted already")
	cmd.MarkFlagsMutuallyExclusive("standalone", "initial-controllers", "no-initial-controllers")
	_ = cmd.MarkFlagRequired("config")
	_ = cmd.MarkFlagRequired("cluster-id")
	return cmd
}

// format formats the directories of a node.
func format(fsys storage.FS, flags *formatFlags, stdout io.Writer) error {
	if flags.clusterID == "" {
		return usageError("--cluster-id must not be empty")
	}
	node, err := readIdentity(flags.config)
	if err != nil {
		return err
	}
	spec, err := formatSpec(flags, node)
	if err != nil {
		return err
	}
	if spec.MetadataDir, spec.OtherDirs, err = unformatted(fsys, flags, node); err != nil {
		return err
	}
	if spec.MetadataDir == "" && len(spec.OtherDirs) == 0 {
		fmt.Fprintln(stdout, "All of the log directories are already formatted.")
		return nil
	}
	if spec.MetadataDir == "" { // only further directories: they hold no metadata
		spec.MetadataDir, spec.OtherDirs, spec.Controller = spec.OtherDirs[0], spec.OtherDirs[1:], false
		spec.DirectoryID = storage.NewDirectoryID()
	}
	if err := storage.Format(fsys, &spec.FormatSpec); err != nil {
		return &exitError{exitRuntime, fmt.Errorf("format: %w", err)}
	}
	for _, dir := range append([]string{spec.MetadataDir}, spec.OtherDirs...) {
		m, err := storage.ReadMeta(fsys, dir)
		if err != nil {
			return &exitError{exitRuntime, err}
		}
		fmt.Fprintf(stdout, "Formatted %s for node %v with metadata.version %s, directory id %v\n", dir, m.NodeID, spec.version.Name, m.DirectoryID)
	}
	return nil
}

type nodeFormat struct {
	storage.FormatSpec
	version compat.MetadataVersion
}

// formatSpec applies the rules of Kafka's tool to flags and properties.
func formatSpec(flags *formatFlags, node *properties.Identity) (*nodeFormat, error) {
	spec := &nodeFormat{version: compat.LatestMetadataVersion()}
	spec.ClusterID, spec.NodeID, spec.Controller, spec.Now = flags.clusterID, node.ID, node.Controller, time.Now()
	spec.DirectoryID = storage.NewDirectoryID()
	dynamic := flags.standalone || flags.initial != "" || flags.noInitial
	switch {
	case len(node.Voters) > 0 && dynamic:
		return nil, usageError("%s: controller.quorum.voters is set, which makes a static quorum, so none of --standalone, --initial-controllers and "+
			"--no-initial-controllers can be given: remove it and set controller.quorum.bootstrap.servers for a dynamic quorum", node.File)
	case node.Controller && len(node.Voters) == 0 && !dynamic:
		return nil, usageError("%s: controller.quorum.voters is not set on this controller, so one of --standalone, --initial-controllers and "+
			"--no-initial-controllers must be given", node.File)
	case flags.standalone && !node.Controller:
		return nil, usageError("--standalone is for controllers: process.roles of %s is %s", node.File, node.Roles)
	}
	if flags.release != "" {
		var err error
		if spec.version, err = compat.ParseMetadataVersion(flags.release); err != nil {
			return nil, usageError("--release-version: %w", err)
		}
	}
	spec.OneCheckpoint = spec.version.Level >= 31
	if len(node.Voters) == 0 {
		spec.KRaftVersion = 1
	}
	if err := spec.setFeatures(flags.features, node); err != nil {
		return nil, err
	}
	credentials, err := scramRecords(flags.scram, spec.version)
	if err != nil {
		return nil, err
	}
	spec.Records = append(spec.Records, credentials...)
	return spec, spec.setVoters(flags, node)
}

// setFeatures makes the FeatureLevel records: metadata.version, then by name those above 0. kraft.version follows from the quorum.
func (s *nodeFormat) setFeatures(given []string, node *properties.Identity) error {
	levels, err := parseFeatures(given)
	if err != nil {
		return err
	}
	if level, ok := levels[compat.KRaftVersionFeature]; ok && level != s.KRaftVersion {
		if level == 0 {
			return usageError("--feature kraft.version=0: without controller.quorum.voters the quorum is dynamic, which needs 1: leave the flag out, or set the voters")
		}
		return usageError("--feature kraft.version=1: controller.quorum.voters of %s makes a static quorum: remove it and give --standalone, "+
			"--initial-controllers or --no-initial-controllers", node.File)
	}
	if s.version.Level < 21 && s.KRaftVersion > 0 {
		return usageError("--release-version %s: a dynamic quorum needs 3.9-IV0 or newer", s.version.Name)
	}
	s.Records = append(s.Records, wire.FeatureLevelRecord("metadata.version", s.version.Level))
	for _, f := range compat.Features() {
		level, ok := levels[f.Name]
		if !ok {
			level = f.DefaultLevel(s.version.Level)
		}
		if level > 0 && f.Name != compat.KRaftVersionFeature {
			s.Records = append(s.Records, wire.FeatureLevelRecord(f.Name, level))
		}
	}
	return nil
}

// parseFeatures reads NAME=LEVEL.
func parseFeatures(given []string) (map[string]int16, error) {
	levels := map[string]int16{}
	for _, text := range given {
		var level int16
		name, value, _ := strings.Cut(text, "=")
		if n, err := fmt.Sscanf(value, "%d", &level); n != 1 || err != nil || fmt.Sprint(level) != value {
			return nil, usageError("--feature %q: want NAME=LEVEL", text)
		}
		known, names := false, []string{}
		for _, f := range compat.Features() {
			names = append(names, f.Name)
			if f.Name != name {
				continue
			}
			if known = true; level < 0 || level > f.Max {
				return nil, usageError("--feature %s: want a level from 0 to %d", text, f.Max)
			}
		}
		if _, twice := levels[name]; twice {
			return nil, usageError("--feature %s: the feature is given twice", name)
		}
		if name == "metadata.version" {
			return nil, usageError("--feature metadata.version: give --release-version instead")
		}
		if !known {
			return nil, usageError("--feature %q: unknown feature; known are %s", name, strings.Join(names, ", "))
		}
		levels[name] = level
	}
	return levels, nil
}

func (s *nodeFormat) setVoters(flags *formatFlags, node *properties.Identity) error {
	switch {
	case flags.standalone:
		endpoint, err := advertised(node)
		if err != nil {
			return err
		}
		s.Voters = kraft.NewVoterSet(newVoter(kraft.ReplicaKey{ID: node.ID, DirectoryID: s.DirectoryID}, endpoint))
	case flags.initial != "":
		if node.Listener == "" {
			return usageError("%s: controller.listener.names is not set: the voters' listener has no name", node.File)
		}
		voters, err := parseVoters(flags.initial, node.Listener)
		if err != nil {
			return err
		}
		s.Voters = voters
		if own := voters.Find(node.ID); own != nil {
			s.DirectoryID = own.Key.DirectoryID
		}
	}
	return nil
}

func newVoter(key kraft.ReplicaKey, endpoint kraft.Endpoint) kraft.Voter {
	return kraft.Voter{Key: key, Endpoints: kraft.NewEndpoints(endpoint), Versions: kraft.VersionRange{Min: 0, Max: 1}}
}

// unformatted sorts the node's directories. Nothing may be written where another identity, or a log without one, is found.
func unformatted(fsys storage.FS, flags *formatFlags, node *properties.Identity) (metadata string, others []string, err error) {
	for i, dir := range node.Directories {
		meta, err := storage.ReadMeta(fsys, dir)
		switch {
		case errors.Is(err, storage.ErrNotFormatted):
			if holds, err := storage.HoldsLog(fsys, dir); err != nil || holds {
				return "", nil, errors.Join(err, usageError("%s has a metadata log but no meta.properties: restore that file, or move %s away", dir,
					filepath.Join(dir, storage.PartitionDir)))
			}
			if i == 0 {
				metadata = dir
			} else {
				others = append(others, dir)
			}
		case err != nil:
			return "", nil, &exitError{exitRuntime, err}
		case !flags.ignoreFormatted:
			return "", nil, usageError("log directory %s is already formatted: use --ignore-formatted to pass over it and format the others", dir)
		case meta.ClusterID != flags.clusterID || meta.NodeID != node.ID:
			return "", nil, usageError("%s belongs to node %v of cluster %s, not to node %v of cluster %s: correct --cluster-id or the properties",
				filepath.Join(dir, storage.MetaFile), meta.NodeID, meta.ClusterID, node.ID, flags.clusterID)
		}
	}
	return metadata, others, nil
}
