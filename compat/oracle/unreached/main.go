// Command unreached prints which branches of Kafka's consensus code (org.apache.kafka.raft) no schedule reaches. It runs the golden
// conversations and random walks of compat/oracle with the JaCoCo agent in the virtual machine, and lists, by class and method, the
// lines of which a branch was not taken.
//
//	go run ./compat/oracle/unreached -build 4.4.0 -steps 12000
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/internal/need"
)

// jacoco is the release of the agent and of its report; 0.8.13 reads the classes of Java 17 to 24.
const jacoco = "0.8.13"

func main() {
	build := flag.String("build", "4.4.0", "release to look at")
	steps := flag.Int("steps", 12_000, "random steps")
	seed := flag.Uint64("seed", 1, "of the random walk")
	data := flag.String("exec", "", "a JaCoCo data file of an earlier run: nothing is run, it is only printed")
	flag.Parse()
	if err := run(context.Background(), *build, *steps, *seed, *data, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "unreached:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, build string, steps int, seed uint64, data string, out io.Writer) error {
	for _, tool := range []string{"java", "mvn"} {
		if _, err := need.Tool(tool); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "unreached")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if data == "" {
		data = filepath.Join(dir, "raft.exec")
		if err := collect(ctx, dir, data, build, steps, seed); err != nil {
			return err
		}
	}
	xml, err := summarise(ctx, dir, data, build)
	if err != nil {
		return err
	}
	report, err := parse(xml)
	if err != nil {
		return fmt.Errorf("the report of JaCoCo: %w", err)
	}
	return report.print(out)
}

// collect steps the build with the agent. Every virtual machine adds to the data when it ends.
func collect(ctx context.Context, dir, data, build string, steps int, seed uint64) error {
	agent, err := fetch(ctx, dir, "org.jacoco.agent", "runtime")
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"-run", "TestKafka_Golden$/^" + build + "$"},
		{"-run", "TestKafka_RandomWalks$", "-args", "-build", build, "-steps", strconv.Itoa(steps), "-seed", strconv.FormatUint(seed, 10)},
	} {
		cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-timeout=3h", "./compat/oracle"}, args...)...)
		cmd.Env = append(os.Environ(), "UNDERSTUDY_MATRIX=1",
			"JAVA_TOOL_OPTIONS=-javaagent:"+agent+"=append=true,includes=org.apache.kafka.raft.*,destfile="+data)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
		}
	}
	return nil
}

// fetch lets Maven copy a jar of JaCoCo.
func fetch(ctx context.Context, dir, artifact, classifier string) (string, error) {
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.7.1:copy",
		"-Dartifact=org.jacoco:"+artifact+":"+jacoco+":jar:"+classifier, "-DoutputDirectory="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetching %s by Maven: %w\n%s", artifact, err, out)
	}
	return filepath.Join(dir, artifact+"-"+jacoco+"-"+classifier+".jar"), nil
}

// summarise makes the XML report of the data.
func summarise(ctx context.Context, dir, data, build string) ([]byte, error) {
	cli, err := fetch(ctx, dir, "org.jacoco.cli", "nodeps")
	if err != nil {
		return nil, err
	}
	classpath, err := oracle.Build{Version: build}.Classpath(ctx)
	if err != nil {
		return nil, err
	}
	_, libs, _ := strings.Cut(classpath, string(os.PathListSeparator))
	file := filepath.Join(dir, "report.xml")
	cmd := exec.CommandContext(ctx, "java", "-jar", cli, "report", data, "--quiet", "--xml", file,
		"--classfiles", filepath.Join(filepath.Dir(libs), "kafka-raft-"+build+".jar"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the report of JaCoCo: %w\n%s", err, out)
	}
	return os.ReadFile(file)
}
