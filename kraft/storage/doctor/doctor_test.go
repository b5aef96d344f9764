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
	"github.com/understudy-kafka/understudy/kraft/storage/doctor/doctortest"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
	"github.com/understudy-kafka/understudy/wire"
)

var then = time.Unix(0, 0)

// real is the directory of a controller of Kafka 4.4.0.
const real = "../../../cmd/understudy/testdata/data-4.4.0"

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

// The same table is applied to directories that each release has just made (compat/disk).
func TestDoctor_NamesDamageAndFileAndNothingElse(t *testing.T) {
	for _, c := range doctortest.Damages {
		t.Run(c.Kind, func(t *testing.T) {
			if err := c.Check(real); err != nil {
				t.Error(err)
			}
		})
	}
}

// A table that expects something else must fail.
func TestDoctor_TheTableSeesWhatIsMissingAndWhatIsTooMuch(t *testing.T) {
	damage := doctortest.Damages[0]
	for _, twin := range []doctortest.Damage{
		{Kind: "torn-tail", Severity: damage.Severity, Do: damage.Do},
		{Kind: damage.Kind, Severity: doctor.Note, Do: damage.Do},
		{Kind: damage.Kind, Severity: damage.Severity, Do: damage.Do, Also: []string{"gap"}},
		{Kind: damage.Kind, Severity: damage.Severity, Do: func(d *doctortest.Dir) string { damage.Do(d); return "d" }},
	} {
		if err := twin.Check(real); err == nil {
			t.Errorf("%+v passes", twin)
		}
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

// node makes the directory of one of three voters: epochs tell how many batches each epoch has.
func node(t *testing.T, fsys *memfs.FS, id kraft.NodeID, voters int, epochs ...int) string {
	t.Helper()
	dir := "n" + id.String()
	must(t, fsys.MkdirAll(dir, 0))
	must(t, storage.WriteMeta(fsys, dir, storage.Meta{ClusterID: "C", NodeID: id, DirectoryID: kraft.DirectoryID{15: byte(id)}}, then))
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
		{"forgot-that-it-led", func(f *memfs.FS) []string { return []string{node(t, f, 1, 3), node(t, f, 2, 3, 4)} }},
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

// changing changes files of a directory once, just before one of them is read.
type changing struct {
	storage.FS
	when   string
	change func()
}

func (c *changing) OpenFile(name string, flag int, perm fs.FileMode) (storage.File, error) {
	if change := c.change; change != nil && strings.HasSuffix(name, c.when) {
		c.change = nil
		change()
	}
	return c.FS.OpenFile(name, flag, perm)
}

// A running node rolls, truncates, cleans and elects while the doctor reads.
func TestDoctor_TakesNoChangeForDamage(t *testing.T) {
	const log = "00000000000000000000.log"
	write := func(t *testing.T, fsys *memfs.FS, dir string, change func(l *storage.Log)) func() {
		return func() {
			l, err := storage.Open(fsys, dir+"/"+storage.PartitionDir, storage.Options{Unmarked: true})
			must(t, err)
			change(l)
			must(t, l.Close())
		}
	}
	elected := func(l *storage.Log) {
		must(t, l.Persist(kraft.QuorumState{Epoch: 2, Leader: 1, Voted: kraft.NoReplica}, 1, kraft.VoterSet{}))
		must(t, l.Append(wire.AppendDataBatch(nil, l.End, 2, 1, wire.FeatureLevelRecord("metadata.version", 29))))
	}
	for name, when := range map[string]string{
		"elected before the log is read": log, "elected before the epochs are read": storage.EpochsFile, "elected before the state is read": storage.QuorumStateFile,
	} {
		fsys := memfs.New()
		dir := node(t, fsys, 1, 1, 3)
		r, err := doctor.Examine(&changing{fsys, when, write(t, fsys, dir, elected)}, dir)
		must(t, err)
		if r.Worst() > doctor.Note {
			t.Errorf("%s: %v", name, r)
		}
	}
	fsys := memfs.New()
	dir := node(t, fsys, 1, 1, 3)
	truncated := func(l *storage.Log) { must(t, l.TruncateTo(l.End-1)); elected(l) }
	r, err := doctor.Examine(&changing{fsys, storage.EpochsFile, write(t, fsys, dir, truncated)}, dir)
	must(t, err)
	if r.Worst() > doctor.Note {
		t.Errorf("truncated: %v", r)
	}
	fsys = memfs.New()
	dir = node(t, fsys, 1, 1, 3)
	partition := dir + "/" + storage.PartitionDir + "/"
	b := fsys.Files()[partition+log]
	r, err = doctor.Examine(&changing{fsys, log, func() {
		fsys.Put(partition+"00000000000000000007.log", b)
		must(t, fsys.Remove(partition+log))
	}}, dir)
	must(t, err)
	if slices.Contains(kinds(r), "state-missing") || !slices.Contains(kinds(r), "no-snapshot-for-start") {
		t.Errorf("a segment that went away: %v", r)
	}
}

// What is wrong with each of many records is told of the first ones, and counted.
func TestDoctor_TellsOfAFewAndCountsTheRest(t *testing.T) {
	fsys := memfs.New()
	dir := node(t, fsys, 1, 1, 3)
	l, err := storage.Open(fsys, dir+"/"+storage.PartitionDir, storage.Options{})
	must(t, err)
	for range 50 {
		must(t, l.Append(wire.AppendDataBatch(nil, l.End, 1, 1, []byte{1, 99, 0, 0})))
	}
	must(t, l.Close())
	r, err := doctor.Examine(fsys, dir)
	must(t, err)
	if len(r.Findings) != 3 || !strings.HasSuffix(r.Findings[2].Evidence, "; and 47 more in this file") || strings.Contains(r.Findings[1].Evidence, "more in this file") {
		t.Errorf("%d findings\n%v", len(r.Findings), r)
	}
}
