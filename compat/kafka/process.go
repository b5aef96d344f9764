package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child that this package started. It has a process group of its own and dies with this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended
	err  error         // what Wait said; read it after done
}

// start starts cmd. The thread that forks a child with a parent-death signal must live as long as the child,
// so one goroutine keeps its thread until the child has ended.
func start(cmd *exec.Cmd) (*process, error) {
	contain(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// contain puts the command into a process group of its own, and lets a cancelled context end all of it.
func contain(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	if cmd.Cancel != nil { // it was made with a context
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.WaitDelay = 5 * time.Second
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// signal reaches the whole group. A child that has ended already is no error.
func (p *process) signal(sig syscall.Signal) error {
	if p.ended() {
		return nil
	}
	if err := syscall.Kill(-p.pid(), sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to process group %d: %w", sig, p.pid(), err)
	}
	return nil
}

// kill ends the child for certain and waits for that.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// stop asks the child to end and kills it when the context ends first.
func (p *process) stop(ctx context.Context) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("process %d did not end on SIGTERM: %w", p.pid(), ctx.Err()), p.kill())
	}
}

// run runs a short-lived command and returns what it printed on stdout; the error has the rest.
func run(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	p, err := start(cmd)
	if err != nil {
		return "", err
	}
	<-p.done
	if p.err != nil {
		return stdout.String(), fmt.Errorf("%w: %s", p.err, tail(stdout.String()+stderr.String(), 12))
	}
	return stdout.String(), nil
}

// exitText says how a process ended.
func (p *process) exitText() string {
	var exit *exec.ExitError
	switch {
	case p.err == nil:
		return "exit status 0"
	case errors.As(p.err, &exit):
		return exit.Error()
	default:
		return p.err.Error()
	}
}

// openLog opens a node's log for appending, on a fresh line: a process that was killed may have left half of one.
func openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	last := make([]byte, 1)
	if size, err := f.Seek(0, 2); err == nil && size > 0 {
		if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			if _, err := f.WriteString("\n"); err != nil {
				_ = f.Close()
				return nil, err
			}
		}
	}
	return f, nil
}
