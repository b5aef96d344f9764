// Command local is `make test-containers`: it builds the images of the tests from what is on this machine, starts a
// container engine if none runs, runs the tests of this module and leaves nothing running. With -build it only builds
// the images, with the engine that runs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/internal/need"
)

func main() {
	buildOnly := flag.Bool("build", false, "build the images and end")
	match := flag.String("run", "", "only tests whose name matches")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := work(ctx, *buildOnly, *match); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var begun = time.Now()

func say(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
}

func work(ctx context.Context, buildOnly bool, match string) (err error) {
	dir, err := os.MkdirTemp("", "understudy-containers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if buildOnly && !answers(ctx) {
		return fmt.Errorf("no container engine answers: start Docker or set DOCKER_HOST\n    %s", need.InstallCommand("docker.io"))
	}
	d, err := startEngine(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := buildAll(ctx, filepath.Join(dir, "context")); err != nil || buildOnly {
		return err
	}
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	if d == nil { // an engine of our own ends with its containers
		defer func() { err = errors.Join(err, removeLeftovers(out)) }()
	}
	return test(ctx, d != nil, match, out)
}

func buildAll(ctx context.Context, dir string) error {
	for _, image := range images {
		var err error
		if tag, ok := strings.CutPrefix(image, "understudy/kafka:"); ok {
			err = buildKafka(ctx, filepath.Join(dir, "kafka"), kafka.MustRelease(tag))
		} else {
			err = buildOwn(ctx, filepath.Join(dir, "own"))
		}
		if err != nil {
			return fmt.Errorf("image %s: %w", image, err)
		}
	}
	return nil
}

// test runs the tests of this module against the images; the directories of their quorums are in out. An engine of our own has no bridge, and cannot pull, so there
// is no reaper: that engine ends with its containers.
func test(ctx context.Context, own bool, match, out string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-timeout", "30m", "-run", match, "-artifacts", "-outputdir", out, ".")
	cmd.Env = append(os.Environ(), "UNDERSTUDY_IMAGES="+strings.Join(images, ","))
	if own {
		cmd.Env = append(cmd.Env, "TESTCONTAINERS_RYUK_DISABLED=true")
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	say("testing")
	p, err := child.Start(cmd)
	if err != nil {
		return err
	}
	<-p.Done()
	if p.ExitCode() != 0 {
		return fmt.Errorf("the tests end with %s", p.Exit())
	}
	say("all passed")
	return nil
}

// run runs a command and tells what it said if it fails.
func run(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, child.Tail(string(out), 12))
	}
	return nil
}
