package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

const formatCluster = "TkdhMa2VkDnuKa28Zx6ajw"

const formatVoters = "1@127.0.0.1:29511:Ed0_z6eWSMito5mSxIgznw,2@127.0.0.1:29512:RQYBEBfCQBe3zVVL1v9Sbg"

// formatNode writes a property file and returns its path and the data directory that it names.
func formatNode(t *testing.T, lines ...string) (config, data string) {
	t.Helper()
	dir := t.TempDir()
	config, data = filepath.Join(dir, "node.properties"), filepath.Join(dir, "data")
	text := "process.roles=controller\nnode.id=1\nlisteners=CONTROLLER://127.0.0.1:29511\ncontroller.listener.names=CONTROLLER\nlog.dirs=" + data + "\n" +
		strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config, data
}

func runFormat(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), append([]string{"format"}, args...), nil, &out, &errs)
	return code, out.String(), errs.String()
}

// volatile is what differs from one run to the next.
var volatile = regexp.MustCompile(`CreateTime: \d+|crc: \d+|"lastContainedLogTimestamp":[1-9]\d*|directory.id \S+|"voterDirectoryId":"[^"]+"|\S*/data/`)

const (
	scramAlice  = `SCRAM-SHA-256=[name=alice,salt="MWx2NHBkbnc0ZndxN25vdGN4bTB5Y3E=",iterations=8192,password=alice-secret]`
	scramBob    = `SCRAM-SHA-512=[name=bob,salt=MWx2NHBkbnc0ZndxN25vdGN4bTB5Y3E=,password="bob secret"]`
	scramSalted = `SCRAM-SHA-256=[name=alice,saltedpassword="mT0yyUUxnlJaC99HXgRTSYlbuqa4FSGtJCJfTMvjYCE=",salt="MWx2NHBkbnc0ZndxN25vdGN4bTB5Y3E="]`
)

// TestFormat_WritesWhatKafkaWrites compares with what kafka-storage of 4.4.0 and 4.0.2 wrote for the same command lines.
func TestFormat_WritesWhatKafkaWrites(t *testing.T) {
	const static, dynamic = "controller.quorum.voters=1@127.0.0.1:29511", "controller.quorum.bootstrap.servers=127.0.0.1:29511"
	for _, tt := range []struct {
		name  string
		lines string
		args  []string
	}{
		{"4.4.0-static", static, nil},
		{"4.4.0-standalone", dynamic, []string{"--standalone"}},
		{"4.4.0-initial", dynamic, []string{"-I", formatVoters}},
		{"4.4.0-none", dynamic, []string{"-N"}},
		{"4.0.2-static", static, []string{"-r", "4.0-IV3"}},
		{"4.0.2-standalone", dynamic, []string{"-s", "-r", "4.0-IV3"}},
		{"4.0.2-initial", dynamic, []string{"--initial-controllers", formatVoters, "-r", "4.0"}},
		{"4.0.2-none", dynamic, []string{"--no-initial-controllers", "-r", "4.0.2"}},
		{"4.4.0-scram", dynamic, []string{"-s", "-S", scramAlice, "-S", scramBob, "-S", scramSalted}},
		{"4.0.2-scram", dynamic, []string{"-s", "--add-scram", scramAlice, "--add-scram", scramBob, "--add-scram", scramSalted, "-r", "4.0-IV3"}},
		{"4.4.0-broker", "process.roles=broker\nnode.id=10\n" + dynamic, nil},
		{"4.0.2-broker", "process.roles=broker\nnode.id=10\n" + dynamic, []string{"-r", "4.0-IV3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config, data := formatNode(t, tt.lines)
			code, out, errs := runFormat(t, append([]string{"-c", config, "-t", formatCluster}, tt.args...)...)
			if code != exitFine || errs != "" || !strings.Contains(out, "Formatted "+data) {
				t.Fatalf("exit %d, %q %q", code, out, errs)
			}
			_, got, errs := runDump(t, nil, "--secrets", data)
			got = volatile.ReplaceAllString(got, "~")
			want, err := os.ReadFile(filepath.Join("testdata/format", tt.name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			if errs != "" || got != string(want) {
				t.Errorf("%s\nours:\n%s\nKafka's:\n%s", errs, got, want)
			}
			if strings.Contains(tt.name, "initial") {
				if m, err := storage.ReadMeta(storage.OS(), data); err != nil || m.DirectoryID.String() != "Ed0_z6eWSMito5mSxIgznw" {
					t.Errorf("%+v %v", m, err)
				}
			}
		})
	}
}

func TestFormat_StandaloneVoterIsThisDirectory(t *testing.T) {
	config, data := formatNode(t, "advertised.listeners=CONTROLLER://:9999")
	if code, _, errs := runFormat(t, "-c", config, "-t", formatCluster, "--standalone"); code != exitFine {
		t.Fatal(errs)
	}
	m, err := storage.ReadMeta(storage.OS(), data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := storage.ReadSnapshotContents(storage.OS(), filepath.Join(data, storage.PartitionDir, "00000000000000000000-0000000000.checkpoint"))
	if err != nil || !c.HasVoters || c.KRaftVersion != 1 || c.Voters.Len() != 1 {
		t.Fatalf("%+v %v", c, err)
	}
	v := c.Voters.At(0)
	if address, ok := v.Endpoints.Address("CONTROLLER"); v.Key.ID != 1 || v.Key.DirectoryID != m.DirectoryID || !ok || address.String() != "localhost:9999" {
		t.Errorf("%v, directory %v", v, m.DirectoryID)
	}
}

func TestFormat_SeveralDirectories(t *testing.T) {
	config, data := formatNode(t)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	more := filepath.Join(t.TempDir(), "more")
	text = append(text, "log.dirs="+more+","+data+"\nmetadata.log.dir="+data+"\n"...)
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-c", config, "-t", formatCluster, "-s"}
	if code, _, errs := runFormat(t, args...); code != exitFine {
		t.Fatal(errs)
	}
	a, err1 := storage.ReadMeta(storage.OS(), data)
	b, err2 := storage.ReadMeta(storage.OS(), more)
	if err1 != nil || err2 != nil || a.DirectoryID == b.DirectoryID || a.ClusterID != b.ClusterID {
		t.Errorf("%+v %v, %+v %v", a, err1, b, err2)
	}
	if _, err := os.Stat(filepath.Join(more, storage.PartitionDir)); !os.IsNotExist(err) {
		t.Errorf("a directory that is not for metadata has some: %v", err)
	}
	if code, _, errs := runFormat(t, args...); code != exitUsage || !strings.Contains(errs, "already formatted: use --ignore-formatted") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if code, out, errs := runFormat(t, append(args, "-g")...); code != exitFine || out != "All of the log directories are already formatted.\n" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if err := os.RemoveAll(more); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runFormat(t, append(args, "-g")...); code != exitFine || !strings.Contains(out, more) || strings.Contains(out, data) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if again, err := storage.ReadMeta(storage.OS(), data); err != nil || again != a {
		t.Errorf("the formatted directory has changed: %+v %v", again, err)
	}
}

func TestFormat_RefusesAsKafkaDoes(t *testing.T) {
	const static = "controller.quorum.voters=1@127.0.0.1:29511"
	for _, tt := range []struct {
		name  string
		lines []string
		args  []string
		says  string
	}{
		{"no mode", nil, nil, "one of --standalone, --initial-controllers and --no-initial-controllers must be given"},
		{"static and standalone", []string{static}, []string{"-s"}, "makes a static quorum"},
		{"static and initial", []string{static}, []string{"-I", formatVoters}, "makes a static quorum"},
		{"two modes", nil, []string{"-s", "-N"}, "standalone"},
		{"standalone broker", []string{"process.roles=broker"}, []string{"-s"}, "--standalone is for controllers"},
		{"kraft.version 1 static", []string{static}, []string{"-f", "kraft.version=1"}, "makes a static quorum: remove it"},
		{"kraft.version 0 dynamic", nil, []string{"-s", "-f", "kraft.version=0"}, "leave the flag out"},
		{"unknown feature", nil, []string{"-s", "-f", "nosuch=1"}, "known are eligible.leader.replicas.version, group.version, kraft.version"},
		{"level too high", nil, []string{"-s", "-f", "group.version=7"}, "from 0 to 1"},
		{"feature without level", nil, []string{"-s", "-f", "group.version"}, "want NAME=LEVEL"},
		{"feature twice", nil, []string{"-s", "-f", "group.version=1", "-f", "group.version=0"}, "given twice"},
		{"metadata.version as feature", nil, []string{"-s", "-f", "metadata.version=25"}, "give --release-version"},
		{"scram without list", nil, []string{"-s", "-S", "SCRAM-SHA-256"}, "number 1: want [ and ]"},
		{"scram mechanism", nil, []string{"-s", "-S", scramBob, "-S", "SCRAM-SHA-1=[name=a,password=hush]"}, `number 2: mechanism "SCRAM-SHA-1"`},
		{"scram without name", nil, []string{"-s", "-S", "SCRAM-SHA-256=[password=hush]"}, "name is missing"},
		{"scram without password", nil, []string{"-s", "-S", "SCRAM-SHA-256=[name=a]"}, "one of password and saltedpassword"},
		{"scram with both", nil, []string{"-s", "-S", "SCRAM-SHA-256=[name=a,salt=YQ==,password=hush,saltedpassword=YQ==]"}, "one of password and saltedpassword"},
		{"scram without salt", nil, []string{"-s", "-S", "SCRAM-SHA-256=[name=a,saltedpassword=YQ==]"}, "needs the salt"},
		{"scram salt", nil, []string{"-s", "-S", "SCRAM-SHA-256=[name=a,salt=*,password=hush]"}, "salt is no base64"},
		{"scram few iterations", nil, []string{"-s", "-S", "SCRAM-SHA-256=[name=a,iterations=100,password=hush]"}, "from 4096 to 16384"},
		{"scram many iterations", nil, []string{"-s", "-S", "SCRAM-SHA-256=[name=a,iterations=20000,password=hush]"}, "from 4096 to 16384"},
		{"scram property", nil, []string{"-s", "-S", "SCRAM-SHA-256=[name=a,password=hush,what=3]"}, "unknown property 3"},
		{"scram property without value", nil, []string{"-s", "-S", "SCRAM-SHA-256=[name=a,hush]"}, "property 2 has no equals sign"},
		{"scram twice", nil, []string{"-s", "-S", "SCRAM-SHA-256=[name=a,name=b,password=hush]"}, "name is given twice"},
		{"scram in an old release", []string{static}, []string{"-r", "3.4", "-S", scramAlice}, "3.5-IV2 or newer"},
		{"unknown release", nil, []string{"-s", "-r", "9.9-IV0"}, `"9.9-IV0" is not known`},
		{"dynamic in an old release", nil, []string{"-s", "-r", "3.8"}, "needs 3.9-IV0 or newer"},
		{"voter without directory", nil, []string{"-I", "1@h:1"}, "22 characters"},
		{"voter with a bad directory", nil, []string{"-I", "1@h:1:x"}, "22 characters"},
		{"voter with a bad port", nil, []string{"-I", "1@h:99999:Ed0_z6eWSMito5mSxIgznw"}, "99999"},
		{"voter twice", nil, []string{"-I", formatVoters + ",1@h:1:OG2ZrPYLRdCxfu-zYrkmow"}, "the same id"},
		{"no node id", []string{"node.id="}, []string{"-s"}, "node.id"},
		{"no roles", []string{"process.roles="}, []string{"-s"}, "process.roles"},
		{"no such role", []string{"process.roles=leader"}, []string{"-s"}, `"leader"`},
		{"no listener", []string{"controller.listener.names=OTHER"}, []string{"-s"}, "OTHER"},
		{"bad listener", []string{"listeners=CONTROLLER://h"}, []string{"-s"}, "want LISTENER://HOST:PORT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config, data := formatNode(t, tt.lines...)
			code, out, errs := runFormat(t, append([]string{"-c", config, "-t", formatCluster}, tt.args...)...)
			if code != exitUsage && code != exitRuntime || out != "" || !strings.Contains(errs, tt.says) {
				t.Errorf("exit %d: %s%s", code, out, errs)
			}
			if _, err := os.Stat(data); !os.IsNotExist(err) {
				t.Errorf("something was written: %v", err)
			}
			if strings.Contains(errs, "hush") || strings.Contains(errs, "secret") {
				t.Errorf("a password is printed: %s", errs)
			}
		})
	}
}

func TestFormat_LeavesForeignDirectoriesAlone(t *testing.T) {
	config, data := formatNode(t)
	if code, _, errs := runFormat(t, "-c", config, "-t", "another", "-s"); code != exitFine {
		t.Fatal(errs)
	}
	if code, _, errs := runFormat(t, "-c", config, "-t", formatCluster, "-s", "-g"); code != exitUsage || !strings.Contains(errs, "node 1 of cluster another, not to node 1 of cluster "+formatCluster) {
		t.Errorf("exit %d: %s", code, errs)
	}
	partition := filepath.Join(data, storage.PartitionDir)
	if err := os.WriteFile(filepath.Join(partition, "00000000000000000000.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(data, storage.MetaFile)); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runFormat(t, "-c", config, "-t", formatCluster, "-s"); code != exitUsage || !strings.Contains(errs, "has a metadata log but no meta.properties") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestFormat_DefaultLevelsAreThoseOfKafka(t *testing.T) {
	for version, want := range map[string]string{ // kafka-storage version-mapping of 4.4.0
		"3.3-IV3": "7: 0 0 0 0 0 0", "3.9-IV0": "21: 0 0 1 0 0 0", "4.0-IV0": "22: 0 1 1 0 0 0", "4.0-IV2": "24: 0 1 1 0 0 2", "4.1-IV1": "27: 1 1 1 0 0 2",
		"4.2-IV0": "28: 1 1 1 1 0 2", "4.2-IV1": "29: 1 1 1 1 1 2", "4.3-IV0": "30: 1 1 1 1 1 2", "4.4-IV0": "31: 1 1 1 2 1 2", "4.4-IV2": "33: 1 1 1 2 1 2",
	} {
		v, err := compat.ParseMetadataVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		got := itoa(v.Level) + ":"
		for _, f := range compat.Features() {
			got += " " + itoa(f.DefaultLevel(v.Level))
		}
		if got != want {
			t.Errorf("%s is %s, want %s", version, got, want)
		}
	}
}

func itoa(n int16) string { return strconv.Itoa(int(n)) }

// A salt that is not given is drawn: 130 bits as text, another one each time.
func TestFormat_DrawsTheSalt(t *testing.T) {
	seen := map[string]bool{}
	for range 20 {
		c, err := parseScram("SCRAM-SHA-512=[name=a,password=b]")
		if err != nil || len(c.Salt) < 20 || len(c.Salt) > 26 || c.Iterations != 4096 || seen[string(c.Salt)] {
			t.Fatalf("%+v %v", c, err)
		}
		seen[string(c.Salt)] = true
	}
}
