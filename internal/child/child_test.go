package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
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
	limit := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for alive(pid) {
		select {
		case <-tick.C:
		case <-limit:
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d is still there", pid)
		}
	}
}

func TestStart_KillReachesTheWholeGroup(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 100 & echo $!; wait")
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = out
	p, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	var child int
	for child == 0 {
		text, _ := os.ReadFile(out.Name())
		if strings.HasSuffix(string(text), "\n") {
			fmt.Sscan(string(text), &child)
		}
		if p.Ended() {
			t.Fatal("the shell ended")
		}
	}
	if err := p.Kill(); err != nil || !p.Ended() {
		t.Errorf("kill: %v", err)
	}
	waitGone(t, child)
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal to an ended process: %v", err)
	}
}

func TestStart_StopKillsWhatDoesNotListen(t *testing.T) {
	cmd := exec.Command("sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 100; done")
	said, out := io.Pipe()
	cmd.Stdout = out
	p, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := said.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	defer out.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop: %v", err)
	}
	if !p.Ended() {
		t.Error("it still runs")
	}
}

func TestRun_ContextEndsTheToolAndItsChildren(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := Run(exec.CommandContext(ctx, "sh", "-c", "sleep 100 & wait")); err == nil {
		t.Error("a tool that was cut off gave no error")
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestRun_ErrorHasWhatTheToolSaid(t *testing.T) {
	out, err := Run(exec.Command("sh", "-c", "echo result; echo reason >&2; exit 3"))
	if err == nil || out != "result\n" || !strings.Contains(err.Error(), "reason") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%q, %v", out, err)
	}
}

// TestStart_DiesWithItsParent runs this test binary as a parent that starts a child, and kills the parent.
func TestStart_DiesWithItsParent(t *testing.T) {
	if os.Getenv("UNDERSTUDY_TEST_PARENT") != "" {
		p, err := Start(exec.Command("sleep", "100"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("child %d\n", p.Pid())
		<-p.Done()
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
