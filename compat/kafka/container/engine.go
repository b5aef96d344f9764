package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/pkg/stdcopy"
	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"

	"github.com/understudy-kafka/understudy/compat/kafka"
)

// ErrNoEngine says that no container engine answers.
var ErrNoEngine = errors.New("no container engine answers")

// DirLabel is on each container of a quorum: the directory of the quorum. By it whoever runs tests can remove what a test
// that was killed has left: docker ps --all --filter label=understudy.dir
const DirLabel = "understudy.dir"

// engine runs the classes of one image. It is the kafka.Dist of every node.
type engine struct {
	provider   *testcontainers.DockerProvider
	client     client.APIClient
	image      string
	entrypoint []string
	user       string
	dir        string // of the quorum: mounted under its own path
	release    kafka.Release
}

// newEngine connects to the machine's engine and looks at the image, which is pulled if need be.
func newEngine(ctx context.Context, cfg *Config) (e *engine, err error) {
	e = &engine{image: cfg.Image, entrypoint: cfg.Entrypoint, user: cfg.User, dir: cfg.Dir, release: cfg.Release}
	if e.user == "" {
		e.user = strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid())
	}
	if e.provider, err = provider(ctx); err != nil {
		return nil, err
	}
	e.client = e.provider.Client()
	if e.entrypoint == nil {
		if e.entrypoint, err = e.defaultEntrypoint(ctx); err != nil {
			return nil, err
		}
	}
	return e, kafka.WriteLogConfig(e.dir)
}

// provider connects to the engine. testcontainers makes a network of its own where it does not find a bridge, which
// fails where there can be none; these containers need none.
func provider(ctx context.Context) (*testcontainers.DockerProvider, error) {
	quiet := testcontainers.Generic2DockerOptions(testcontainers.WithLogger(silent{}))
	p, err := testcontainers.NewDockerProvider(quiet...)
	if err != nil {
		return nil, noEngine(err)
	}
	networks, err := p.Client().NetworkList(ctx, client.NetworkListOptions{})
	if err != nil {
		return nil, noEngine(errors.Join(err, p.Close()))
	}
	for _, n := range networks.Items {
		if n.Name == testcontainers.Bridge {
			return p, nil
		}
	}
	if err := p.Close(); err != nil {
		return nil, err
	}
	return testcontainers.NewDockerProvider(append(quiet, testcontainers.WithDefaultBridgeNetwork("host"))...)
}

func noEngine(err error) error {
	return fmt.Errorf("%w: start Docker, or set DOCKER_HOST to where it listens; on Debian\n    apt-get update && apt-get install -y docker.io\ninstalls it (%w)", ErrNoEngine, err)
}

// silent keeps what testcontainers tells of each container out of the test's output.
type silent struct{}

func (silent) Printf(string, ...any) {}

var _ tclog.Logger = silent{}

// defaultEntrypoint tells images that start java from those that have Kafka's scripts.
func (e *engine) defaultEntrypoint(ctx context.Context) ([]string, error) {
	found, err := e.client.ImageInspect(ctx, e.image)
	if err != nil {
		if err := e.provider.PullImage(ctx, e.image); err != nil {
			return nil, fmt.Errorf("image %s is not on this machine, and cannot be pulled: %w", e.image, err)
		}
		if found, err = e.client.ImageInspect(ctx, e.image); err != nil {
			return nil, fmt.Errorf("image %s: %w", e.image, err)
		}
	}
	if c := found.Config; c != nil && len(c.Entrypoint) > 0 && path.Base(c.Entrypoint[0]) == "java" {
		return c.Entrypoint, nil
	}
	return []string{DownloadScript}, nil
}

// source is the kafka.Source of the quorum: every node is of the one image.
func (e *engine) source(context.Context, kafka.Release) (kafka.Dist, error) { return e, nil }

// Release implements [kafka.Dist].
func (e *engine) Release() kafka.Release { return e.release }

// Command implements [kafka.Dist]: classes of an image are no processes of this machine.
func (e *engine) Command(_ context.Context, _ kafka.JVM, class string, _ ...string) *exec.Cmd {
	return &exec.Cmd{Err: fmt.Errorf("%s: image %s runs its classes in containers", class, e.image)}
}

// create makes a container that runs a class, and does not start it.
func (e *engine) create(ctx context.Context, jvm kafka.JVM, class string, args ...string) (*testcontainers.DockerContainer, error) {
	request := testcontainers.ContainerRequest{
		Image:      e.image,
		Entrypoint: e.entrypoint,
		Cmd:        slices.Concat(jvm.Arguments(e.release, e.dir), []string{class}, args),
		Labels:     map[string]string{DirLabel: e.dir},
		// Kafka's scripts write logs of their own beside the download, where this user may not.
		Env: map[string]string{"LOG_DIR": e.dir, "KAFKA_HEAP_OPTS": " ", "KAFKA_JVM_PERFORMANCE_OPTS": " "},
		ConfigModifier: func(c *dockercontainer.Config) {
			c.User, c.WorkingDir = e.user, e.dir
		},
		HostConfigModifier: func(h *dockercontainer.HostConfig) {
			h.NetworkMode = "host"
			h.Binds = append(h.Binds, e.dir+":"+e.dir)
		},
	}
	made, err := e.provider.CreateContainer(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("container of %s: %w", e.image, err)
	}
	return made.(*testcontainers.DockerContainer), nil
}

// RunClass implements [kafka.Engine].
func (e *engine) RunClass(ctx context.Context, jvm kafka.JVM, class string, args ...string) (string, error) {
	c, err := e.create(ctx, jvm, class, args...)
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	p, err := e.run(ctx, c, &stdout, &stderr, nil)
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), p.Kill())
	}
	if p.code != 0 || p.err != nil {
		return stdout.String(), fmt.Errorf("%s: %s", p.Exit(), lastLines(stdout.String()+stderr.String()))
	}
	return stdout.String(), nil
}

// StartNode implements [kafka.Engine].
func (e *engine) StartNode(ctx context.Context, jvm kafka.JVM, n kafka.Node, out io.WriteCloser) (kafka.Process, error) {
	c, err := e.create(ctx, jvm, kafka.NodeClass, n.ConfigFile)
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	p, err := e.run(ctx, c, out, out, out)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// run starts a container and follows it to its end, when it is removed and the closer, if there is one, closed.
func (e *engine) run(ctx context.Context, c *testcontainers.DockerContainer, stdout, stderr io.Writer, closer io.Closer) (*process, error) {
	p := &process{client: e.client, id: c.ID, done: make(chan struct{})}
	fail := func(err error) (*process, error) {
		err = errors.Join(err, p.remove())
		if closer != nil {
			err = errors.Join(err, closer.Close())
		}
		return nil, fmt.Errorf("container of %s: %w", e.image, err)
	}
	if err := c.Start(ctx); err != nil {
		return fail(err)
	}
	if state, err := c.State(ctx); err == nil {
		p.pid = state.Pid
	}
	logs, err := e.client.ContainerLogs(context.Background(), c.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Follow: true})
	if err != nil {
		return fail(err)
	}
	go func() {
		defer close(p.done)
		_, p.err = stdcopy.StdCopy(stdout, stderr, logs)
		p.err = errors.Join(p.err, logs.Close())
		p.wait()
		p.err = errors.Join(p.err, p.remove())
		if closer != nil {
			p.err = errors.Join(p.err, closer.Close())
		}
	}()
	return p, nil
}

func lastLines(text string) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-12):], "\n")
}
