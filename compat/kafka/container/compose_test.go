package container_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"gopkg.in/yaml.v3"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/container"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// composeFile is what the test reads of compose.yaml.
type composeFile struct {
	Services map[string]composeService `yaml:"services"`
	Volumes  map[string]any            `yaml:"volumes"`
}

type composeService struct {
	Image     string                       `yaml:"image"`
	Command   []string                     `yaml:"command"`
	Volumes   []string                     `yaml:"volumes"`
	Ports     []string                     `yaml:"ports"`
	DependsOn map[string]map[string]string `yaml:"depends_on"`
}

func readCompose(t *testing.T) composeFile {
	t.Helper()
	text, err := os.ReadFile("compose/compose.yaml")
	must(t, err)
	var c composeFile
	must(t, yaml.Unmarshal(text, &c))
	return c
}

// TestCompose_EveryControllerStandsBehindTheProxy looks at the example without an engine.
func TestCompose_EveryControllerStandsBehindTheProxy(t *testing.T) {
	c := readCompose(t)
	proxy := strings.Join(c.Services["understudy"].Command, " ")
	for i := 1; i <= 3; i++ {
		text, err := os.ReadFile(fmt.Sprintf("compose/node-%d.properties", i))
		must(t, err)
		for _, want := range []string{
			fmt.Sprintf("node.id=%d\n", i), fmt.Sprintf("listeners=CONTROLLER://:1909%d\n", i), fmt.Sprintf("advertised.listeners=CONTROLLER://understudy:909%d\n", i),
			"controller.quorum.voters=1@understudy:9091,2@understudy:9092,3@understudy:9093\n",
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("node-%d.properties lacks %q", i, want)
			}
		}
		if upstream := fmt.Sprintf("--upstream=%d=kafka-%d:1909%d=:909%d", i, i, i, i); !strings.Contains(proxy, upstream) {
			t.Errorf("understudy lacks %s", upstream)
		}
		node, ok := c.Services[fmt.Sprintf("kafka-%d", i)]
		if !ok || !slices.Equal(node.Volumes, c.Services[fmt.Sprintf("format-%d", i)].Volumes) {
			t.Errorf("kafka-%d does not run on what format-%d formats", i, i)
		}
	}
}

// composed runs the services of a compose file on the host's network, where each name of a service is this machine: the
// ports of the example are all different.
type composed struct {
	t      *testing.T
	file   composeFile
	suffix string
	label  string
	hosts  []string
}

func (c *composed) name(service string) string { return "understudy-" + service + c.suffix }

// volume is the name of a volume, with or without what follows it.
func (c *composed) volume(v string) string { return "understudy" + c.suffix + "-" + v }

// docker runs one command of the engine. On a machine that is busy a JVM takes its time.
func (c *composed) docker(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// run starts a service as the example has it.
func (c *composed) run(service string, flags ...string) {
	c.t.Helper()
	s := c.file.Services[service]
	flags = append(flags, "--name", c.name(service))
	for _, v := range s.Volumes {
		if rest, ok := strings.CutPrefix(v, "./"); ok {
			dir, err := filepath.Abs("compose")
			must(c.t, err)
			v = filepath.Join(dir, rest)
		} else {
			v = c.volume(v)
		}
		flags = append(flags, "-v", v)
	}
	if out, err := c.container(service, flags, s.Command); err != nil {
		c.t.Fatalf("service %s: %v\n%s", service, err, out)
	}
}

// tool runs another command in a new container of a service, as `docker compose run --rm` does.
func (c *composed) tool(service string, command ...string) (string, error) {
	return c.container(service, []string{"--rm"}, command)
}

func (c *composed) container(service string, flags, command []string) (string, error) {
	image := c.file.Services[service].Image
	if name, ok := strings.CutPrefix(image, "${KAFKA_IMAGE:-"); ok {
		image = strings.TrimSuffix(name, "}")
	}
	return c.docker(slices.Concat([]string{"run", "--network", "host", "--label", c.label}, c.hosts, flags, []string{image}, command)...)
}

// logs is what a service has said.
func (c *composed) logs(service string) string {
	c.t.Helper()
	said, err := c.docker("logs", c.name(service))
	must(c.t, err)
	return said
}

// await asks again and again until the answer is no error, and ends the test if a service ends or it takes too long.
func (c *composed) await(what string, services []string, ask func() error) {
	c.t.Helper()
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		err := ask()
		if err == nil {
			return
		}
		late := time.Now().After(end)
		for _, s := range services {
			running, inspect := c.docker("inspect", "--format", "{{.State.Running}}", c.name(s))
			if late || inspect != nil || strings.TrimSpace(running) != "true" {
				c.t.Errorf("%s runs: %s, %v; it said\n%s", s, strings.TrimSpace(running), inspect, c.logs(s))
				late = true
			}
		}
		if late {
			c.t.Fatalf("%s: %v", what, err)
		}
	}
}

// describedByLeader asks for the quorum through the proxy, each listener until that of the leader answers: all three must
// vote, and have what is committed but for what was added just now.
func describedByLeader(ctx context.Context) error {
	var all []error
	for port := 9091; port <= 9093; port++ {
		p, err := describeQuorum(ctx, fmt.Sprintf("127.0.0.1:%d", port))
		switch {
		case err != nil:
		case p.ErrorCode != 0:
			err = errors.New(kraft.ErrorCode(p.ErrorCode).String())
		case len(p.CurrentVoters) != 3 || p.HighWatermark < 1:
			err = fmt.Errorf("leader %d has %d voters and high watermark %d", p.LeaderID, len(p.CurrentVoters), p.HighWatermark)
		default:
			for _, v := range p.CurrentVoters {
				if v.LogEndOffset < p.HighWatermark-20 {
					err = errors.Join(err, fmt.Errorf("voter %d is at offset %d of %d", v.ReplicaID, v.LogEndOffset, p.HighWatermark))
				}
			}
			return err
		}
		all = append(all, fmt.Errorf("port %d: %w", port, err))
	}
	return errors.Join(all...)
}

func describeQuorum(ctx context.Context, address string) (*kmsg.DescribeQuorumResponseTopicPartition, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	a, err := kafka.DialAdmin(ctx, address, "compose")
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }() // connections alone
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic, topic.Partitions = wire.MetadataTopic, []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req.Version, req.Topics = 2, []kmsg.DescribeQuorumRequestTopic{topic}
	resp, err := a.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	d := resp.(*kmsg.DescribeQuorumResponse)
	if d.ErrorCode != 0 || len(d.Topics) != 1 || len(d.Topics[0].Partitions) != 1 {
		return nil, fmt.Errorf("answer %+v", d)
	}
	return &d.Topics[0].Partitions[0], nil
}

// toldCommand is the command with which the example lets people look at the quorum, as its service and arguments.
func toldCommand(t *testing.T) (service string, args []string) {
	t.Helper()
	text, err := os.ReadFile("compose/compose.yaml")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "#   docker compose run --rm --no-deps "); ok {
			words := strings.Fields(rest)
			return words[0], words[1:]
		}
	}
	t.Fatal("compose.yaml does not say how to look at the quorum")
	return "", nil
}

var describedVoters = regexp.MustCompile(`(?m)^LeaderId:\s+[123]\n(?s:.*)^CurrentVoters:\s+\[.*"id": 1,.*"id": 2,.*"id": 3,.*\]$`)

// TestCompose_ElectsBehindUnderstudy runs the example as it is written.
func TestCompose_ElectsBehindUnderstudy(t *testing.T) {
	kafkaImages(t)
	c := &composed{t: t, file: readCompose(t), suffix: fmt.Sprint("-", os.Getpid()), label: container.DirLabel + "=" + t.ArtifactDir()}
	services := slices.Sorted(maps.Keys(c.file.Services))
	for _, s := range services {
		c.hosts = append(c.hosts, "--add-host", s+":127.0.0.1")
	}
	t.Cleanup(func() {
		for _, s := range services {
			_, _ = c.docker("rm", "--force", "--volumes", c.name(s)) // those that were not run do not exist
		}
		for v := range c.file.Volumes {
			if out, err := c.docker("volume", "rm", "--force", c.volume(v)); err != nil {
				t.Errorf("remove volume %s: %v: %s", v, err, out)
			}
		}
	})
	for v := range c.file.Volumes {
		if out, err := c.docker("volume", "create", "--label", c.label, c.volume(v)); err != nil {
			t.Fatalf("volume %s: %v\n%s", v, err, out)
		}
	}
	for _, s := range services {
		if strings.HasPrefix(s, "format-") {
			c.run(s)
		}
	}
	c.run("understudy", "--detach")
	for _, s := range services {
		if strings.HasPrefix(s, "kafka-") {
			c.run(s, "--detach")
		}
	}
	running := slices.DeleteFunc(slices.Clone(services), func(s string) bool { return strings.HasPrefix(s, "format-") })
	c.await("the leader describes three voters that keep up", running, func() error { return describedByLeader(t.Context()) })
	kafkas, command := toldCommand(t)
	c.await("Kafka's own tool describes the quorum", running, func() error {
		out, err := c.tool(kafkas, command...)
		if err == nil && !describedVoters.MatchString(out) {
			err = fmt.Errorf("it says\n%s", out)
		}
		return err
	})
	for _, s := range running {
		if strings.HasPrefix(s, "kafka-") && !strings.Contains(c.logs(s), "Completed transition to") {
			t.Errorf("%s does not log what it does:\n%s", s, c.logs(s))
		}
	}
	if out, err := c.docker("stop", "--time", "30", c.name("understudy")); err != nil {
		t.Fatalf("stop understudy: %v\n%s", err, out)
	}
	if said := c.logs("understudy"); !strings.Contains(said, "\nCONFORMS: judged ") {
		t.Errorf("understudy said\n%s", said)
	}
}
