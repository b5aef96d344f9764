package storage_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

func TestMeta_RoundTrip(t *testing.T) {
	fsys := memory()
	must(t, fsys.MkdirAll("data", 0))
	dir, err := kraft.ParseDirectoryID("Ed0_z6eWSMito5mSxIgznw")
	must(t, err)
	for _, cluster := range []string{"TkdhMa2VkDnuKa28Zx6ajw", "a strange: one=#!\\", " blank first"} {
		want := storage.Meta{Version: 1, ClusterID: cluster, NodeID: 7, DirectoryID: dir}
		must(t, storage.WriteMeta(fsys, "data", want, time.Unix(1796037112, 0)))
		if got, err := storage.ReadMeta(fsys, "data"); err != nil || got != want {
			t.Errorf("%+v %v, want %+v", got, err, want)
		}
	}
	must(t, storage.WriteMeta(fsys, "data", storage.Meta{ClusterID: "TkdhMa2VkDnuKa28Zx6ajw", NodeID: 1, DirectoryID: dir}, time.Unix(1796037112, 0)))
	want := "#\n#Mon Nov 30 11:11:52 UTC 2026\nnode.id=1\ndirectory.id=Ed0_z6eWSMito5mSxIgznw\nversion=1\ncluster.id=TkdhMa2VkDnuKa28Zx6ajw\n"
	if got := string(fsys.Files()["data/meta.properties"]); got != want {
		t.Errorf("%q, Kafka writes %q", got, want)
	}
}

func TestProperties_AsJavaReadsThem(t *testing.T) {
	got, err := storage.ParseProperties("# comment\n! another\n\n a = 1\nb:2\nc 3\nd\\=e=4\nlong=one,\\\n   two\nu=\\u0041\\n\ncr=x\r\nempty=\nlast=\\\\\na=5")
	must(t, err)
	for key, want := range map[string]string{"a": "5", "b": "2", "c": "3", "d=e": "4", "long": "one,two", "u": "A\n", "cr": "x", "empty": "", "last": `\`} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	if _, err := storage.ParseProperties("a=1\nb=\\u00"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
}

func TestDirectory_RefusesWhatIsNotTheNodes(t *testing.T) {
	const good = "version=1\ncluster.id=A\nnode.id=1\ndirectory.id=Ed0_z6eWSMito5mSxIgznw\n"
	for _, tt := range []struct {
		name, text string
		want       storage.Identity
		kind       error
		says       string
	}{
		{"fine", good, storage.Identity{NodeID: 1, ClusterID: "A"}, nil, ""},
		{"any cluster", good, storage.Identity{NodeID: 1}, nil, ""},
		{"another cluster", good, storage.Identity{NodeID: 1, ClusterID: "B"}, storage.ErrIdentity, "belongs to cluster A, this one is B"},
		{"another node", good, storage.Identity{NodeID: 2}, storage.ErrIdentity, "that of node 1, the configuration says 2"},
		{"not formatted", "", storage.Identity{NodeID: 1}, storage.ErrNotFormatted, "understudy format"},
		{"newer", "version=2\nnode.id=1\n", storage.Identity{NodeID: 1}, storage.ErrVersion, "version 2"},
		{"older", "version=0\nbroker.id=1\n", storage.Identity{NodeID: 1}, storage.ErrVersion, "version 0"},
		{"no node", "version=1\ncluster.id=A\n", storage.Identity{NodeID: 1}, storage.ErrCorrupt, "no node.id"},
		{"no cluster", "version=1\nnode.id=1\n", storage.Identity{NodeID: 1}, storage.ErrCorrupt, "no cluster.id"},
		{"bad directory id", good + "directory.id=x\n", storage.Identity{NodeID: 1}, storage.ErrCorrupt, "22 characters"},
		{"bad node", good + "node.id=-3\n", storage.Identity{NodeID: 1}, storage.ErrCorrupt, "-3"},
	} {
		fsys := memory()
		must(t, fsys.MkdirAll("data", 0))
		if tt.text != "" {
			fsys.Put("data/meta.properties", []byte(tt.text))
		}
		d, err := storage.OpenDirectory(fsys, "data", tt.want)
		if !errors.Is(err, tt.kind) || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if err == nil {
			must(t, d.Close())
		} else if !strings.Contains(err.Error(), "data/meta.properties") {
			t.Errorf("%s: %v names no file", tt.name, err)
		}
	}
}

func TestDirectory_IsOpenedOnce(t *testing.T) {
	dir := t.TempDir()
	must(t, storage.WriteMeta(storage.OS(), dir, storage.Meta{ClusterID: "A", NodeID: 1}, time.Now()))
	first, err := storage.OpenDirectory(storage.OS(), dir, storage.Identity{NodeID: 1})
	must(t, err)
	if _, err := storage.OpenDirectory(storage.OS(), dir, storage.Identity{NodeID: 1}); !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), "stop the other process") {
		t.Errorf("%v", err)
	}
	must(t, first.Close())
	second, err := storage.OpenDirectory(storage.OS(), dir, storage.Identity{NodeID: 1})
	must(t, err, second.Close())
}

func TestQuorumState_TextsOfKafka(t *testing.T) {
	fsys := memory()
	must(t, fsys.MkdirAll("d", 0))
	for _, text := range []string{
		`{"clusterId":"","leaderId":1,"leaderEpoch":5,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}`,
		`{"clusterId":"","leaderId":-1,"leaderEpoch":0,"votedId":-1,"appliedOffset":0,"currentVoters":[],"data_version":0}`,
		`{"leaderId":1,"leaderEpoch":5,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`,
		`{"leaderId":-1,"leaderEpoch":7,"votedId":3,"votedDirectoryId":"Ed0_z6eWSMito5mSxIgznw","data_version":1}`,
	} {
		fsys.Put("d/quorum-state", []byte(text+"\nsecond line"))
		s, ok, err := storage.ReadQuorumState(fsys, "d")
		if got := string(storage.AppendQuorumState(nil, s)); err != nil || !ok || got != text {
			t.Errorf("%s, want %s (%v)", got, text, err)
		}
	}
	if _, ok, err := storage.ReadQuorumState(memory(), "d"); ok || err != nil {
		t.Errorf("no file: %t %v", ok, err)
	}
	for _, text := range []string{
		"", "{}", "null", `{"leaderId":1,"leaderEpoch":5,"votedId":-1,"data_version":1}`, `{"leaderId":1,"leaderEpoch":5,"votedId":-1,"data_version":0}`,
		`{"clusterId":"","leaderId":1,"leaderEpoch":5,"votedId":-1,"appliedOffset":0,"currentVoters":[{}],"data_version":0}`,
		`{"leaderId":1,"leaderEpoch":5,"votedId":-1,"votedDirectoryId":"x","data_version":1}`,
		`{"leaderId":1,"leaderEpoch":99999999999,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`,
	} {
		fsys.Put("d/quorum-state", []byte(text))
		if _, _, err := storage.ReadQuorumState(fsys, "d"); !errors.Is(err, storage.ErrCorrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSnapshotName_RoundTrip(t *testing.T) {
	id := kraft.SnapshotID{Offset: 7228, Epoch: 3}
	if got := storage.SnapshotName(id); got != "00000000000000007228-0000000003.checkpoint" {
		t.Error(got)
	}
	if got, ok := storage.ParseSnapshotName(storage.SnapshotName(id)); !ok || got != id {
		t.Errorf("%v %t", got, ok)
	}
	for _, name := range []string{"bootstrap.checkpoint", "00000000000000007228-0000000003.checkpoint.part", "00000000000000007228-000000003.checkpoint", "0000000000000000722x-0000000003.checkpoint"} {
		if _, ok := storage.ParseSnapshotName(name); ok {
			t.Errorf("%s is taken for a snapshot", name)
		}
	}
}
