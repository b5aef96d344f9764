package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// batches prints a segment or a snapshot, and with follow what is appended to it and to the segments behind it.
func (d *fileDumper) batches(ctx context.Context, path string, follow bool) error {
	for path != "" {
		next, err := d.file(ctx, path, follow)
		if err != nil {
			return err
		}
		path = next
	}
	return nil
}

// file prints one file. With follow it returns the next segment, once there is one.
func (d *fileDumper) file(ctx context.Context, path string, follow bool) (next string, err error) {
	f, err := d.fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := d.head(path); err != nil {
		return "", err
	}
	d.counts.Files++
	at := int64(0)
	for {
		size, err := f.Size()
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		if follow { // before reading: what a roll has left behind is complete
			next = nextSegment(path)
		}
		in := storage.NewScanner(f, at, size)
		in.Unchecked = true // batches with a wrong checksum are printed as such
		at, err = d.scan(ctx, path, in)
		var damage *storage.Damage
		switch {
		case errors.As(err, &damage) && (!follow || !errors.Is(err, wire.ErrCut)):
			d.report(fmt.Errorf("%s: %w", path, err))
		case err != nil && damage == nil:
			return "", err
		}
		d.counts.Bytes += size
		if !follow || next != "" {
			return next, nil
		}
		if err := errors.Join(d.out.Flush(), pause(ctx)); err != nil {
			return "", err
		}
		d.counts.Bytes -= size
	}
}

// head prints what Kafka's tool says before the batches of a file.
func (d *fileDumper) head(path string) error {
	if d.json || d.flags.verify || d.flags.filtered() {
		return nil
	}
	d.line = append(append(append(d.line[:0], "Dumping "...), path...), '\n')
	name := filepath.Base(path)
	if id, ok := storage.ParseSnapshotName(name); ok {
		d.line = fmt.Appendf(d.line, "Snapshot end offset: %d, epoch: %d\n", id.Offset, id.Epoch)
	} else if name == storage.BootstrapFile {
		d.line = append(d.line, "KRaft bootstrap snapshot\n"...)
	} else if base, err := strconv.ParseInt(strings.TrimSuffix(name, ".log"), 10, 64); err == nil {
		d.line = fmt.Appendf(d.line, "Log starting offset: %d\n", base)
	}
	return d.print()
}

// nextSegment is the segment behind this one, or "".
func nextSegment(path string) string {
	list, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.log"))
	if err != nil {
		return ""
	}
	slices.Sort(list)
	if i := slices.Index(list, path); i >= 0 && i+1 < len(list) {
		return list[i+1]
	}
	return ""
}

// scan prints the batches and returns where they end. io.EOF is no error.
func (d *fileDumper) scan(ctx context.Context, path string, in *storage.Scanner) (at int64, err error) {
	for n := 1; ; n++ {
		b, position, err := in.Next()
		if errors.Is(err, io.EOF) {
			return position, nil
		}
		if err != nil {
			return position, err
		}
		if err := d.batch(path, b, position); err != nil {
			return position, err
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return position, ctx.Err()
		}
	}
}

func (d *fileDumper) batch(path string, b *wire.Batch, position int64) error {
	d.counts.Batches++
	if !b.CRCValid() {
		d.report(fmt.Errorf("%s: byte %d: batch at offset %d: the checksum is wrong", path, position, b.BaseOffset))
		if d.flags.verify {
			return nil
		}
	}
	if !d.wanted(b) {
		return nil
	}
	if !d.json && !d.flags.verify && len(d.flags.records) == 0 {
		d.line = wire.AppendBatchLine(d.line[:0], b, position)
		if err := d.print(); err != nil {
			return err
		}
	}
	if d.flags.batches && !d.flags.verify {
		return nil
	}
	options := wire.JSONOptions{Secrets: d.flags.secrets}
	err := b.Each(func(r wire.Record) error {
		d.counts.Records++
		if d.flags.verify {
			if err := wire.CheckRecord(b, &r); err != nil {
				d.report(fmt.Errorf("%s: byte %d: record at offset %d: %w", path, position, r.Offset, err))
			}
			return nil
		}
		if !d.wantedRecord(b, &r) {
			return nil
		}
		if d.json {
			d.recordJSON(path, b, &r, position, options)
		} else {
			d.line = wire.AppendRecordLine(d.line[:0], b, &r, options)
		}
		return d.print()
	})
	if errors.Is(err, wire.ErrMalformed) {
		d.report(fmt.Errorf("%s: byte %d: %w", path, position, err))
		return nil
	}
	return err
}

// wanted applies the filters that concern a batch.
func (d *fileDumper) wanted(b *wire.Batch) bool {
	if len(d.flags.epochs) > 0 && !slices.Contains(d.flags.epochs, int32(b.Epoch)) {
		return false
	}
	return b.LastOffset() >= kraft.Offset(d.flags.from) && (d.flags.to < 0 || b.BaseOffset <= kraft.Offset(d.flags.to))
}

func (d *fileDumper) wantedRecord(b *wire.Batch, r *wire.Record) bool {
	if r.Offset < kraft.Offset(d.flags.from) || d.flags.to >= 0 && r.Offset > kraft.Offset(d.flags.to) {
		return false
	}
	return len(d.flags.records) == 0 || slices.Contains(d.flags.records, wire.RecordName(b, r))
}

func (d *fileDumper) recordJSON(path string, b *wire.Batch, r *wire.Record, position int64, o wire.JSONOptions) {
	d.line = strconv.AppendQuote(append(d.line[:0], `{"file":`...), path)
	d.line = strconv.AppendInt(append(d.line, `,"position":`...), position, 10)
	d.line = strconv.AppendInt(append(d.line, `,"epoch":`...), int64(b.Epoch), 10)
	d.line = strconv.AppendInt(append(d.line, `,"timestamp":`...), r.Timestamp, 10)
	d.line = append(d.line, ',')
	at := len(d.line)
	d.line = wire.AppendRecordJSON(d.line, b, r, o)
	d.line = append(slices.Delete(d.line, at, at+1), '\n') // its opening brace
}
