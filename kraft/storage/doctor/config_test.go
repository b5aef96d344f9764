package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/doctor"
	"github.com/understudy-kafka/understudy/kraft/storage/doctor/doctortest"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
	"github.com/understudy-kafka/understudy/wire"
)

// In the log of the real directory node 1 is at 127.0.0.1:24323, listener CONTROLLER.
func TestDoctor_ComparesTheAddressesInTheLogWithTheProperties(t *testing.T) {
	at := func(listener, host string, port uint16) doctor.Config {
		return doctor.Config{
			File: "c.properties", NodeID: 1, Listener: listener,
			Advertised: kraft.Endpoint{Name: listener, Address: kraft.Address{Host: host, Port: port}},
		}
	}
	elsewhere := at("CONTROLLER", "127.0.0.1", 24323)
	elsewhere.NodeID = 2
	mistaken := elsewhere
	mistaken.Directories = []string{"d"}
	static := at("CONTROLLER", "127.0.0.1", 24323)
	static.StaticVoters = []kraft.NodeID{1, 2}
	right := at("CONTROLLER", "127.0.0.1", 24323)
	right.StaticVoters = []kraft.NodeID{1}
	for _, tt := range []struct {
		name   string
		config doctor.Config
		kinds  []string
		says   string
	}{
		{"the same", at("CONTROLLER", "127.0.0.1", 24323), nil, ""},
		{"the same voters", right, nil, ""},
		{"another port", at("CONTROLLER", "127.0.0.1", 9093), []string{"address-unlike-log"}, "advertises 127.0.0.1:9093, but the voter set has node 1 at 127.0.0.1:24323"},
		{"another host", at("CONTROLLER", "c1", 24323), []string{"address-unlike-log"}, "c1:24323"},
		{"another listener", at("INTERNAL", "127.0.0.1", 24323), []string{"listener-unlike-log"}, "INTERNAL"},
		{"no such listener in the file", doctor.Config{File: "c.properties", NodeID: 1}, nil, ""},
		{"of another node", elsewhere, nil, ""},
		{"of another node, on this directory", mistaken, []string{"other-node-id"}, "node.id is 2, but d is the directory of node 1"},
		{"other voters", static, []string{"voters-unlike-log"}, "names [1 2], the directory 1 voters"},
	} {
		d, err := doctortest.Load(real)
		must(t, err)
		r, err := doctor.ExamineConfigured(d, []doctor.Config{tt.config}, doctortest.Root)
		must(t, err)
		if got := kinds(r); !slices.Equal(got, tt.kinds) || !strings.Contains(r.String(), tt.says) {
			t.Errorf("%s: found %v, want %v\n%v", tt.name, got, tt.kinds, r)
		}
		for _, f := range r.Findings {
			if f.File != "c.properties" {
				t.Errorf("%s: names %s", tt.name, f.File)
			}
		}
	}
}

// staticNode is a voter of a quorum at kraft.version 0: no control records but LeaderChange.
func staticNode(t *testing.T, fsys *memfs.FS, id kraft.NodeID, metadataVersion int16) string {
	t.Helper()
	dir := "s" + id.String()
	must(t, fsys.MkdirAll(dir, 0), storage.WriteMeta(fsys, dir, storage.Meta{ClusterID: "C", NodeID: id, DirectoryID: kraft.DirectoryID{15: byte(id)}}, then))
	l, err := storage.Open(fsys, dir+"/"+storage.PartitionDir, storage.Options{})
	must(t, err, l.Append(wire.AppendDataBatch(nil, 0, 1, 1, wire.FeatureLevelRecord("metadata.version", metadataVersion))))
	var set []kraft.Voter
	for v := 1; v <= 3; v++ {
		set = append(set, kraft.Voter{Key: kraft.ReplicaKey{ID: kraft.NodeID(v)}})
	}
	must(t, l.Persist(kraft.QuorumState{Epoch: 1, Leader: 1, Voted: kraft.NoReplica}, 0, kraft.NewVoterSet(set...)), l.Close())
	return dir
}

func TestDoctor_AdvisesAStaticQuorumAsAWhole(t *testing.T) {
	for _, tt := range []struct {
		name   string
		nodes  int
		level  int16
		advice bool
	}{
		{"three nodes", 3, 25, true},
		{"of one node nobody knows what the others are", 1, 25, false},
		{"the metadata.version is too old for it", 3, 20, false},
	} {
		fsys := memfs.New()
		var dirs []string
		for id := kraft.NodeID(1); int(id) <= tt.nodes; id++ {
			dirs = append(dirs, staticNode(t, fsys, id, tt.level))
		}
		r, err := doctor.Examine(fsys, dirs...)
		must(t, err)
		if len(r.Findings) > 0 || len(r.Advice) > 0 != tt.advice || strings.Contains(r.String(), "--feature kraft.version=1") != tt.advice {
			t.Errorf("%s:\n%v", tt.name, r)
		}
	}
	fsys := memfs.New()
	r, err := doctor.Examine(fsys, node(t, fsys, 1, 3, 3), node(t, fsys, 2, 3, 3))
	if must(t, err); len(r.Advice) > 0 {
		t.Errorf("a dynamic quorum:\n%v", r)
	}
}

// A static quorum that never ran names its voters nowhere but in the properties.
func TestElection_TakesStaticVotersFromTheProperties(t *testing.T) {
	fsys := memfs.New()
	dir := staticNode(t, fsys, 1, 25)
	must(t, fsys.Remove(dir+"/"+storage.PartitionDir+"/"+storage.QuorumStateFile))
	r, err := doctor.ExamineConfigured(fsys, []doctor.Config{{File: "c", NodeID: 1, StaticVoters: []kraft.NodeID{1}}}, dir)
	must(t, err)
	if !r.Election.CanElect {
		t.Errorf("%v", r)
	}
	if r, err = doctor.Examine(fsys, dir); err != nil || r.Election.CanElect || !strings.Contains(r.Election.Reason, "not known") {
		t.Errorf("%v %v", r, err)
	}
}
