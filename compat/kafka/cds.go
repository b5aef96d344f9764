package kafka

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/internal/filelock"
)

// sharedArchive returns the AppCDS archive of a release under this very Java, made once. It halves the start of
// a node and cuts its CPU time 2.5x. Without one everything works, slower: so a Java that cannot make
// it (no class data sharing) is reported and not refused.
func sharedArchive(ctx context.Context, d *jars, progress func(string)) (string, error) {
	sum := sha256.Sum256([]byte(d.classPath)) // the archive is bound to the class path
	archive := filepath.Join(d.dir, fmt.Sprintf("%s-%s.jsa", d.java.ID, hex.EncodeToString(sum[:4])))
	if _, err := os.Stat(archive); err == nil {
		return archive, nil
	}
	lock, err := filelock.Wait(ctx, archive+".lock")
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if _, err := os.Stat(archive); err == nil {
		return archive, nil
	}
	report(progress, "preparing Kafka %s for fast starts on Java %d (once, some seconds)", d.release, d.java.Major)
	partial := archive + ".partial"
	_ = os.Remove(partial)
	if err := recordClasses(ctx, d, partial); err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		report(progress, "no class data archive for Kafka %s, starts will be slower: %v", d.release, err)
		return "", nil
	}
	return archive, os.Rename(partial, archive)
}

// recordClasses runs one combined node from start to orderly end, which is what writes an archive.
func recordClasses(ctx context.Context, d *jars, archive string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "understudy-cds-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	taken, err := TakePorts(2)
	if err != nil {
		return err
	}
	controller := "127.0.0.1:" + strconv.Itoa(taken[0])
	data := filepath.Join(dir, "data")
	node := Properties{
		"process.roles":                  "broker,controller",
		"node.id":                        "1",
		"listeners":                      "CONTROLLER://" + controller + ",PLAINTEXT://127.0.0.1:" + strconv.Itoa(taken[1]),
		"controller.listener.names":      "CONTROLLER",
		"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
		"controller.quorum.voters":       "1@" + controller,
		"log.dirs":                       data,
	}.with(brokerProperties)
	file := filepath.Join(dir, "node.properties")
	if err := errors.Join(node.write(file), writeMeta(data, newClusterID(), 1, newDirectoryID())); err != nil {
		return err
	}
	started := &watcher{want: []byte("Kafka Server started"), seen: make(chan struct{})}
	cmd := d.Command(ctx, JVM{RootLevel: "INFO", Flags: []string{"-XX:ArchiveClassesAtExit=" + archive}}, NodeClass, file)
	cmd.Stdout, cmd.Stderr = started, started
	p, err := child.Start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-started.seen:
	case <-p.Done():
		return fmt.Errorf("the node ended (%s): %s", p.Exit(), child.Tail(started.all.String(), 8))
	}
	if err := p.Stop(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(archive); err != nil {
		return fmt.Errorf("no archive was written: %s", child.Tail(started.all.String(), 4))
	}
	return nil
}

// watcher is a writer that says when a text has passed.
type watcher struct {
	want  []byte
	seen  chan struct{}
	found bool
	all   bytes.Buffer
}

func (w *watcher) Write(b []byte) (int, error) {
	w.all.Write(b)
	if !w.found && bytes.Contains(w.all.Bytes(), w.want) {
		w.found = true
		close(w.seen)
	}
	return len(b), nil
}
