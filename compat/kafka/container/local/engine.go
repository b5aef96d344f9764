package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/internal/need"
)

// daemon is an engine that this program started; nil where one was running already.
type daemon struct {
	process *child.Process
	dir     string
}

// startEngine makes sure that a container engine answers: the one of DOCKER_HOST or Docker's socket, else a dockerd of
// our own in dir, which takes root. The error says what to do where neither can be had.
func startEngine(ctx context.Context, dir string) (*daemon, error) {
	_, lookErr := need.Look("docker")
	if lookErr == nil && answers(ctx) {
		say("the container engine that is running is used")
		return nil, nil
	}
	advice := fmt.Errorf("no container engine answers: start Docker or set DOCKER_HOST, or run as root\n    %s", need.InstallCommand("docker.io"))
	if os.Geteuid() != 0 {
		return nil, advice
	}
	for _, tool := range []string{"dockerd", "docker"} {
		if _, err := need.Tool(tool); err != nil {
			return nil, errors.Join(advice, err)
		}
	}
	return startDaemon(ctx, dir)
}

// startDaemon runs a dockerd that ends with this program.
func startDaemon(ctx context.Context, dir string) (*daemon, error) {
	// No bridge and no packet filter: containers of these tests use the host's network, and a machine's rules stay as they are.
	socket := "unix://" + filepath.Join(dir, "docker.sock")
	cmd := exec.Command("dockerd", "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "-H", socket,
		"-p", filepath.Join(dir, "docker.pid"), "--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false")
	log, err := os.Create(filepath.Join(dir, "dockerd.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the daemon has it open itself
	cmd.Stdout, cmd.Stderr = log, log
	say("starting a container engine")
	p, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	d := &daemon{process: p, dir: dir}
	if err := os.Setenv("DOCKER_HOST", socket); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	for end := time.Now().Add(2 * time.Minute); !answers(ctx); time.Sleep(100 * time.Millisecond) {
		if p.Ended() || time.Now().After(end) || ctx.Err() != nil {
			how := "it does not answer in time"
			if p.Ended() {
				how = "it ends with " + p.Exit()
			} else if ctx.Err() != nil {
				how = ctx.Err().Error()
			}
			said, _ := os.ReadFile(log.Name())
			return nil, errors.Join(notUp(cmd.Args, how, string(said)), d.stop())
		}
	}
	return d, nil
}

// notUp says why an engine that is installed does not run, and what to do about it.
func notUp(command []string, how, said string) error {
	return fmt.Errorf("dockerd is installed and does not come up here: %s\n%s\nIt was started by\n    %s\nUse an engine that runs\n    DOCKER_HOST=tcp://HOST:PORT make test-containers\n"+
		"or install this one anew\n    %s", how, child.Tail(said, 8), strings.Join(command, " "), need.InstallCommand("docker.io"))
}

func answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "version").Run() == nil
}

// stop ends the engine with all of its containers, and removes what it left.
func (d *daemon) stop() error {
	if d == nil {
		return nil
	}
	say("stopping the container engine")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := d.process.Stop(ctx)
	namespace := filepath.Join(d.dir, "exec", "netns", "default")
	if umount := syscall.Unmount(namespace, 0); umount != nil && !errors.Is(umount, syscall.EINVAL) && !errors.Is(umount, syscall.ENOENT) {
		err = errors.Join(err, fmt.Errorf("unmount %s: %w", namespace, umount))
	}
	return err
}
