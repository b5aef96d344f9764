package mixed

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// source is Kafka's, but that nodes of these ids are ours: a controller joins as a voter, a broker as an observer.
func source(t *testing.T, ours ...kraft.NodeID) kafka.Source {
	kafkas := kafka.DefaultSource("", func(text string) { t.Log(text) })
	return func(ctx context.Context, release kafka.Release) (kafka.Dist, error) {
		d, err := kafkas(ctx, release)
		return &dist{Dist: d, ours: ours}, err
	}
}

// dist runs the nodes that are ours by our binary, and formats by it. All else is Kafka's.
type dist struct {
	kafka.Dist
	ours []kraft.NodeID
}

func (d *dist) Command(ctx context.Context, jvm kafka.JVM, class string, args ...string) *exec.Cmd {
	switch class {
	case "kafka.Kafka":
		if id, as := nodeOf(args[0]); slices.Contains(d.ours, id) {
			return exec.CommandContext(ctx, builtBinary, "join", "--config", args[0], "--as", as, "--release", d.Release().String(), "--log-format", "kafka")
		}
	case "kafka.tools.StorageTool":
		if args[0] == "format" && !slices.Contains(args, "--release-version") {
			return exec.CommandContext(ctx, builtBinary, append(args, "--release-version", d.Release().MetadataVersion())...)
		}
	}
	return d.Dist.Command(ctx, jvm, class, args...)
}

// leading has the nodes of ours do that about being the leader.
func leading(policy controller.Leadership, source kafka.Source) kafka.Source {
	return func(ctx context.Context, release kafka.Release) (kafka.Dist, error) {
		d, err := source(ctx, release)
		return leaders{d, policy}, err
	}
}

type leaders struct {
	kafka.Dist
	policy controller.Leadership
}

func (d leaders) Command(ctx context.Context, jvm kafka.JVM, class string, args ...string) *exec.Cmd {
	cmd := d.Dist.Command(ctx, jvm, class, args...)
	if cmd.Path == builtBinary && cmd.Args[1] == "join" {
		cmd.Args = append(cmd.Args, "--on-leadership", d.policy.String())
	}
	return cmd
}

func nodeOf(file string) (id kraft.NodeID, as string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return kraft.NoNode, ""
	}
	p, err := storage.ParseProperties(string(text))
	if err != nil {
		return kraft.NoNode, ""
	}
	for _, c := range p["node.id"] {
		id = 10*id + kraft.NodeID(c-'0')
	}
	if p["process.roles"] == "broker" {
		return id, "observer"
	}
	return id, "voter"
}
