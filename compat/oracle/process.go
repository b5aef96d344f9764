package oracle

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/internal/need"
)

// Oracle is a running harness. It is not safe for concurrent use.
type Oracle struct {
	Build Build
	Calls int64 // commands so far

	jvm    *child.Process // dies with this process
	in     io.WriteCloser
	to     *bufio.Writer
	out    *bufio.Reader
	stderr tail
	record io.Writer
	line   []byte
	hung   *time.Timer // ends a process that does not answer: Kafka itself can loop for ever
}

// patience is how long a command may take, on a machine that has other work too.
const patience = 10 * time.Minute

// defaultJVM suits runs up to some 10^5 commands: a cold C2 compiler halves the throughput.
var defaultJVM = []string{"-XX:+UseSerialGC", "-Xmx256m", "-XX:TieredStopAtLevel=1"}

// Start prepares the build and starts its harness. Close ends it.
func Start(ctx context.Context, b Build) (*Oracle, error) {
	if _, err := need.Tool("java"); err != nil {
		return nil, err
	}
	classpath, err := b.Classpath(ctx)
	if err != nil {
		return nil, err
	}
	args := append(append([]string{}, defaultJVM...), b.JVM...)
	o := &Oracle{Build: b}
	cmd := exec.CommandContext(ctx, "java", append(args, "-cp", classpath, "org.apache.kafka.raft.OracleMain")...)
	cmd.Stderr = &o.stderr
	if o.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.to, o.out = bufio.NewWriterSize(o.in, 1<<16), bufio.NewReaderSize(out, 1<<16)
	if o.jvm, err = child.Start(cmd); err != nil {
		return nil, fmt.Errorf("starting the oracle of Kafka %s: %w", b.Version, err)
	}
	hello, err := o.Do(Command{Cmd: "hello"})
	if err == nil && b.Libs == "" && hello.Kafka != b.Version {
		err = fmt.Errorf("the jars are of Kafka %s, not %s", hello.Kafka, b.Version)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("oracle of Kafka %s: %w", b.Version, err), o.Close())
	}
	return o, nil
}

// Record keeps every command from now on, one JSON object a line, as the harness reads them.
func (o *Oracle) Record(w io.Writer) { o.record = w }

// Do carries out a command. An error means that the harness itself failed; what went wrong inside the client is
// in the answer.
func (o *Oracle) Do(c Command) (*Answer, error) {
	line, err := c.AppendJSON(nil)
	if err != nil {
		return nil, fmt.Errorf("oracle command %s: %w", c.Cmd, err)
	}
	raw, err := o.DoLine(line)
	if err != nil {
		return nil, err
	}
	a := &Answer{Raw: slices.Clone(raw)}
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, fmt.Errorf("oracle answered %.200q: %w", raw, err)
	}
	return a, nil
}

// DoLine carries out a command that is JSON already. The answer is valid until the next call.
func (o *Oracle) DoLine(line []byte) ([]byte, error) {
	if err := o.Post(line); err != nil {
		return nil, err
	}
	if err := o.Flush(); err != nil {
		return nil, err
	}
	return o.Next()
}

// Post sends a command ahead. Its answer comes by Next, in order; the harness need not see the command before Flush.
// One goroutine may call Post and Flush while another calls Next.
func (o *Oracle) Post(line []byte) error {
	if o.record != nil {
		if _, err := o.record.Write(append(slices.Clip(line), '\n')); err != nil {
			return fmt.Errorf("recording the session: %w", err)
		}
	}
	_, err := o.to.Write(line)
	if err == nil {
		err = o.to.WriteByte('\n')
	}
	if err != nil {
		return fmt.Errorf("oracle of Kafka %s: %w%s", o.Build.Version, err, &o.stderr)
	}
	o.Calls++
	return nil
}

// Flush lets the harness see all commands posted.
func (o *Oracle) Flush() error {
	if err := o.to.Flush(); err != nil {
		return fmt.Errorf("oracle of Kafka %s: %w%s", o.Build.Version, err, &o.stderr)
	}
	return nil
}

// Next is the answer to the first command that has none yet. It is valid until the next call.
func (o *Oracle) Next() ([]byte, error) {
	if o.hung == nil {
		o.hung = time.AfterFunc(patience, func() { _ = o.jvm.Kill() })
	} else {
		o.hung.Reset(patience)
	}
	defer o.hung.Stop()
	answer, err := o.out.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		o.line = append(o.line[:0], answer...)
		answer, err = o.out.ReadBytes('\n')
		o.line = append(o.line, answer...)
		answer = o.line
	}
	if err != nil {
		return nil, fmt.Errorf("oracle of Kafka %s ended: %w%s", o.Build.Version, err, &o.stderr)
	}
	return answer, nil
}

// Close ends the harness and waits for it.
func (o *Oracle) Close() error {
	if _, err := io.WriteString(o.in, "{\"cmd\":\"quit\"}\n"); err != nil {
		_ = o.jvm.Kill() // it has ended or is about to: Exit tells
	}
	_ = o.in.Close()
	select {
	case <-o.jvm.Done():
	case <-time.After(patience):
		_ = o.jvm.Kill()
		<-o.jvm.Done()
	}
	if o.jvm.ExitCode() != 0 {
		return fmt.Errorf("oracle of Kafka %s: %s%s", o.Build.Version, o.jvm.Exit(), &o.stderr)
	}
	return nil
}

// tail keeps the end of what was written to it.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if n := len(t.text) - 4096; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	if text := strings.TrimSpace(string(t.text)); text != "" {
		return "\n" + text
	}
	return ""
}
