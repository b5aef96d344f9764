package standby

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// made writes a snapshot of batches as the compactor does.
func made(t *testing.T, found survey, batches ...[]byte) []byte {
	t.Helper()
	var out strings.Builder
	c := &compactor{to: &out, epoch: 7, now: 1}
	each := func(f func(*wire.Batch) error) {
		for _, raw := range batches {
			b, _, err := wire.NextBatch(raw)
			if err == nil {
				err = f(&b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	each(found.note)
	if err := c.head(&found); err != nil {
		t.Fatal(err)
	}
	c.aborted = found.aborted
	each(c.add)
	if err := c.foot(); err != nil {
		t.Fatal(err)
	}
	return []byte(out.String())
}

// told are the records of a snapshot: "C" and the type of a control record, or the name of a feature. Offsets must be without gaps.
func told(t *testing.T, snapshot []byte) (list []string) {
	t.Helper()
	next := kraft.Offset(0)
	for len(snapshot) > 0 {
		b, rest, err := wire.NextBatch(snapshot)
		if err != nil || !b.CRCValid() {
			t.Fatalf("batch at %d: %v", next, err)
		}
		snapshot = rest
		err = b.Each(func(r wire.Record) error {
			if r.Offset != next {
				t.Errorf("a record at %d, want %d", r.Offset, next)
			}
			next++
			if b.Control() {
				c, err := wire.DecodeControl(r.Key, r.Value)
				list = append(list, fmt.Sprintf("C%v", c.Type()))
				return err
			}
			m, err := wire.DecodeMetadata(r.Value)
			if err != nil {
				return err
			}
			name, _ := m.Field("name")
			list = append(list, strings.Trim(string(name), `"`))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func feature(name string) []byte { return wire.FeatureLevelRecord(name, 1) }

// TestSnapshot_HoldsWhatAReplayOfTheLogLeaves: what an active controller took back, and what says nothing, is not in a snapshot; all else
// is, in its order.
func TestSnapshot_HoldsWhatAReplayOfTheLogLeaves(t *testing.T) {
	begin, end, abort, nothing := record(beginTransaction, 0), record(endTransaction, 0), record(abortTransaction, 0), record(noOp)
	header, footer := "C"+wire.TypeSnapshotHeader.String(), "C"+wire.TypeSnapshotFooter.String()
	for name, c := range map[string]struct {
		batches [][]byte
		want    []string
	}{
		"nothing":              {nil, nil},
		"records":              {[][]byte{batch(0, feature("a"), feature("b")), batch(2, feature("a"))}, []string{"a", "b", "a"}},
		"NoOps":                {[][]byte{batch(0, nothing, feature("a"), nothing), batch(3, nothing)}, []string{"a"}},
		"a transaction":        {[][]byte{batch(0, begin, feature("a")), batch(2, feature("b"), end), batch(4, feature("c"))}, []string{"a", "b", "c"}},
		"one that was aborted": {[][]byte{batch(0, feature("a"), begin, feature("b")), batch(3, feature("c"), abort, feature("d"))}, []string{"a", "d"}},
		"two that were aborted": {
			[][]byte{batch(0, begin, feature("a"), abort, feature("b")), batch(4, begin, feature("c")), batch(6, abort), batch(7, feature("d"))}, []string{"b", "d"},
		},
		"aborted, then ended":     {[][]byte{batch(0, begin, feature("a"), abort, begin, feature("b"), end)}, []string{"b"}},
		"one that cannot be read": {[][]byte{batch(0, feature("a"), []byte{9})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			raw := made(t, survey{}, c.batches...)
			if name == "one that cannot be read" { // it is kept as it is
				if !strings.Contains(string(raw), "\x09") {
					t.Error("a record is gone")
				}
				return
			}
			if got, want := told(t, raw), slices.Concat([]string{header}, c.want, []string{footer}); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestSnapshot_NamesTheVotersOfItsEnd: the last set and version that the log has before the snapshot's end, else those of the snapshot before.
func TestSnapshot_NamesTheVotersOfItsEnd(t *testing.T) {
	set := func(id kraft.NodeID) kraft.VoterSet {
		return kraft.NewVoterSet(kraft.Voter{Key: kraft.ReplicaKey{ID: id}})
	}
	before := survey{SnapshotContents: kraft.SnapshotContents{HasKRaftVersion: true, KRaftVersion: 1, HasVoters: true, Voters: set(1)}}
	later, err := wire.AppendControlBatch(nil, kraft.Batch{Base: 5, Epoch: 2, Control: []kraft.ControlRecord{{Type: kraft.VotersRecord, Voters: set(2)}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		found   survey
		batches [][]byte
		voters  kraft.VoterSet
	}{
		"static":      {survey{}, [][]byte{batch(0, feature("a"))}, kraft.VoterSet{}},
		"of before":   {before, [][]byte{batch(0, feature("a"))}, set(1)},
		"of the log":  {before, [][]byte{batch(0, feature("a")), later}, set(2)},
		"version too": {survey{SnapshotContents: kraft.SnapshotContents{HasKRaftVersion: true}}, [][]byte{batch(0, feature("a"))}, kraft.VoterSet{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wire.SnapshotContents(made(t, c.found, c.batches...))
			if err != nil {
				t.Fatal(err)
			}
			if got.HasVoters != (c.voters.Len() > 0) || got.HasKRaftVersion != got.HasVoters || got.Voters.String() != c.voters.String() {
				t.Errorf("%+v, want %v", got, c.voters)
			}
		})
	}
}

// TestSnapshot_OfALiveNode: a node that leads by itself makes snapshots of what it commits, each with all that was before, and starts again
// on the last one.
func TestSnapshot_OfALiveNode(t *testing.T) {
	dir := t.TempDir()
	key := kraft.ReplicaKey{ID: 1, DirectoryID: storage.NewDirectoryID()}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := kraft.Address{Host: "127.0.0.1", Port: uint16(ln.Addr().(*net.TCPAddr).Port)}
	endpoints := kraft.NewEndpoints(kraft.Endpoint{Name: "CONTROLLER", Address: address})
	spec := storage.FormatSpec{
		ClusterID: "c", NodeID: 1, DirectoryID: key.DirectoryID, MetadataDir: dir, Controller: true, KRaftVersion: 1, OneCheckpoint: true, Now: time.Now(),
		Voters: kraft.NewVoterSet(kraft.Voter{Key: key, Endpoints: endpoints, Versions: kraft.VersionRange{Max: 1}}),
	}
	if err := storage.Format(storage.OS(), &spec); err != nil {
		t.Fatal(err)
	}
	var names []string
	for run := range 2 {
		d, err := storage.OpenDirectory(storage.OS(), dir, storage.Identity{ClusterID: "c", NodeID: 1})
		if err != nil {
			t.Fatal(err)
		}
		if run > 0 {
			if ln, err = net.Listen("tcp", address.String()); err != nil {
				t.Fatal(err)
			}
		}
		c, err := controller.New(controller.Config{
			Directory: d, Profile: profile(t, "4.4.0"), Endpoints: endpoints, BootstrapServers: []kraft.Address{address},
			Listeners: []controller.Listener{{Name: "CONTROLLER", Listener: ln}}, Storage: storage.Options{RetentionBytes: 1},
			Timeouts: kraft.QuorumTimeouts{ElectionMs: 50, FetchMs: 500, ElectionBackoffMaxMs: 50, RequestMs: 500, RetryBackoffMs: 20},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := New(Config{ID: 1, ClusterID: "c", Profile: profile(t, "4.4.0"), Directory: dir, Snapshots: Snapshots{Bytes: 300}, Report: func(err error) { t.Error(err) }})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		ended, followed := make(chan error, 1), make(chan error, 1)
		go func() { ended <- c.Run(context.WithoutCancel(ctx)) }()
		go func() { followed <- s.Run(ctx, c) }()
		if _, err := c.Wait(ctx, func(s *controller.Status) bool { return s.Role == kraft.LeaderRole && s.Known > 0 }); err != nil {
			t.Fatal(err)
		}
		before := c.Status().Snapshot
		for c.Status().Snapshot == before && ctx.Err() == nil {
			name := fmt.Sprintf("feature-%04d", len(names))
			if _, err := c.Append(ctx, feature(name), record(noOp)); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		id := c.Status().Snapshot
		cancel()
		if err := <-followed; err != nil {
			t.Error(err)
		}
		c.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		raw, err := os.ReadFile(filepath.Join(dir, storage.PartitionDir, storage.SnapshotName(id)))
		if err != nil {
			t.Fatal(err)
		}
		got := told(t, raw)
		if n := len(got) - 4; n <= 0 || n > len(names) || !slices.Equal(got[3:3+n], names[:n]) { // the header, version, voters; the footer
			t.Errorf("snapshot %v has %q, want a beginning of %q", id, got, names)
		}
		contents, err := wire.SnapshotContents(raw)
		if err != nil || contents.KRaftVersion != 1 || !contents.Voters.IsVoter(key) {
			t.Errorf("snapshot %v says %+v: %v", id, contents, err)
		}
	}
}

// fullDisk is a node that has no place for a snapshot.
type fullDisk struct {
	*node
	tried int
}

func (d *fullDisk) CreateSnapshot(context.Context, kraft.SnapshotID) (*controller.SnapshotWriter, error) {
	d.tried++
	return nil, syscall.ENOSPC
}

// TestSnapshot_ThatFailsIsTriedAgain: after a minute, not after as much log as is wanted between two snapshots.
func TestSnapshot_ThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fullDisk{node: &node{changed: make(chan struct{})}}
		failed := 0
		s := New(Config{ID: 1, Directory: t.TempDir(), Snapshots: Snapshots{Bytes: 1000}, Report: func(err error) {
			if failed++; !errors.Is(err, syscall.ENOSPC) {
				t.Error(err)
			}
		}})
		k := s.newSnapshotter(d)
		next := kraft.Offset(0)
		passes := func(bytes int) {
			b := wire.AppendBatch(nil, wire.NewBatch(next, 1, 5), wire.Record{Offset: next, Value: feature("a")})
			next++
			d.append(next, b)
			k.passed(t.Context(), bytes, kraft.SnapshotID{Offset: next, Epoch: 1}, false)
			synctest.Wait()
		}
		for _, step := range []struct {
			bytes int
			after time.Duration
			tried int
		}{{999, 0, 0}, {1, 0, 1}, {1, 0, 1}, {1, 50 * time.Second, 1}, {1, 11 * time.Second, 2}, {5000, 0, 2}, {1, time.Minute, 3}} {
			<-time.After(step.after) // of the bubble's clock
			if passes(step.bytes); d.tried != step.tried || failed != step.tried {
				t.Fatalf("after %v and %d bytes more: tried %d times, failed %d times, want %d", step.after, step.bytes, d.tried, failed, step.tried)
			}
		}
		s.tasks.Wait()
	})
}

// TestSnapshot_WithoutRecordsIsNotMade: what formatting has written (0-0) is in the log only when an active controller has written it there.
func TestSnapshot_WithoutRecordsIsNotMade(t *testing.T) {
	d := &fullDisk{node: &node{changed: make(chan struct{})}}
	s := New(Config{ID: 1, Directory: t.TempDir(), Snapshots: Snapshots{Bytes: 1}})
	head := wire.NewBatch(0, 1, 5)
	head.Attributes = wire.AttrControl
	d.append(1, wire.AppendBatch(nil, head, wire.NewControl(wire.SnapshotFooter{})))
	if err := s.newSnapshotter(d).write(t.Context(), kraft.SnapshotID{}, kraft.SnapshotID{Offset: 1, Epoch: 1}); err != nil || d.tried > 0 {
		t.Errorf("tried %d times: %v", d.tried, err)
	}
}
