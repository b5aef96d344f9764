package kafkatest

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/internal/child"
)

// BuildProgram builds understudy into a directory and returns the file.
func BuildProgram(dir string) (string, error) {
	program := filepath.Join(dir, "understudy")
	if _, err := child.Run(exec.Command("go", "build", "-o", program, "github.com/understudy-kafka/understudy/cmd/understudy")); err != nil {
		return "", fmt.Errorf("build the program under test: %w", err)
	}
	return program, nil
}

// RunWithProgram is the TestMain of a package whose tests run understudy: it is built once for all of them, into *program. In the short
// tier, which runs none, it is not.
func RunWithProgram(m *testing.M, program *string) int {
	flag.Parse()
	if !testing.Short() {
		dir, err := os.MkdirTemp("", "understudy-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if *program, err = BuildProgram(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// Output collects what a program says while it is read.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// StartProxy starts a command of understudy that listens, and waits until it does on all addresses. It ends with the test.
func StartProxy(t *testing.T, cmd *exec.Cmd, output *Output, addresses ...string) *child.Process {
	t.Helper()
	cmd.Stdout, cmd.Stderr = output, output
	p, err := child.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("what the proxy said:\n%s", output.String())
		}
	})
	for _, address := range addresses {
		waitListening(t, p, output, address)
	}
	return p
}

func waitListening(t *testing.T, p *child.Process, output *Output, address string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if listening(t, address) {
			return
		}
		if p.Ended() || time.Now().After(end) {
			t.Fatalf("the proxy does not listen on %s:\n%s", address, output)
		}
	}
}

// Segments are the files of a recording.
func Segments(t *testing.T, base string) []string {
	t.Helper()
	files, err := filepath.Glob(base + "-*.pcapng.zst")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recording %s: %v", base, err)
	}
	return files
}

// listening reports whether anybody listens on the port of an address. The kernel's tables tell it without a trace: dialling would make a connection that
// is recorded, and listening there for a moment may be the moment in which the program wants to.
func listening(t *testing.T, address string) bool {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		raw, err := os.ReadFile(table)
		if err != nil {
			continue // no IPv6
		}
		for line := range strings.Lines(string(raw)) {
			if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				return true
			}
		}
	}
	return false
}
