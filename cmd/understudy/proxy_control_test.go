package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/proxy"
)

// controlled talks to a control API.
type controlled struct {
	t      *testing.T
	client *http.Client
}

func (c *controlled) do(method, path, body string) (int, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, "http://proxy"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	answer, err := c.client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestControl_ChangesTheRulesOfARunningProxy(t *testing.T) {
	stage := captured(t, "440-dynamic-start-kill")
	socket := filepath.Join(t.TempDir(), "c.sock")
	s := startStaged(t, stage, "record", "--record", filepath.Join(t.TempDir(), "run"), "--control", "unix:"+socket, "--fault", "drop Vote 3->1 nth 9")
	c := &controlled{t, &http.Client{Transport: &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) },
		DisableKeepAlives: true,
	}}}
	list := func() (rules []proxy.FaultRule) {
		code, text := c.do("GET", "/faults", "")
		if err := json.Unmarshal([]byte(text), &rules); err != nil || code != http.StatusOK {
			t.Fatal(code, text, err)
		}
		return rules
	}
	if rules := list(); len(rules) != 1 || rules[0].Text != "drop Vote 3->1 nth 9" {
		t.Errorf("%+v", rules)
	}
	if code, text := c.do("POST", "/faults", "partition 1->2\n\n delay 5ms Fetch response 1->2 \n"); code != http.StatusOK || !strings.Contains(text, `"id":2`) {
		t.Error(code, text)
	}
	for _, bad := range []string{"", "frop Vote", "drop Vote\nfrop Vote", strings.Repeat("drop Vote\n", 10_000)} {
		if code, text := c.do("POST", "/faults", bad); code != http.StatusBadRequest || text == "" {
			t.Errorf("%.30q: %d %s", bad, code, text)
		}
	}
	if rules := list(); len(rules) != 3 {
		t.Errorf("%+v", rules)
	}
	for path, want := range map[string]int{"/faults/1": http.StatusOK, "/faults/77": http.StatusNotFound, "/faults/x": http.StatusBadRequest} {
		if code, text := c.do("DELETE", path, ""); code != want {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text := c.do("DELETE", "/faults", ""); code != http.StatusOK || !strings.Contains(text, `"removed":2`) {
		t.Error(code, text)
	}
	if rules := list(); len(rules) != 0 {
		t.Errorf("%+v", rules)
	}
	if code := s.end(); code != exitFine {
		t.Error(code, s.logs.String())
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Error("the socket is left behind")
	}
}

func TestControl_OnlyThisMachine(t *testing.T) {
	for _, at := range []string{":9645", "0.0.0.0:9645", "10.0.0.1:9645", "localhost:9645", "unix:", "x"} {
		if _, err := listenControl(at); err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("%s: %v", at, err)
		}
	}
	code, _, stderr := checkCommand(nil, "record", "--record", filepath.Join(t.TempDir(), "run"), "--upstream", "1=127.0.0.1:1=127.0.0.1:0", "--control", "0.0.0.0:1")
	if code != exitUsage || !strings.Contains(stderr, "--control") {
		t.Error(code, stderr)
	}
}

func TestControl_SocketOfADeadProxyIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenControl("unix:" + path); err == nil || !strings.Contains(err.Error(), "somebody listens there") {
		t.Errorf("%v", err)
	}
	old.SetUnlinkOnClose(false)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	ln, err := listenControl("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	_ = ln.Close()
}
