package container_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
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
	hosts  []string
}

func (c *composed) name(service string) string { return "understudy-" + service + c.suffix }

func (c *composed) docker(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (c *composed) run(service string, flags ...string) {
	c.t.Helper()
	s := c.file.Services[service]
	image := s.Image
	if name, ok := strings.CutPrefix(image, "${KAFKA_IMAGE:-"); ok {
		image = strings.TrimSuffix(name, "}")
	}
	args := append([]string{"run", "--network", "host", "--name", c.name(service)}, append(c.hosts, flags...)...)
	for _, v := range s.Volumes {
		if rest, ok := strings.CutPrefix(v, "./"); ok {
			dir, err := filepath.Abs("compose")
			must(c.t, err)
			v = filepath.Join(dir, rest)
		} else {
			v = "understudy-" + c.suffix + "-" + v
		}
		args = append(args, "-v", v)
	}
	if out, err := c.docker(append(append(args, image), s.Command...)...); err != nil {
		c.t.Fatalf("service %s: %v\n%s", service, err, out)
	}
}

// awaitLog waits until a service has said something.
func (c *composed) awaitLog(service, what string) {
	c.t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		said, err := c.docker("logs", c.name(service))
		if err != nil || time.Now().After(end) {
			c.t.Fatalf("%s does not say %q: %v\n%s", service, what, err, said)
		}
		if strings.Contains(said, what) {
			return
		}
	}
}

// TestCompose_ElectsBehindUnderstudy runs the example as it is written.
func TestCompose_ElectsBehindUnderstudy(t *testing.T) {
	kafkaImages(t)
	c := &composed{t: t, file: readCompose(t), suffix: fmt.Sprint("-", os.Getpid())}
	services := slices.Sorted(maps.Keys(c.file.Services))
	for _, s := range services {
		c.hosts = append(c.hosts, "--add-host", s+":127.0.0.1")
	}
	t.Cleanup(func() {
		for _, s := range services {
			_, _ = c.docker("rm", "--force", "--volumes", c.name(s)) // those that were not run do not exist
		}
		for v := range c.file.Volumes {
			if out, err := c.docker("volume", "rm", "--force", "understudy-"+c.suffix+"-"+v); err != nil {
				t.Errorf("remove volume %s: %v: %s", v, err, out)
			}
		}
	})
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
	c.awaitLog("understudy", "first high watermark")
	for _, s := range services {
		if strings.HasPrefix(s, "kafka-") {
			c.awaitLog(s, "finished catching up to the current high water mark")
		}
	}
	if out, err := c.docker("stop", "--time", "30", c.name("understudy")); err != nil {
		t.Fatalf("stop understudy: %v\n%s", err, out)
	}
	said, err := c.docker("logs", c.name("understudy"))
	must(t, err)
	if !strings.Contains(said, "\nCONFORMS: judged ") {
		t.Errorf("understudy said\n%s", said)
	}
}
