//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// voterOfTwo is a process of understudy join.
type voterOfTwo struct {
	*exec.Cmd
	led  chan struct{} // closed when it has said that it leads
	done chan struct{} // closed when it has ended
}

// twoVoters start on new directories. They elect once, and then wait for each other for longer than the test lasts.
func twoVoters(t *testing.T) (all [2]*voterOfTwo) {
	t.Helper()
	var ports [2]int
	for i := range ports {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = ln.Addr().(*net.TCPAddr).Port
		defer func() { _ = ln.Close() }()
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i, port := range ports {
		dir := t.TempDir()
		config := filepath.Join(dir, "node.properties")
		text := fmt.Sprintf("process.roles=controller\nnode.id=%d\ncontroller.listener.names=CONTROLLER\nlisteners=CONTROLLER://127.0.0.1:%d\nlog.dirs=%s\n"+
			"controller.quorum.voters=1@127.0.0.1:%d,2@127.0.0.1:%d\ncontroller.quorum.election.timeout.ms=300\ncontroller.quorum.fetch.timeout.ms=120000\n",
			i+1, port, filepath.Join(dir, "data"), ports[0], ports[1])
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := command(t, "format", "-c", config, "-t", "Zb2Q7XmVQ3yq0Yt0cJ3n0A"); code != exitFine {
			t.Fatal(stderr)
		}
		all[i] = &voterOfTwo{Cmd: exec.Command(program, "join", "-c", config, "--log-format", "kafka", "--on-leadership", "stay"), led: make(chan struct{}), done: make(chan struct{})}
	}
	return all
}

func (v *voterOfTwo) start(t *testing.T) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	v.Stdout, v.Stderr = w, w
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		defer close(v.done)
		lines, led := bufio.NewScanner(r), false
		for lines.Scan() {
			if !led && strings.Contains(lines.Text(), "Completed transition to Leader") {
				led = true
				close(v.led)
			}
		}
		_, _ = io.Copy(io.Discard, r)
		_ = r.Close()
		_ = v.Wait()
	}()
	t.Cleanup(func() {
		_ = v.Process.Kill()
		<-v.done
	})
}

// A leader that is told to end waits for seconds until another one is there. Who cannot wait says it twice.
func TestJoin_ASecondSignalEndsTheNodeAtOnce(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		both := twoVoters(t)
		for _, v := range both {
			v.start(t)
		}
		leader, other := both[0], both[1]
		select {
		case <-both[0].led:
		case <-both[1].led:
			leader, other = other, leader
		case <-time.After(30 * time.Second):
			t.Fatal("nobody leads")
		}
		_ = other.Process.Kill()
		<-other.done
		tick := time.NewTicker(50 * time.Millisecond)
		for ended := false; !ended; {
			_ = leader.Process.Signal(sig)
			select {
			case <-leader.done:
				ended = true
			case <-tick.C:
			}
		}
		tick.Stop()
		if how := leader.ProcessState.Sys().(syscall.WaitStatus); !how.Signaled() || how.Signal() != sig {
			t.Errorf("the leader ended in order: %v", leader.ProcessState)
		}
	}
}
