package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// conformCommand runs `understudy conform` with the arguments.
func conformCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"conform"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestConform_ListsAndExplainsItsCases(t *testing.T) {
	code, list, _ := conformCommand(t, "--list", "--release", "4.0.0")
	if code != exitFine || strings.Count(list, "\n") < 200 || !strings.Contains(list, "vote/v2/prevote-does-not-change-state") || strings.Contains(list, "fetch/v18/") {
		t.Errorf("exit code %d, %d cases of 4.0.0", code, strings.Count(list, "\n"))
	}
	code, text, _ := conformCommand(t, "--explain", "vote/v2/prevote-does-not-change-state")
	for _, want := range []string{"KIP-996", "MUST", "p.preVote=true", "p.voteGranted=false"} {
		if code != exitFine || !strings.Contains(text, want) {
			t.Errorf("exit code %d; the explanation lacks %q:\n%s", code, want, text)
		}
	}
}

func TestConform_ExplainsScenarios(t *testing.T) {
	code, text, _ := conformCommand(t, "--explain", "durability/vote-survives")
	if code != exitFine || !strings.Contains(text, "grant, restart, ask again") || !strings.Contains(text, "needs   --own-quorum") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

// TestConform_ExplainsEveryCase lists all cases as JSON and asks what each one does.
func TestConform_ExplainsEveryCase(t *testing.T) {
	code, list, _ := conformCommand(t, "--list", "-o", "json")
	var cases []listedCase
	if err := json.Unmarshal([]byte(list), &cases); code != exitFine || err != nil || len(cases) < 700 {
		t.Fatalf("exit code %d, %d cases: %v", code, len(cases), err)
	}
	modes := map[string]int{}
	for _, c := range cases {
		modes[c.Mode]++
		var b strings.Builder
		if err := explainCase(&b, &conformFlags{explain: c.ID}); err != nil || !strings.Contains(b.String(), c.Says) || !strings.Contains(b.String(), c.Source) {
			t.Errorf("%s: %v\n%s", c.ID, err, b.String())
		}
		if text := b.String(); !strings.Contains(text, "  does ") && !strings.Contains(text, "  ask ") {
			t.Errorf("%s does not say what it does:\n%s", c.ID, text)
		}
	}
	for _, mode := range []string{"alone", "--own-quorum", "--hostile", "--hostile=killers"} {
		if modes[mode] == 0 {
			t.Errorf("no case belongs to %s: %v", mode, modes)
		}
	}
}

// serving says the same to everyone who has said something, and ends the connection.
func serving(t *testing.T, text string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1024))
			_, _ = conn.Write([]byte(text))
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// vacant is an address at which nobody listens.
func vacant(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	return l.Addr().String()
}

// joined runs `understudy join` as a quorum of one until the test ends.
func joined(t *testing.T) (address string) {
	t.Helper()
	dir := t.TempDir()
	address = vacant(t)
	file := filepath.Join(dir, "node.properties")
	text := "process.roles=controller\nnode.id=1\nlisteners=CONTROLLER://" + address + "\ncontroller.listener.names=CONTROLLER\n" +
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT\ncontroller.quorum.bootstrap.servers=" + address + "\ncontroller.quorum.election.timeout.ms=300\nlog.dirs=" + filepath.Join(dir, "log") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runFormat(t, "-c", file, "-t", formatCluster, "--standalone"); code != exitFine {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	out, in := io.Pipe()
	go func() {
		defer close(ended)
		run(ctx, []string{"join", "-c", file, "--on-leadership", "stay"}, strings.NewReader(""), in, io.Discard)
		_ = in.Close()
	}()
	t.Cleanup(func() { cancel(); <-ended })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listener CONTROLLER://"+address) {
			go func() { _, _ = io.Copy(io.Discard, out) }() // until the node has ended
			return address
		}
	}
	t.Fatal("the node does not listen")
	return address
}

// TestConform_WritesWhatItHasIfATargetCannotBeReached asks one target and fails to ask the next: the matrix has the first.
func TestConform_WritesWhatItHasIfATargetCannotBeReached(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	there, gone := joined(t), vacant(t)
	code, _, stderr := conformCommand(t, "--run", "^vote/v0/", "--html", page, there, gone)
	if code != exitRuntime || !strings.Contains(stderr, gone) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); !strings.Contains(text, there) || strings.Contains(text, gone) || !strings.Contains(text, "vote/refuses-other-cluster") {
		t.Errorf("the page lacks %s or has %s:\n%s", there, gone, text)
	}
	nothing := filepath.Join(t.TempDir(), "page.html")
	if code, _, _ := conformCommand(t, "--html", nothing, gone); code != exitRuntime {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(nothing); err == nil {
		t.Error("a page of nobody is written")
	}
}

func TestConform_RefusesWhatItCannotDo(t *testing.T) {
	closed := vacant(t)
	for _, x := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no target", nil, exitUsage, "no target"},
		{"a pattern that is none", []string{"--run", "(", "x:1"}, exitUsage, "--run"},
		{"a pattern that matches nothing", []string{"--list", "--run", "no-such-case"}, exitUsage, "no case"},
		{"a release that is none", []string{"--release", "9.9.9", "x:1"}, exitUsage, "--release"},
		{"a case that is none", []string{"--explain", "stale"}, exitUsage, "no such case"},
		{"part of an id", []string{"--explain", "negative-position"}, exitUsage, "there is fetch-snapshot/v0/negative-position"},
		{"JUnit of two targets", []string{"--junit", "x.xml", "x:1", "x:2"}, exitUsage, "one target"},
		{"an output that is none", []string{"-o", "yaml", "x:1"}, exitUsage, "--output"},
		{"an own quorum without voters", []string{"--own-quorum", "x:1"}, exitUsage, "two --voters"},
		{"an own quorum with a voter that is none", []string{"--own-quorum", "--voters", "x=y:1", "x:1"}, exitUsage, "no node id"},
		{"a target without a port", []string{"foo"}, exitUsage, "HOST:PORT"},
		{"a target with a port that is none", []string{"foo:http"}, exitUsage, "HOST:PORT"},
		{"a target without a host", []string{":9093"}, exitUsage, "HOST:PORT"},
		{"a degree of hostility that is none", []string{"--hostile=much", "x:1"}, exitUsage, "--hostile=killers"},
		{"killers without a way back", []string{"--hostile=killers", "x:1"}, exitUsage, "--restart-cmd"},
		{"killers of two targets", []string{"--hostile=killers", "--restart-cmd", "true", "x:1", "x:2"}, exitUsage, "one target"},
		{"a restart for nothing", []string{"--restart-cmd", "true", "x:1"}, exitUsage, "--own-quorum or --hostile=killers"},
		{"credentials of an own quorum that are not there", []string{"--own-quorum", "--node-id", "1", "--cluster-id", "x", "--voters", "2@y:1,3@y:2", "--command-config", "/nowhere.properties", "x:1"}, exitUsage, "/nowhere.properties"},
		{"an own quorum with a directory id of one voter", []string{"--own-quorum", "--node-id", "1", "--cluster-id", "x", "--voters", "2@y:1:Zb2Q7XmVQ3yq0Yt0cJ3n0A,3@y:2", "x:1"}, exitUsage, "of both voters"},
		{"an own quorum with a voter twice", []string{"--own-quorum", "--voters", "2@y:1,2@y:2", "x:1"}, exitUsage, "twice"},
		{"an own quorum with a voter without an address", []string{"--own-quorum", "--voters", "2", "x:1"}, exitUsage, "ID@HOST:PORT"},
		{"an own quorum with a directory id that is none", []string{"--own-quorum", "--voters", "2@y:1:short", "x:1"}, exitUsage, "22 letters"},
		{"an own quorum with the target among the voters", []string{"--own-quorum", "--node-id", "1", "--cluster-id", "x", "--voters", "1@x:1,2@y:1", "x:1"}, exitUsage, "besides the target"},
		{"an own quorum and a pattern of no scenario", []string{"--own-quorum", "--node-id", "1", "--cluster-id", "x", "--voters", "2@y:1,3@y:2", "--run", "^vote/", closed}, exitUsage, "belongs to alone"},
		{"credentials that are not there", []string{"--command-config", "/nowhere.properties", "x:1"}, exitUsage, "/nowhere.properties"},
		{"voters without an own quorum", []string{"--voters", "2=y:1", "x:1"}, exitUsage, "--own-quorum"},
		{"a directory for JUnit that is not there", []string{"--junit", "/nowhere/x.xml", "x:1"}, exitUsage, "no directory /nowhere"},
		{"another protocol", []string{serving(t, "HTTP/1.1 400 Bad Request\r\n\r\n")}, exitUsage, "not Kafka's protocol"},
		{"a listener with TLS", []string{serving(t, "\x15\x03\x03\x00\x02\x02\x46")}, exitUsage, "--command-config"},
		{"a listener that closes", []string{serving(t, "")}, exitRuntime, "--command-config"},
		{"nobody there", []string{closed}, exitRuntime, closed},
	} {
		t.Run(x.name, func(t *testing.T) {
			code, _, stderr := conformCommand(t, x.args...)
			if code != x.code || !strings.Contains(stderr, x.says) {
				t.Errorf("exit code %d, want %d; %q lacks %q", code, x.code, stderr, x.says)
			}
		})
	}
}
