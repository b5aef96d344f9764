package interact

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// parseNode reads "n3".
func parseNode(text string) (kraft.NodeID, error) {
	digits, ok := strings.CutPrefix(text, "n")
	v, err := strconv.ParseInt(digits, 10, 32)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is no node", text)
	}
	return kraft.NodeID(v), nil
}

// parseIDs reads "1,2,3" or "none".
func parseIDs(text string) ([]kraft.NodeID, error) {
	if text == "none" || text == "" {
		return nil, nil
	}
	var list []kraft.NodeID
	for _, part := range strings.Split(text, ",") {
		v, err := strconv.ParseInt(part, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no node id", part)
		}
		list = append(list, kraft.NodeID(v))
	}
	return list, nil
}

// parseKey reads "4", "4/b" (another directory) or "4/none".
func parseKey(text string) (kraft.ReplicaKey, error) {
	id, letter, has := strings.Cut(text, "/")
	v, err := strconv.ParseInt(id, 10, 32)
	if err != nil {
		return kraft.NoReplica, fmt.Errorf("%q is no replica", text)
	}
	k := kraft.ReplicaKey{ID: kraft.NodeID(v), DirectoryID: Directory(kraft.NodeID(v), "")}
	switch {
	case letter == "none" || v < 0:
		k.DirectoryID = kraft.DirectoryID{}
	case has:
		k.DirectoryID = Directory(k.ID, letter)
	}
	return k, nil
}

// parsePosition reads "5@1": offset and epoch.
func parsePosition(text string) (kraft.OffsetAndEpoch, error) {
	offset, epoch, _ := strings.Cut(text, "@")
	o, err1 := strconv.ParseInt(offset, 10, 64)
	e, err2 := strconv.ParseInt(epoch, 10, 32)
	if err1 != nil || err2 != nil {
		return kraft.OffsetAndEpoch{}, fmt.Errorf("%q is no position such as 5@1", text)
	}
	return kraft.OffsetAndEpoch{Offset: kraft.Offset(o), Epoch: kraft.Epoch(e)}, nil
}

// parseBatches reads "0..4@1,5@2": batches of data.
func parseBatches(text string) ([]kraft.Batch, error) {
	var list []kraft.Batch
	for _, part := range strings.Split(text, ",") {
		base, last, ranged := strings.Cut(part, "..")
		if !ranged {
			last = base
			base, _, _ = strings.Cut(base, "@")
		}
		end, err := parsePosition(last)
		first, err2 := strconv.ParseInt(base, 10, 64)
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("%q is no batch such as 0..4@1", part)
		}
		b := kraft.Batch{Base: kraft.Offset(first), Last: end.Offset, Epoch: end.Epoch}
		b.Size = DataSize(int32(b.Last - b.Base + 1))
		list = append(list, b)
	}
	return list, nil
}

// RecordBytes is the size of every record value, RecordOverhead what a small record takes besides it, BatchOverhead what a batch does.
const (
	RecordBytes    = 8
	RecordOverhead = 7
	BatchOverhead  = 61
)

// DataSize is the size of a batch of data.
func DataSize(records int32) int32 { return BatchOverhead + records*(RecordBytes+RecordOverhead) }

// parseStored reads "5,leader:1,voted:2" or "5,voted:2/b".
func parseStored(text string) (*kraft.QuorumState, error) {
	s := &kraft.QuorumState{Leader: kraft.NoNode, Voted: kraft.NoReplica}
	for i, part := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(part, ":")
		if i == 0 {
			name, value = "epoch", part
		}
		switch name {
		case "epoch", "leader":
			v, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return nil, err
			}
			if name == "epoch" {
				s.Epoch = kraft.Epoch(v)
			} else {
				s.Leader = kraft.NodeID(v)
			}
		case "voted":
			k, err := parseKey(value)
			if err != nil {
				return nil, err
			}
			s.Voted = k
		default:
			return nil, fmt.Errorf("%q is unknown", part)
		}
	}
	return s, nil
}

// fields are the key=value arguments of a command. Those without a value are "true".
type fields struct {
	values map[string]string
	used   map[string]bool
	err    error
}

func newFields(args []string) *fields {
	f := &fields{values: map[string]string{}, used: map[string]bool{}}
	for _, a := range args {
		name, value, has := strings.Cut(a, "=")
		if !has {
			value = "true"
		}
		f.values[name] = value
	}
	return f
}

func (f *fields) text(name, otherwise string) string {
	f.used[name] = true
	if v, ok := f.values[name]; ok {
		return v
	}
	return otherwise
}

func (f *fields) flag(name string) bool { return f.text(name, "") == "true" }

func (f *fields) fail(name string, err error) {
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (f *fields) number(name string, otherwise int64) int64 {
	text := f.text(name, "")
	if text == "" {
		return otherwise
	}
	v, err := strconv.ParseInt(text, 10, 64)
	f.fail(name, err)
	return v
}

func (f *fields) key(name string, otherwise kraft.ReplicaKey) kraft.ReplicaKey {
	text := f.text(name, "")
	if text == "" {
		return otherwise
	}
	k, err := parseKey(text)
	f.fail(name, err)
	return k
}

func (f *fields) position(name string, otherwise kraft.OffsetAndEpoch) kraft.OffsetAndEpoch {
	text := f.text(name, "")
	if text == "" {
		return otherwise
	}
	p, err := parsePosition(text)
	f.fail(name, err)
	return p
}

func (f *fields) code(name string) kraft.ErrorCode {
	text := f.text(name, "NONE")
	for c := kraft.ErrorCode(-1); c < 200; c++ {
		if c.String() == text {
			return c
		}
	}
	f.fail(name, fmt.Errorf("%q is no error", text))
	return kraft.None
}

// unused is an error if a field was given that nothing asked for.
func (f *fields) unused() error {
	for name := range f.values {
		if !f.used[name] && f.err == nil {
			f.err = fmt.Errorf("%q is unknown here", name)
		}
	}
	return f.err
}
