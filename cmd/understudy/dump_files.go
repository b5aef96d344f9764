package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// fileKind is what a path holds, as far as its name tells.
type fileKind uint8

const (
	notKafkas fileKind = iota // a recording or capture
	directoryKind
	batchesKind
	smallKind
)

// kindOf tells Kafka's files by their names; nothing else is called so.
func kindOf(path string) fileKind {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return directoryKind
	}
	switch name := filepath.Base(path); {
	case strings.HasSuffix(name, ".log"), strings.HasSuffix(name, ".checkpoint"), strings.HasSuffix(name, ".checkpoint.part"), strings.HasSuffix(name, ".deleted"):
		return batchesKind
	case name == storage.QuorumStateFile, name == storage.EpochsFile, name == storage.MetaFile, name == storage.PartitionFile:
		return smallKind
	}
	return notKafkas
}

// kafkasFiles reports whether the paths are Kafka's files; a mixture with recordings is an error.
func kafkasFiles(paths []string) (bool, error) {
	first := kindOf(paths[0]) != notKafkas
	for _, p := range paths[1:] {
		if kindOf(p) != notKafkas != first {
			return false, usageError("%s and %s: recordings and Kafka's files cannot be printed together", paths[0], p)
		}
	}
	return first, nil
}

// fileDumper prints Kafka's files.
type fileDumper struct {
	flags  *dumpFlags
	json   bool
	out    *bufio.Writer
	stderr io.Writer
	fsys   storage.FS
	line   []byte
	lines  uint64
	counts fileCounts
	failed bool
}

type fileCounts struct {
	Files, Batches, Records int
	Bytes                   int64
}

func dumpFiles(ctx context.Context, flags *dumpFlags, paths []string, stdout, stderr io.Writer) error {
	d := &fileDumper{flags: flags, out: bufio.NewWriterSize(stdout, 256<<10), stderr: stderr, fsys: storage.OS()}
	if err := d.checkFlags(); err != nil {
		return err
	}
	var err error
	for _, p := range paths {
		if err = d.path(ctx, p); err != nil {
			break
		}
	}
	if errors.Is(err, errEnough) || errors.Is(err, ctx.Err()) {
		err = nil
	}
	if err == nil && flags.verify {
		fmt.Fprintf(d.out, "%d files, %d batches, %d records, %d bytes\n", d.counts.Files, d.counts.Batches, d.counts.Records, d.counts.Bytes)
	}
	if err = errors.Join(err, d.out.Flush()); err != nil {
		return &exitError{exitRuntime, err}
	}
	if d.failed {
		return &exitError{code: exitFinding}
	}
	return nil
}

// errEnough ends the output at --limit.
var errEnough = errors.New("enough")

func (d *fileDumper) checkFlags() error {
	switch d.flags.output {
	case "text":
	case "json":
		d.json = true
	default:
		return usageError("--output %q: want text or json", d.flags.output)
	}
	if len(d.flags.keys) > 0 || len(d.flags.nodes) > 0 || len(d.flags.conns) > 0 || len(d.flags.listeners) > 0 || d.flags.canonical {
		return usageError("--key, --node, --conn, --listener and --canonical are for recordings; Kafka's files have --record, --epoch, --from and --to")
	}
	for _, name := range d.flags.records {
		if slices.Contains(wire.RecordNames(), name) {
			continue
		}
		for _, known := range wire.RecordNames() {
			if strings.EqualFold(strings.TrimSuffix(known, "Record"), strings.TrimSuffix(name, "Record")) {
				return usageError("--record %q: no record has this name; did you mean %s?", name, known)
			}
		}
		return usageError("--record %q: no record of the metadata log has this name", name)
	}
	return nil
}

func (d *fileDumper) path(ctx context.Context, path string) error {
	switch kindOf(path) {
	case directoryKind:
		return d.directory(ctx, path)
	case batchesKind:
		return d.batches(ctx, path, false)
	case smallKind, notKafkas:
	}
	return d.small(path)
}

// directory prints a data directory, or the partition directory in it: the small files, snapshots in the order of their ends, then the
// segments.
func (d *fileDumper) directory(ctx context.Context, dir string) error {
	partition := dir
	if filepath.Base(dir) != storage.PartitionDir {
		if err := d.smallIfThere(filepath.Join(dir, storage.MetaFile)); err != nil {
			return err
		}
		partition = filepath.Join(dir, storage.PartitionDir)
		bootstrap := filepath.Join(dir, storage.BootstrapFile)
		if _, err := os.Stat(bootstrap); err == nil {
			if err := d.batches(ctx, bootstrap, false); err != nil {
				return err
			}
		}
	}
	entries, err := d.fsys.ReadDir(partition)
	if errors.Is(err, os.ErrNotExist) && partition != dir {
		if _, err := os.Stat(filepath.Join(dir, storage.MetaFile)); err == nil {
			return nil // formatted for a static quorum, never started
		}
		return fmt.Errorf("%s: neither %s nor %s is there: name a data directory of Kafka", dir, storage.MetaFile, storage.PartitionDir)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{storage.PartitionFile, storage.QuorumStateFile, storage.EpochsFile} {
		if err := d.smallIfThere(filepath.Join(partition, name)); err != nil {
			return err
		}
	}
	var snapshots, segments []string
	for _, e := range entries {
		if _, ok := storage.ParseSnapshotName(e.Name); ok {
			snapshots = append(snapshots, e.Name)
		} else if strings.HasSuffix(e.Name, ".log") {
			segments = append(segments, e.Name)
		}
	}
	for i, name := range append(snapshots, segments...) { // names are in order: their numbers have leading zeros
		if err := d.batches(ctx, filepath.Join(partition, name), d.flags.follow && i == len(snapshots)+len(segments)-1); err != nil {
			return err
		}
	}
	return nil
}

func (d *fileDumper) smallIfThere(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return d.small(path)
}

// small prints one of the files of a few lines, read as a node reads it.
func (d *fileDumper) small(path string) error {
	if d.flags.filtered() {
		return nil
	}
	d.counts.Files++
	dir := filepath.Dir(path)
	var text string
	var err error
	switch filepath.Base(path) {
	case storage.MetaFile:
		var m storage.Meta
		if m, err = storage.ReadMeta(d.fsys, dir); err == nil {
			text = fmt.Sprintf("version %d, cluster.id %s, node.id %v, directory.id %v", m.Version, m.ClusterID, m.NodeID, m.DirectoryID)
		}
	case storage.QuorumStateFile:
		var s storage.StoredState
		if s, _, err = storage.ReadQuorumState(d.fsys, dir); err == nil {
			text = fmt.Sprintf("data_version %d, %v", s.DataVersion, s.QuorumState)
			if s.DataVersion == 0 {
				text += fmt.Sprintf(" voters=%v", s.VoterIDs)
			}
		}
	case storage.EpochsFile:
		var epochs kraft.EpochCache
		epochs, err = storage.ReadEpochs(d.fsys, dir)
		text = fmt.Sprint("epoch@start ", epochs)
	default:
		var b []byte
		b, err = storage.ReadFile(d.fsys, path, 1<<20)
		text = strings.ReplaceAll(strings.TrimSpace(string(b)), "\n", ", ")
	}
	if err != nil {
		d.report(err)
		return nil
	}
	if d.flags.verify {
		return nil
	}
	if d.json {
		d.line = append(strconv.AppendQuote(append(d.line[:0], `{"file":`...), path), `,"content":`...)
		d.line = append(strconv.AppendQuote(d.line, text), "}\n"...)
	} else {
		d.line = fmt.Appendf(d.line[:0], "%s: %s\n", path, text)
	}
	return d.print()
}

// report tells of something that cannot be read; the rest is printed all the same.
func (d *fileDumper) report(err error) {
	d.failed = true
	_ = d.out.Flush() // its error comes again at the end
	fmt.Fprintf(d.stderr, "understudy: %v\n", err)
}

func (d *fileDumper) print() error {
	if _, err := d.out.Write(d.line); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if d.lines++; d.flags.limit > 0 && d.lines >= d.flags.limit {
		return errEnough
	}
	return nil
}

// filtered reports whether only some records are wanted.
func (f *dumpFlags) filtered() bool {
	return len(f.records) > 0 || len(f.epochs) > 0 || f.from > 0 || f.to >= 0
}

// pause waits for more at the end of a log that is being written.
func pause(ctx context.Context) error {
	t := time.NewTimer(100 * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
