package kafka

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/understudy-kafka/understudy/internal/child"
)

// Dist is an installed release of Kafka that can run its classes as processes of this machine: jars from
// Maven, an unpacked download, or a container image on the host's network.
type Dist interface {
	Release() Release
	// Command prepares a process that runs a class of Kafka. It is not started yet. Paths among the arguments
	// are paths of this machine.
	Command(ctx context.Context, jvm JVM, class string, args ...string) *exec.Cmd
}

// Engine is a Dist that runs Kafka's classes in its own way, such as in containers, in place of Command. They
// must see this machine's network, and the files of the quorum under the same paths.
type Engine interface {
	Dist
	// StartNode starts a node, whose output goes to out until it has ended; then out is closed. ctx bounds the start
	// alone.
	StartNode(ctx context.Context, jvm JVM, n Node, out io.WriteCloser) (Process, error)
	// RunClass runs a short-lived class and returns what it printed on stdout; the error has the rest.
	RunClass(ctx context.Context, jvm JVM, class string, args ...string) (string, error)
}

// Process is a node that runs. Its Kill and Stop return when it has ended, and it has ended when all that it wrote
// is in its log.
type Process interface {
	Pid() int
	Done() <-chan struct{} // closed when it has ended
	Ended() bool
	Exit() string // how it ended
	Signal(sig syscall.Signal) error
	Kill() error
	Stop(ctx context.Context) error // SIGTERM, and SIGKILL when the context ends first
}

// startNode starts a node by whatever means the Dist has, and closes out in the end.
func startNode(ctx context.Context, d Dist, jvm JVM, n Node, out *os.File) (Process, error) {
	if e, ok := d.(Engine); ok {
		return e.StartNode(ctx, jvm, n, out)
	}
	cmd := d.Command(context.Background(), jvm, NodeClass, n.ConfigFile) // it outlives ctx; Close ends it
	defer func() { _ = out.Close() }()                                   // the process has it open itself
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Dir = n.Dir
	p, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// runClass runs a tool by whatever means the Dist has.
func runClass(ctx context.Context, d Dist, class string, args ...string) (string, error) {
	if e, ok := d.(Engine); ok {
		return e.RunClass(ctx, JVM{}, class, args...)
	}
	return child.Run(d.Command(ctx, JVM{}, class, args...))
}

// Source finds or fetches releases.
type Source func(ctx context.Context, release Release) (Dist, error)

// JVM is what a process of Kafka runs with. The zero value suits a short-lived tool.
type JVM struct {
	HeapMB    int       // 0: 192
	RootLevel string    // log level of everything; "": ERROR, so that a tool's output is its own
	RaftLevel RaftLevel // log level of org.apache.kafka.raft; "": RootLevel
	Flags     []string  // further flags, such as -javaagent
}

// RaftLevel is the log level of Kafka's raft classes.
type RaftLevel string

// What each level adds: Info has every role change and Vote answer, Debug the moves of the high watermark and
// why a vote was refused, Trace every raft request and response as text (about 25 kB/s for each controller).
const (
	Info  RaftLevel = "INFO"
	Debug RaftLevel = "DEBUG"
	Trace RaftLevel = "TRACE"
)

// Classes of Kafka that this package runs.
const (
	NodeClass     = "kafka.Kafka"
	storageClass  = "kafka.tools.StorageTool"
	quorumClass   = "org.apache.kafka.tools.MetadataQuorumCommand"
	featuresClass = "org.apache.kafka.tools.FeatureCommand"
)

// jars is a Dist made of jar files and a local Java.
type jars struct {
	release   Release
	java      java
	classPath string // sorted: an AppCDS archive is valid for one order only
	dir       string // holds the log configuration and the archives
	archive   string // "" if there is none
}

func (d *jars) Release() Release { return d.release }

func (d *jars) Command(ctx context.Context, jvm JVM, class string, args ...string) *exec.Cmd {
	all := append(d.flags(jvm), "-cp", d.classPath, class)
	return exec.CommandContext(ctx, d.java.Path, append(all, args...)...)
}

func (d *jars) flags(jvm JVM) []string {
	var archive []string
	if d.archive != "" {
		archive = []string{"-Xshare:auto", "-XX:SharedArchiveFile=" + d.archive, "-Xlog:cds=off", "-Xlog:cds+dynamic=off"}
	}
	return append(archive, jvm.Arguments(d.release, d.dir)...)
}

// Arguments are the command line of a JVM, before the class path. The log configuration of [WriteLogConfig] lies in
// a directory that the JVM sees.
func (jvm JVM) Arguments(release Release, logConfig string) []string {
	heap := jvm.HeapMB
	if heap == 0 {
		heap = 192
	}
	level := jvm.RootLevel
	if level == "" {
		level = "ERROR"
	}
	raft := jvm.RaftLevel
	if raft == "" {
		raft = RaftLevel(level)
	}
	// C1 and the serial collector halve what a start costs; a controller of a test never gets hot enough for C2.
	flags := []string{
		"-Xmx" + strconv.Itoa(heap) + "m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Duser.timezone=UTC", "-Droot.level=" + level, "-Draft.level=" + string(raft),
	}
	if release.log4j1() {
		flags = append(flags, "-Dlog4j.configuration=file:"+filepath.Join(logConfig, log4j1File))
	} else {
		flags = append(flags, "-Dlog4j2.configurationFile="+filepath.Join(logConfig, log4j2File))
	}
	return append(flags, jvm.Flags...)
}

// DefaultSource takes home if it is not empty; else KAFKA_HOME, if that is of the release asked for; else
// Maven's jars.
func DefaultSource(home string, progress func(string)) Source {
	if home != "" {
		return Home(home, progress)
	}
	env := os.Getenv("KAFKA_HOME")
	if env == "" {
		return Maven(progress)
	}
	return func(ctx context.Context, release Release) (Dist, error) {
		if found, _, err := readHome(env); err == nil && found == release {
			return Home(env, progress)(ctx, release)
		}
		return Maven(progress)(ctx, release)
	}
}

// cacheDir is this user's directory for what is fetched or made once.
func cacheDir(parts ...string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for Kafka's jars: %w", err)
	}
	dir := filepath.Join(append([]string{base, "understudy", "kafka"}, parts...)...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cache directory for Kafka's jars: %w", err)
	}
	return dir, nil
}

// open makes a Dist of jar files: it writes the log configuration and sees to the AppCDS archive.
func open(ctx context.Context, release Release, dir string, files []string, progress func(string)) (Dist, error) {
	j, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	d := &jars{release: release, java: j, dir: dir, classPath: strings.Join(files, string(os.PathListSeparator))}
	if err := WriteLogConfig(dir); err != nil {
		return nil, err
	}
	if d.archive, err = sharedArchive(ctx, d, progress); err != nil {
		return nil, err
	}
	return d, nil
}

func report(progress func(string), format string, args ...any) {
	if progress != nil {
		progress(fmt.Sprintf(format, args...))
	}
}
