package doctor_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/doctor"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
	"github.com/understudy-kafka/understudy/wire"
)

// real is the directory of a controller of Kafka 4.4.0.
const real = "../../../cmd/understudy/testdata/data-4.4.0"

const partition = "d/" + storage.PartitionDir + "/"

func load(t *testing.T) *memfs.FS {
	t.Helper()
	fsys := memfs.New()
	err := filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(real, path)
		fsys.Put("d/"+filepath.ToSlash(rel), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

func kinds(r *doctor.Report) (list []string) {
	for _, f := range r.Findings {
		list = append(list, f.Kind)
	}
	return list
}

func TestDoctor_SaysNothingOfAHealthyDirectory(t *testing.T) {
	fsys := load(t)
	before := fsys.Files()
	fsys.ReadOnly = true
	r, err := doctor.Examine(fsys, "d")
	if err != nil || len(r.Findings) > 0 || r.Worst() != doctor.Note {
		t.Fatalf("%v\n%v", err, r)
	}
	if d := r.Directories[0]; d.Key.ID != 1 || d.End != (kraft.LogEnd{LastEpoch: 4, LastOffset: 206}) || d.KRaftVersion != 1 || len(d.VoterIDs) != 1 || !d.Starts {
		t.Errorf("%+v", d)
	}
	if !r.Election.CanElect || len(r.Election.Candidates) != 1 || len(r.Election.Candidates[0].Loses) > 0 {
		t.Errorf("%v", &r.Election)
	}
	for name, b := range fsys.Files() {
		if string(before[name]) != string(b) {
			t.Errorf("%s has changed", name)
		}
	}
}

func TestDoctor_NamesDamageAndFile(t *testing.T) {
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }
	flip := func(at int) func([]byte) []byte { return func(b []byte) []byte { b[at] ^= 1; return b } }
	text := func(s string) func([]byte) []byte { return func([]byte) []byte { return []byte(s) } }
	replace := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), old, new)) }
	}
	head := func(base kraft.Offset) wire.Batch {
		h := wire.NewBatch(base, 4, 1)
		h.Attributes = wire.AttrControl
		return h
	}
	voters := func(list ...wire.Voter) func([]byte) []byte {
		return func(b []byte) []byte {
			return wire.AppendBatch(b, head(206), wire.NewControl(wire.Voters{Voters: list}))
		}
	}
	voter := func(id kraft.NodeID, host string) wire.Voter {
		return wire.Voter{Key: kraft.ReplicaKey{ID: id, DirectoryID: kraft.DirectoryID{1}}, Endpoints: []wire.Endpoint{{Name: "C", Host: host, Port: 1}}, MaxVersion: 1}
	}
	const last, first, middle = "00000000000000000193.log", "00000000000000000000.log", "00000000000000000101.log"
	const newest = "00000000000000000197-0000000003.checkpoint"
	for _, tt := range []struct {
		kind     string
		file     string // relative to the partition
		change   func([]byte) []byte
		severity doctor.Severity
		also     []string
	}{
		{"not-formatted", "../meta.properties", nil, doctor.Fatal, nil},
		{"meta-unreadable", "../meta.properties", text("version=7\n"), doctor.Fatal, nil},
		{"no-directory-id", "../meta.properties", replace("directory.id", "other.id"), doctor.Risk, []string{"stale-directory-id"}},
		{"stale-directory-id", "../meta.properties", replace("RQYBEBfCQBe3zVVL1v9Sbg", "Ed0_z6eWSMito5mSxIgznw"), doctor.Damage, nil},
		{"bootstrap-unreadable", "../bootstrap.checkpoint", text("garbage, not batches"), doctor.Fatal, nil},
		{"old-bootstrap", "../bootstrap.checkpoint", func([]byte) []byte {
			return wire.AppendDataBatch(nil, 0, 0, 1, wire.FeatureLevelRecord("metadata.version", 1))
		}, doctor.Risk, nil},
		{"state-unreadable", "quorum-state", cut(3), doctor.Fatal, nil},
		{"state-missing", "quorum-state", nil, doctor.Damage, nil},
		{"state-behind-log", "quorum-state", replace(`"leaderEpoch":4`, `"leaderEpoch":2`), doctor.Damage, nil},
		{"two-leaders", "quorum-state", replace(`"leaderId":1`, `"leaderId":3`), doctor.Damage, nil},
		{"epoch-without-leader", "quorum-state", replace(`"leaderEpoch":4`, `"leaderEpoch":40`), doctor.Risk, nil},
		{"state-of-older-version", "quorum-state", text(`{"clusterId":"","leaderId":-1,"leaderEpoch":4,"votedId":1,"appliedOffset":0,"currentVoters":[],"data_version":0}`), doctor.Note, nil},
		{"partition-metadata", "partition.metadata", text("version: 0\ntopic_id: Ed0_z6eWSMito5mSxIgznw"), doctor.Fatal, nil},
		{"epochs-unreadable", "leader-epoch-checkpoint", text("0\n9\n"), doctor.Fatal, nil},
		{"epochs-disagree", "leader-epoch-checkpoint", text("0\n2\n1 0\n3 100\n"), doctor.Damage, nil},
		{"torn-tail", last, cut(4), doctor.Note, nil},
		{"segment-damaged", middle, flip(70), doctor.Damage, []string{"state-of", "snapshot-beyond-log"}},
		{"hole", middle, nil, doctor.Damage, nil},
		{"segments-overlap", "00000000000000000150.log", text("x"), doctor.Damage, nil},
		{"no-snapshot-for-start", "", func([]byte) []byte { return nil }, doctor.Fatal, nil},
		{"empty-snapshot", newest, text(""), doctor.Fatal, nil},
		{"snapshot-damaged", newest, flip(70), doctor.Fatal, nil},
		{"snapshot-cut", newest, cut(75), doctor.Damage, nil},
		{"snapshot-without-voters", newest, func([]byte) []byte {
			h := head(0)
			b := wire.AppendBatch(nil, h, wire.NewControl(wire.SnapshotHeader{}), wire.NewControl(wire.KRaftVersion{Level: 1}))
			h.BaseOffset = 2
			return wire.AppendBatch(b, h, wire.NewControl(wire.SnapshotFooter{}))
		}, doctor.Damage, nil},
		{"snapshot-beyond-log", "00000000000000000300-0000000005.checkpoint", func([]byte) []byte { return snapshot(5) }, doctor.Note, []string{"state-behind-log"}},
		{"leftover", "00000000000000000300-0000000005-7.checkpoint.part", text("x"), doctor.Note, nil},
		{"record-undecodable", last, func(b []byte) []byte { return wire.AppendDataBatch(b, 206, 4, 1, []byte{1, 99, 0}) }, doctor.Risk, nil},
		{"epoch-backwards", last, func(b []byte) []byte { return wire.AppendDataBatch(b, 206, 2, 1, []byte{1, 20, 0, 0}) }, doctor.Damage, nil},
		{"gap", last, func(b []byte) []byte { return wire.AppendDataBatch(b, 210, 4, 1, []byte{1, 20, 0, 0}) }, doctor.Note, nil},
		{"shared-endpoint", last, voters(voter(1, "h"), voter(2, "h")), doctor.Damage, []string{"stale-directory-id"}},
		{"voter-without-endpoint", last, voters(wire.Voter{Key: kraft.ReplicaKey{ID: 5, DirectoryID: kraft.DirectoryID{1}}}), doctor.Damage, nil},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			fsys := load(t)
			name := filepath.ToSlash(filepath.Clean(partition + tt.file))
			switch {
			case tt.file == "": // all that stands for the begin of the log
				for name := range fsys.Files() {
					if strings.HasSuffix(name, first) || strings.HasSuffix(name, ".checkpoint") {
						must(t, fsys.Remove(name))
					}
				}
			case tt.change == nil:
				must(t, fsys.Remove(name))
			default:
				fsys.Put(name, tt.change(fsys.Files()[name]))
			}
			r, err := doctor.Examine(fsys, "d")
			must(t, err)
			found := false
			for _, f := range r.Findings {
				if f.Kind == tt.kind && f.Severity == tt.severity && (strings.Contains(filepath.ToSlash(f.File), filepath.Base(tt.file)) || f.File == "d" || tt.kind == "hole" || strings.HasSuffix(f.File, storage.PartitionDir)) && f.Evidence != "" {
					found = true
				} else if f.Severity > doctor.Note && !slices.Contains(tt.also, f.Kind) {
					t.Errorf("also found: %v", &f)
				}
			}
			if !found {
				t.Errorf("found %v:\n%v", kinds(r), r)
			}
		})
	}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func snapshot(epoch kraft.Epoch) []byte {
	h := wire.NewBatch(0, epoch, 1)
	h.Attributes = wire.AttrControl
	b := wire.AppendBatch(nil, h, wire.NewControl(wire.SnapshotHeader{}), wire.NewControl(wire.KRaftVersion{Level: 1}), wire.NewControl(wire.Voters{Voters: []wire.Voter{member(1)}}))
	h.BaseOffset = 3
	return wire.AppendBatch(b, h, wire.NewControl(wire.SnapshotFooter{}))
}

func member(id kraft.NodeID) wire.Voter {
	key := kraft.ReplicaKey{ID: id, DirectoryID: kraft.DirectoryID{15: byte(id)}}
	if id == 1 {
		key.DirectoryID, _ = kraft.ParseDirectoryID("RQYBEBfCQBe3zVVL1v9Sbg")
	}
	return wire.Voter{Key: key, Endpoints: []wire.Endpoint{{Name: "C", Host: "h" + key.ID.String(), Port: 1}}, MaxVersion: 1}
}

// node makes the directory of one of three voters: epochs tell how many batches each epoch has.
func node(t *testing.T, fsys *memfs.FS, id kraft.NodeID, voters int, epochs ...int) string {
	t.Helper()
	dir := "n" + id.String()
	must(t, fsys.MkdirAll(dir, 0))
	must(t, storage.WriteMeta(fsys, dir, storage.Meta{ClusterID: "C", NodeID: id, DirectoryID: kraft.DirectoryID{15: byte(id)}}, time.Unix(0, 0)))
	l, err := storage.Open(fsys, dir+"/"+storage.PartitionDir, storage.Options{})
	must(t, err)
	var set []kraft.Voter
	for v := 1; v <= voters; v++ {
		set = append(set, kraft.Voter{
			Key:       kraft.ReplicaKey{ID: kraft.NodeID(v), DirectoryID: kraft.DirectoryID{15: byte(v)}},
			Endpoints: kraft.NewEndpoints(kraft.Endpoint{Name: "C", Address: kraft.Address{Host: "h", Port: uint16(v)}}), Versions: kraft.VersionRange{Max: 1},
		})
	}
	for i, n := range epochs {
		epoch := kraft.Epoch(i + 1)
		if n == 0 {
			continue
		}
		control := []kraft.ControlRecord{{Type: kraft.LeaderChangeRecord, Leader: 1}}
		if l.End == 0 {
			control = append(control, kraft.ControlRecord{Type: kraft.KRaftVersionRecord, KRaftVersion: 1}, kraft.ControlRecord{Type: kraft.VotersRecord, Voters: kraft.NewVoterSet(set...)})
		}
		_, err := l.Execute(&kraft.AppendLeaderChange{Batch: kraft.Batch{Base: l.End, Epoch: epoch, Control: control}}, &storage.Payload{Timestamp: int64(epoch)})
		must(t, err)
		for range n - 1 {
			must(t, l.Append(wire.AppendDataBatch(nil, l.End, epoch, 1, wire.FeatureLevelRecord("metadata.version", 29))))
		}
		must(t, l.Persist(kraft.QuorumState{Epoch: epoch, Leader: 1, Voted: kraft.NoReplica}, 1, kraft.VoterSet{}))
	}
	must(t, l.Close())
	return dir
}

func TestElection_PredictsWinnerAndLoss(t *testing.T) {
	for _, tt := range []struct {
		name    string
		logs    map[kraft.NodeID][]int // batches by epoch
		winners []kraft.NodeID
		loses   map[kraft.NodeID]string // of the first winner
	}{
		{"all equal", map[kraft.NodeID][]int{1: {5}, 2: {5}, 3: {5}}, []kraft.NodeID{1, 2, 3}, nil},
		{"one behind", map[kraft.NodeID][]int{1: {5}, 2: {5}, 3: {3}}, []kraft.NodeID{1, 2}, nil},
		{"one ahead", map[kraft.NodeID][]int{1: {7}, 2: {5}, 3: {5}}, []kraft.NodeID{1, 2, 3}, nil},
		{"a newer epoch beats a longer log", map[kraft.NodeID][]int{1: {9}, 2: {4, 1}, 3: {4, 1}}, []kraft.NodeID{2, 3}, map[kraft.NodeID]string{1: "6 to 10"}},
		{"the longest is gone", map[kraft.NodeID][]int{2: {5}, 3: {4}}, []kraft.NodeID{2}, nil},
		{"two are gone", map[kraft.NodeID][]int{2: {5}}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := memfs.New()
			var dirs []string
			for id := kraft.NodeID(1); id <= 3; id++ {
				if log, ok := tt.logs[id]; ok {
					dirs = append(dirs, node(t, fsys, id, 3, log...))
				}
			}
			r, err := doctor.Examine(fsys, dirs...)
			must(t, err)
			if r.Worst() > doctor.Note {
				t.Errorf("%v", r)
			}
			var winners []kraft.NodeID
			for _, c := range r.Election.Candidates {
				winners = append(winners, c.Node.ID)
			}
			slices.Sort(winners)
			if !slices.Equal(winners, tt.winners) || r.Election.CanElect != (len(tt.winners) > 0) {
				t.Fatalf("winners %v, want %v\n%v", winners, tt.winners, r)
			}
			for id, want := range tt.loses {
				if !strings.Contains(r.Election.String(), "n"+id.String()+" would lose offsets "+want) {
					t.Errorf("no loss of %s by %v:\n%v", want, id, &r.Election)
				}
			}
		})
	}
}

func TestDoctor_ComparesDirectories(t *testing.T) {
	for _, tt := range []struct {
		kind string
		make func(fsys *memfs.FS) []string
	}{
		{"other-cluster", func(f *memfs.FS) []string {
			a, b := node(t, f, 1, 3, 3), node(t, f, 2, 3, 3)
			f.Put(b+"/meta.properties", []byte("version=1\nnode.id=2\ncluster.id=X\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAg\n"))
			return []string{a, b}
		}},
		{"same-node", func(f *memfs.FS) []string {
			a, b := node(t, f, 1, 3, 3), node(t, f, 2, 3, 3)
			f.Put(b+"/meta.properties", []byte("version=1\nnode.id=1\ncluster.id=C\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAg\n"))
			return []string{a, b}
		}},
		{"same-directory-id", func(f *memfs.FS) []string {
			a, b := node(t, f, 1, 3, 3), node(t, f, 2, 3, 3)
			f.Put(b+"/meta.properties", []byte("version=1\nnode.id=2\ncluster.id=C\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n"))
			return []string{a, b}
		}},
		{"logs-diverge", func(f *memfs.FS) []string {
			a, b := node(t, f, 1, 3, 3), node(t, f, 2, 3, 2)
			l, err := storage.Open(f, b+"/"+storage.PartitionDir, storage.Options{})
			must(t, err, l.Append(wire.AppendDataBatch(nil, l.End, 1, 1, wire.FeatureLevelRecord("metadata.version", 30))), l.Close())
			return []string{a, b}
		}},
		{"voter-sets-apart", func(f *memfs.FS) []string { return []string{node(t, f, 1, 1, 3), node(t, f, 2, 3, 4)} }},
	} {
		fsys := memfs.New()
		r, err := doctor.Examine(fsys, tt.make(fsys)...)
		must(t, err)
		if !slices.Contains(kinds(r), tt.kind) {
			t.Errorf("%s: found %v\n%v", tt.kind, kinds(r), r)
		}
	}
}
