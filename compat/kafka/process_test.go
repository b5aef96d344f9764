package kafka

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d is still there", pid)
		}
	}
}

func TestProcess_KillReachesTheWholeGroup(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 100 & echo $!; wait")
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = out
	p, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	var child int
	for child == 0 {
		text, _ := os.ReadFile(out.Name())
		if strings.HasSuffix(string(text), "\n") {
			fmt.Sscan(string(text), &child)
		}
		if p.ended() {
			t.Fatal("the shell ended")
		}
	}
	if err := p.kill(); err != nil || !p.ended() {
		t.Errorf("kill: %v", err)
	}
	waitGone(t, child)
	if err := p.signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal to an ended process: %v", err)
	}
}

func TestProcess_StopKillsWhatDoesNotListen(t *testing.T) {
	cmd := exec.Command("sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 100; done")
	deaf := &watcher{want: []byte("deaf"), seen: make(chan struct{})}
	cmd.Stdout = deaf
	p, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	<-deaf.seen
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop: %v", err)
	}
	if !p.ended() {
		t.Error("it still runs")
	}
}

func TestRun_ContextEndsTheToolAndItsChildren(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := run(exec.CommandContext(ctx, "sh", "-c", "sleep 100 & wait")); err == nil {
		t.Error("a tool that was cut off gave no error")
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestRun_ErrorHasWhatTheToolSaid(t *testing.T) {
	out, err := run(exec.Command("sh", "-c", "echo result; echo reason >&2; exit 3"))
	if err == nil || out != "result\n" || !strings.Contains(err.Error(), "reason") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%q, %v", out, err)
	}
}

// TestProcess_DiesWithItsParent runs this test binary as a parent that starts a child, and kills the parent.
func TestProcess_DiesWithItsParent(t *testing.T) {
	if os.Getenv("UNDERSTUDY_TEST_PARENT") != "" {
		p, err := start(exec.Command("sleep", "100"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("child %d\n", p.pid())
		<-p.done
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a parent-death signal")
	}
	parent := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	parent.Env = append(os.Environ(), "UNDERSTUDY_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	child := 0
	for lines := bufio.NewScanner(out); child == 0 && lines.Scan(); {
		fmt.Sscanf(lines.Text(), "child %d", &child)
	}
	if child == 0 || !alive(child) {
		t.Fatalf("no child: %d", child)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	waitGone(t, child)
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
