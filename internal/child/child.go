// Package child runs other programs so that none outlives this one: each has a process group of its own, is ended
// as a whole, and dies with its parent.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Process is a program that Start started.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // what Wait said, once done is closed
}

// Start starts cmd. The thread that forks a child with a parent-death signal must live as long as the child,
// so one goroutine keeps its thread until the child has ended.
func Start(cmd *exec.Cmd) (*Process, error) {
	contain(cmd)
	p := &Process{cmd: cmd, done: make(chan struct{})}
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

// Pid is the process id, which is also that of the group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the program has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Signal reaches the whole group. A child that has ended already is no error.
func (p *Process) Signal(sig syscall.Signal) error {
	if p.Ended() {
		return nil
	}
	if err := syscall.Kill(-p.Pid(), sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to process group %d: %w", sig, p.Pid(), err)
	}
	return nil
}

// Kill ends the child for certain and waits for that.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// Stop asks the child to end and kills it when the context ends first.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("process %d did not end on SIGTERM: %w", p.Pid(), ctx.Err()), p.Kill())
	}
}

// Run runs a short-lived command and returns what it printed on stdout; the error has the rest.
func Run(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	p, err := Start(cmd)
	if err != nil {
		return "", err
	}
	<-p.done
	if p.err != nil {
		return stdout.String(), fmt.Errorf("%w: %s", p.err, Tail(stdout.String()+stderr.String(), 12))
	}
	return stdout.String(), nil
}

// Exit says how the program ended; ask when it has.
func (p *Process) Exit() string {
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

// ExitCode is the program's exit code, -1 if a signal ended it; ask when it has ended.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Tail is the last lines of a text.
func Tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
