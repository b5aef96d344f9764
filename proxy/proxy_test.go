package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/recordings"
)

func TestProxy_StopsWhenOpenRequestsAreAnswered(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.DrainTimeout = patience })
	busy, idle := p.dial(1), p.dial(1)
	first := up.accept()
	second := up.accept()
	send(t, idle, request(18, 0, 1, "x", ""))
	send(t, busy, request(1, 17, 1, "x", "a Fetch that waits"))
	a, b := readFrame(t, first), readFrame(t, second)
	waiting, other := first, second
	if len(a) < len(b) {
		waiting, other = second, first
	}
	send(t, other, response(1, "answered"))
	readFrame(t, idle)
	p.stop()
	if got, err := io.ReadAll(idle); err != nil || len(got) > 0 {
		t.Errorf("the idle connection ends with %d bytes, %v", len(got), err)
	}
	if _, err := net.DialTimeout("tcp", p.Addr(1), time.Second); err == nil {
		t.Error("a stopping proxy accepts")
	}
	send(t, waiting, response(1, "at last"))
	readFrame(t, busy)
	if got, err := io.ReadAll(busy); err != nil || len(got) > 0 {
		t.Errorf("the busy connection ends with %d bytes, %v", len(got), err)
	}
	p.end()
	if n := len(p.sink.kinds(recordings.KindFrame)); n != 4 {
		t.Errorf("%d frames recorded, want 4", n)
	}
}

func TestProxy_StopsAtTheDeadlineThoughARequestIsOpen(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.DrainTimeout = 20 * time.Millisecond })
	client := p.dial(1)
	server := up.accept()
	send(t, client, request(1, 17, 1, "x", "never answered"))
	readFrame(t, server)
	p.end()
	if !strings.Contains(p.logs.String(), "before it came to rest") {
		t.Errorf("log: %s", p.logs)
	}
	if n := len(p.sink.kinds(recordings.KindClose)); n != 1 {
		t.Errorf("%d closes", n)
	}
}

func TestProxy_PortInUseNamesNodeAndAddress(t *testing.T) {
	taken := newServer(t)
	_, err := New(Config{Upstreams: []Upstream{
		{Node: 1, Address: "127.0.0.1:1", Listen: "127.0.0.1:0"},
		{Node: 2, Address: "127.0.0.1:1", Listen: taken.addr()},
	}})
	if err == nil || !strings.Contains(err.Error(), "node 2") || !strings.Contains(err.Error(), taken.addr()) || errors.Is(err, ErrConfig) {
		t.Errorf("error %v", err)
	}
}

func TestProxy_CanBeGivenUpBeforeItRuns(t *testing.T) {
	p, err := New(Config{Upstreams: []Upstream{{Node: 1, Address: "127.0.0.1:1", Listen: "127.0.0.1:0"}}})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
}

func TestConfig_RefusesWhatCannotWork(t *testing.T) {
	ok := Upstream{Node: 1, Address: "h:1", Listen: "l:1"}
	for _, test := range []struct {
		name    string
		list    []Upstream
		problem string
	}{
		{"none", nil, "no upstream"},
		{"twice the same node", []Upstream{ok, {Node: 1, Address: "h:2", Listen: "l:2"}}, "node 1 has two"},
		{"twice the same listener", []Upstream{ok, {Node: 2, Address: "h:2", Listen: "l:1"}}, "listen on l:1"},
		{"itself", []Upstream{{Node: 1, Address: "h:1", Listen: "h:1"}}, "same address"},
		{"no host", []Upstream{{Node: 1, Address: ":1", Listen: "l:1"}}, "host is missing"},
		{"no port", []Upstream{{Node: 1, Address: "h", Listen: "l:1"}}, "missing port"},
		{"port 0", []Upstream{{Node: 1, Address: "h:0", Listen: "l:1"}}, "no port to dial"},
		{"negative node", []Upstream{{Node: -1, Address: "h:1", Listen: "l:1"}}, "node id -1"},
		{"large port", []Upstream{{Node: 1, Address: "h:70000", Listen: "l:1"}}, "65535"},
	} {
		_, err := New(Config{Upstreams: test.list})
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestParseUpstream_ReadsTheFlag(t *testing.T) {
	for text, want := range map[string]Upstream{
		"1=127.0.0.1:19093=127.0.0.1:9093": {1, "127.0.0.1:19093", "127.0.0.1:9093"},
		"3=c3.example:9093=9093":           {3, "c3.example:9093", ":9093"},
		"2=[::1]:9=[::]:10":                {2, "[::1]:9", "[::]:10"},
	} {
		if got, err := ParseUpstream(text); err != nil || got != want {
			t.Errorf("%q = %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "1=h:1", "x=h:1=l:1", "1=h=l:1", "1=h:1=l", "-1=h:1=l:1", "1=h:1=l:1=x", "1=h:x=l:1"} {
		if got, err := ParseUpstream(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q = %+v, %v", text, got, err)
		}
	}
}

func TestReadFile_ReadsUpstreamsAndRules(t *testing.T) {
	name := filepath.Join(t.TempDir(), "quorum.yaml")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`upstreams:
  - {node: 1, address: "h:1", listen: "l:1"}
  - node: 0
    address: h:2
    listen: "9093"
dial-from: 127.0.0.9
faults:
  - drop Vote from 3 to 1 nth 2
`)
	f, err := ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Upstreams) != 2 || f.Upstreams[1] != (Upstream{0, "h:2", ":9093"}) || f.DialFrom.String() != "127.0.0.9" || len(f.Faults) != 1 {
		t.Errorf("read %+v", f)
	}
	for text, problem := range map[string]string{
		"upstreams: [{address: 'h:1', listen: 'l:1'}]":        "node is missing",
		"upstreams: [{node: 1, address: 'h', listen: 'l:1'}]": "upstream 1",
		"upstream: []":                   `line 1: no key is named "upstream"; there are upstreams, dial-from and faults`,
		"upstreams: [{nod: 1}]":          `line 1: no key is named "nod"; there are node, address and listen`,
		"upstreams: [{node: one}]":       "line 1: `one` is of another kind: want a number",
		"faults: drop Vote":              "of another kind: want a list",
		"upstreams: [1]":                 "of another kind: want keys with values",
		"upstreams: 7":                   "line 1",
		"faults: [drop Vtoe]":            "Vtoe",
		"dial-from: nowhere":             "dial-from",
		"faults: []\n---\nupstreams: []": "more than one",
		strings.Repeat("#", 1<<20) + "#": "larger than",
	} {
		write(text)
		if _, err := ReadFile(name); err == nil || !strings.Contains(err.Error(), problem) || !strings.Contains(err.Error(), name) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if _, err := ReadFile(name + ".missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}
