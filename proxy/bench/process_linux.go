package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// standApart runs this program again in a session of its own and, where that is allowed, has the scheduler prefer it: what
// else runs on the machine disturbs less. Among themselves the processes stay equal (sched(7), autogroups).
func standApart() error {
	cmd := exec.Command(self(), append([]string{"-role", "main"}, os.Args[1:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", cmd.Process.Pid), []byte("-19"), 0)
	go func() {
		for range signals {
			_ = cmd.Process.Signal(syscall.SIGTERM) // the session does not get what the terminal sends
		}
	}()
	return cmd.Wait()
}

// process is a child of the benchmark.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

// start runs a program on one processor. The child inherits the processor of the thread that starts it.
func start(cpu int, name string, args ...string) (*process, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("affinity: %w", err)
	}
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return nil, fmt.Errorf("pin to processor %d: %w", cpu, err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	p := &process{cmd: exec.Command(name, args...)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdout = bufio.NewReader(out)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// line reads one line that the child printed.
func (p *process) line() (string, error) {
	text, err := p.stdout.ReadString('\n')
	return strings.TrimSpace(text), err
}

// stop asks the child to end and waits for it.
func (p *process) stop() error {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Signal(unix.SIGTERM)
	go func() { _, _ = io.Copy(io.Discard, p.stdout) }()
	timer := time.AfterFunc(30*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(interface{ Signaled() bool }).Signaled() {
		return nil // by our SIGTERM
	}
	return err
}

// children are the process ids of the children.
func (p *process) children() (list []int) {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid))
	for _, name := range names {
		b, _ := os.ReadFile(name)
		for _, text := range strings.Fields(string(b)) {
			if id, err := strconv.Atoi(text); err == nil {
				list = append(list, id)
			}
		}
	}
	return list
}

// moveChildren pins the children, with all their threads, to another processor.
func (p *process) moveChildren(cpu int) {
	var one unix.CPUSet
	one.Set(cpu)
	for _, child := range p.children() {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", child))
		for _, t := range tasks {
			if id, err := strconv.Atoi(t.Name()); err == nil {
				_ = unix.SchedSetaffinity(id, &one) // a thread may have ended
			}
		}
	}
}

// signalChildren sends a signal to the children.
func (p *process) signalChildren(s syscall.Signal) error {
	list := p.children()
	if len(list) == 0 {
		return errors.New("there is no checker")
	}
	for _, child := range list {
		if err := unix.Kill(child, s); err != nil {
			return err
		}
	}
	return nil
}

// calls is how many read and write calls the process has made so far.
func (p *process) calls() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, line := range strings.Split(string(b), "\n") {
		name, value, _ := strings.Cut(line, ": ")
		if name == "syscr" || name == "syscw" {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, nil
}

// busy is the processor time of the process so far, all its threads, in nanoseconds.
func (p *process) busy() int64 {
	total := int64(0)
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	for _, name := range tasks {
		b, _ := os.ReadFile(name)
		f := strings.Fields(string(b))
		if len(f) > 0 {
			n, _ := strconv.ParseInt(f[0], 10, 64)
			total += n
		}
	}
	return total
}
