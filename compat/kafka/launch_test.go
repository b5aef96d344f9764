package kafka

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestParseRelease_TakesWhatCanRun(t *testing.T) {
	for text, ok := range map[string]bool{
		"3.9.1": true, "3.9.2": true, "4.4.0": true, "5.0.0": true,
		"3.9.0": false, "3.8.1": false, "4.4": false, "4.4.0-rc1": false, "": false, "v4.4.0": false, "4.4.99999999999999999999": false,
	} {
		r, err := ParseRelease(text)
		if (err == nil) != ok || ok && r.String() != text {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
}

func TestPom_HasTheLogBindingOfItsRelease(t *testing.T) {
	for release, want := range map[string]string{"3.9.2": "slf4j-reload4j", "4.0.0": "log4j-slf4j-impl", "4.4.0": "log4j-slf4j-impl"} {
		text := pomFor(MustRelease(release))
		if !strings.Contains(text, want) || !strings.Contains(text, "<version>"+release+"</version>") || strings.Contains(text, "RELEASE") || strings.Contains(text, "BINDING") {
			t.Errorf("%s: %s", release, text)
		}
	}
}

// TestLogConfig_IsReadByEverybody: in an image a node runs as another user than who wrote the file.
func TestLogConfig_IsReadByEverybody(t *testing.T) {
	dir := t.TempDir()
	if err := WriteLogConfig(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{log4j1File, log4j2File} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != 0o644 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestProperties_AreSortedAndEscaped(t *testing.T) {
	p := Properties{"b": `C:\x`, "a": "1", "listener.name x": "two\nlines", "c": " led", "d=e": "f=g#h"}
	want := "a=1\nb=C:\\\\x\nc=\\ led\nd\\=e=f=g#h\nlistener.name\\ x=two\\nlines\n"
	if got := p.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProperties_EmptyValueRemoves(t *testing.T) {
	p := Properties{"a": "1", "b": "2"}
	got := p.with(map[string]string{"a": "", "c": "3"}, map[string]string{"c": "4"})
	if want := "b=2\nc=4\n"; got.String() != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if p.String() != "a=1\nb=2\n" {
		t.Error("with changed its receiver")
	}
}

func TestPorts_AreFreeUniqueAndBelowTheEphemeralRange(t *testing.T) {
	first, err := TakePorts(blockPorts + 5) // more than one block
	if err != nil {
		t.Fatal(err)
	}
	second, err := TakePorts(5)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(first, second)
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != blockPorts+10 {
		t.Errorf("a port was given twice: %v", all)
	}
	for _, port := range all {
		if port < firstPort || port >= 32768 {
			t.Errorf("port %d", port)
		}
		l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		l.Close()
	}
}

func TestPorts_TwoAllocatorsNeverMeetAndTakenPortsAreSkipped(t *testing.T) {
	dir := t.TempDir()
	busy := map[int]bool{firstPort + 1: true, firstPort + blockPorts: true}
	free := func(port int) bool { return !busy[port] }
	a := portAllocator{dir: dir, free: free}
	b := portAllocator{dir: dir, free: free} // would take the same block
	fromA, errA := a.take(3)
	fromB, errB := b.take(3)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if want := []int{firstPort, firstPort + 2, firstPort + 3}; !slices.Equal(fromA, want) {
		t.Errorf("first allocator got %v, want %v", fromA, want)
	}
	if want := []int{firstPort + blockPorts + 1, firstPort + blockPorts + 2, firstPort + blockPorts + 3}; !slices.Equal(fromB, want) {
		t.Errorf("second allocator got %v, want %v", fromB, want)
	}
}

func TestPorts_ExhaustedRangeIsAnError(t *testing.T) {
	a := portAllocator{dir: t.TempDir(), free: func(int) bool { return false }}
	if _, err := a.take(1); err == nil {
		t.Error("a port was given although none is free")
	}
}

func TestConfig_RefusesWhatCannotBe(t *testing.T) {
	base := Config{Dir: "d", Release: MustRelease("4.4.0")}
	for name, change := range map[string]func(*Config){
		"no release":               func(c *Config) { c.Release = Release{} },
		"no directory":             func(c *Config) { c.Dir = "" },
		"a list of directories":    func(c *Config) { c.Dir = "d,e" },
		"comma in the directory":   func(c *Config) { c.Dir = "/tmp/a,b" },
		"too many controllers":     func(c *Config) { c.Controllers = 10 },
		"negative brokers":         func(c *Config) { c.Brokers = -1 },
		"release of a stranger":    func(c *Config) { c.Releases = map[kraft.NodeID]Release{7: c.Release} },
		"properties of a stranger": func(c *Config) { c.NodeProperties = map[kraft.NodeID]map[string]string{10: {}} },
	} {
		c := base
		change(&c)
		if _, err := c.withDefaults(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestConfig_MixedReleasesFormatForTheOldest(t *testing.T) {
	c, err := Config{Dir: "d", Release: MustRelease("4.4.0"), Releases: map[kraft.NodeID]Release{2: MustRelease("4.0.2"), 3: MustRelease("4.2.1")}}.withDefaults()
	if err != nil || c.MetadataVersion != "4.0-IV3" {
		t.Errorf("metadata.version %q, %v", c.MetadataVersion, err)
	}
}

func TestPlan_ProxiedQuorumAdvertisesOnlyProxyPorts(t *testing.T) {
	for _, voters := range []Voters{Static, Dynamic, Standalone} {
		c, err := Config{Dir: t.TempDir(), Release: MustRelease("4.4.0"), Voters: voters, Brokers: 1, Proxied: true}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := plan(c)
		if err != nil {
			t.Fatalf("%s: %v", voters, err)
		}
		for _, n := range nodes {
			for _, other := range nodes {
				if !other.Controller {
					continue
				}
				for key, value := range n.Properties {
					if key != "listeners" && strings.Contains(value, other.Listener) {
						t.Errorf("%s: node %s has the real port of %s in %s=%s", voters, n.ID, other.ID, key, value)
					}
				}
			}
		}
	}
}

// TestPlan_RefusesWhatLeaksAroundTheProxy has each way in which traffic was seen to go around a proxy.
func TestPlan_RefusesWhatLeaksAroundTheProxy(t *testing.T) {
	for _, c := range []struct {
		name   string
		voters Voters
		key    string
		value  func(nodes []Node) string
	}{
		{"static, advertised unset", Static, "advertised.listeners", func([]Node) string { return "" }},
		{"dynamic, advertised unset", Dynamic, "advertised.listeners", func([]Node) string { return "" }},
		{"advertised is the real port", Dynamic, "advertised.listeners", func(n []Node) string { return "CONTROLLER://" + n[0].Listener }},
		{"advertised is another node's proxy", Dynamic, "advertised.listeners", func(n []Node) string { return "CONTROLLER://" + n[1].Advertised }},
		{"voters name a real port", Static, "controller.quorum.voters", func(n []Node) string { return "1@" + n[0].Listener }},
		{"voters swap two proxies", Static, "controller.quorum.voters", func(n []Node) string { return "1@" + n[1].Advertised }},
		{"bootstrap names a real port", Dynamic, "controller.quorum.bootstrap.servers", func(n []Node) string { return n[0].Advertised + "," + n[1].Listener }},
		{"bootstrap of a static quorum names a real port", Static, "controller.quorum.bootstrap.servers", func(n []Node) string { return n[1].Listener }},
		{"a second controller listener", Static, "controller.listener.names", func([]Node) string { return "CONTROLLER,OTHER" }},
		{"no way to the quorum", Dynamic, "controller.quorum.bootstrap.servers", func([]Node) string { return "" }},
	} {
		cfg, err := Config{Dir: t.TempDir(), Release: MustRelease("4.4.0"), Voters: c.voters, Proxied: true}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := plan(cfg)
		if err != nil {
			t.Fatal(err)
		}
		n := nodes[0]
		n.Properties = n.Properties.with(map[string]string{c.key: c.value(nodes)})
		if err := refuseBypass(nodes, n); err == nil {
			t.Errorf("%s: accepted", c.name)
		}
	}
}

func TestPlan_ExtraPropertiesCannotLeak(t *testing.T) {
	cfg, err := Config{Dir: t.TempDir(), Release: MustRelease("4.4.0"), Proxied: true, Properties: map[string]string{"advertised.listeners": ""}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan(cfg); err == nil || !strings.Contains(err.Error(), "advertised.listeners") {
		t.Errorf("got %v", err)
	}
}

func TestHome_ReadsTheReleaseAndRefusesAnother(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "libs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readHome(home); err == nil {
		t.Error("a home without jars was accepted")
	}
	for _, name := range []string{"kafka_2.13-4.1.2.jar", "kafka-clients-4.1.2.jar"} {
		if err := os.WriteFile(filepath.Join(home, "libs", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	release, files, err := readHome(home)
	if err != nil || release != MustRelease("4.1.2") || len(files) != 2 {
		t.Errorf("%v, %v, %v", release, files, err)
	}
	if _, err := Home(home, nil)(t.Context(), MustRelease("4.4.0")); err == nil || !strings.Contains(err.Error(), "4.1.2") {
		t.Errorf("a home of 4.1.2 passed for 4.4.0: %v", err)
	}
}

func TestSources_MissingToolSaysHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if _, err := Maven(nil)(t.Context(), MustRelease("4.4.0")); err == nil || !strings.Contains(err.Error(), "apt-get install -y --no-install-recommends maven") {
		t.Errorf("without mvn: %v", err)
	}
	if _, err := findJava(t.Context()); err == nil || !strings.Contains(err.Error(), "apt-get install -y --no-install-recommends default-jdk-headless") {
		t.Errorf("without java: %v", err)
	}
}

func TestDirectoryID_IsReadBackFromMetaProperties(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	id := newDirectoryID()
	if err := writeMeta(dir, newClusterID(), 3, id); err != nil {
		t.Fatal(err)
	}
	got, err := readDirectoryID(dir)
	if err != nil || got != id {
		t.Errorf("got %s, %v, want %s", got, err, id)
	}
}

func TestParseDescription_StaticAndDynamic(t *testing.T) {
	const dynamic = `ClusterId:              TXF4XRjuRNetQb9gT4jDvg
LeaderId:               1
LeaderEpoch:            3
HighWatermark:          48
MaxFollowerLag:         0
MaxFollowerLagTimeMs:   0
CurrentVoters:          [{"id": 1, "directoryId": "Twc06sHLTz6wExlbNNiwGA", "endpoints": ["CONTROLLER://127.0.0.1:19091"]}]
CurrentObservers:       [{"id": 10, "directoryId": "9AiLyPbODx8rFN-FCwo4iw"}]
`
	d, err := parseDescription(dynamic)
	if err != nil || d.Leader != 1 || d.Epoch != 3 || d.HighWatermark != 48 || len(d.Voters) != 1 || len(d.Observers) != 1 ||
		d.Voters[0].Key.String() != "1/Twc06sHLTz6wExlbNNiwGA" || d.Voters[0].Endpoints[0] != "CONTROLLER://127.0.0.1:19091" {
		t.Errorf("%+v, %v", d, err)
	}
	static := strings.NewReplacer(`"directoryId": "Twc06sHLTz6wExlbNNiwGA"`, `"directoryId": null`).Replace(dynamic)
	if d, err = parseDescription(static); err != nil || !d.Voters[0].Key.DirectoryID.IsZero() {
		t.Errorf("%+v, %v", d, err)
	}
	for _, bad := range []string{"", "LeaderId: 1\n", strings.Replace(dynamic, "LeaderId:               1", "LeaderId: one", 1), strings.Replace(dynamic, "[{", "{", 1)} {
		if _, err := parseDescription(bad); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func TestOpenLog_StartsAFreshLineAfterAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.log")
	if err := os.WriteFile(path, []byte("whole\nhal"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to end
		f, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if text, _ := os.ReadFile(path); string(text) != "whole\nhal\n" {
		t.Errorf("got %q", text)
	}
}
