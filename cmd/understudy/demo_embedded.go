package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/internal/demo"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/proxy"
)

// embeddedNode is a node of this program in a process of its own: understudy join.
type embeddedNode struct {
	id                 kraft.NodeID
	listen, advertised string
	directory          kraft.DirectoryID
	dir                string
	process            *child.Process // nil: it does not run
}

func (n *embeddedNode) file(name string) string { return filepath.Join(n.dir, name) }

// embedded is a quorum of three of them.
type embedded struct {
	program string
	nodes   []*embeddedNode
}

const embeddedListener = "CONTROLLER"

// own runs the demo with three nodes of this program.
func (s *show) own(ctx context.Context) error {
	s.title("Act 1  Three nodes of understudy elect, lose their leader and elect again, through the proxy")
	act := s.act("embedded")
	q, err := s.newEmbedded()
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	t := newTeller(s.out, s.style, true)
	w, err := s.watch(q.proxy(), "quorum", nil, t.event)
	if err != nil {
		t.end()
		return &exitError{exitRuntime, err}
	}
	act.Recording = w.file()
	story := q.story(ctx, t)
	story = errors.Join(story, q.close()) // before the proxy ends, or they would elect unseen
	report, ended := w.end()
	t.end()
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), os.RemoveAll(s.ownDir()))
	case story != nil:
		return &exitError{exitRuntime, fmt.Errorf("demo: %w\nThe nodes' logs are kept in %s", story, s.ownDir())}
	case ended != nil:
		return &exitError{exitRuntime, ended}
	}
	act.judged(report)
	act.Frames = int(report.Counts.Frames)
	s.say("%d frames passed on and recorded, judged as they came by a checker in a process of its own.", act.Frames)
	truth, err := q.truth()
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	if err := s.ownAftermath(ctx, act, truth); err != nil {
		return err
	}
	return os.RemoveAll(s.ownDir())
}

// ownAftermath holds what was seen against what the nodes say, and plays the recorded quorum of Kafka with the altered vote.
func (s *show) ownAftermath(ctx context.Context, act *demoAct, truth kafka.Truth) error {
	s.title("Act 2  What was recorded, and what the nodes' own logs say")
	if err := s.inspect(act); err != nil {
		return err
	}
	for _, l := range truth.Leaders() {
		act.Kafka = append(act.Kafka, demo.Led{Epoch: l.Epoch, Leader: l.Node})
	}
	if differ := demo.CompareLeaders(s.out, s.style, act.Leaders, act.Kafka); differ > 0 {
		return unexpected("in %d epochs the nodes' logs name another leader than was seen", differ)
	}
	if err := s.conforms(act); err != nil {
		return err
	}
	s.title("Act 3  A recorded quorum of Kafka 4.4.0 plays, with one vote answer altered on its way")
	quorum, err := demo.Load()
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	if err := s.forged(ctx, quorum); err != nil {
		return err
	}
	s.title("All as it should be: three nodes on real files and sockets conform, and the one altered vote was found.")
	return nil
}

// newEmbedded lays the nodes out. Nothing is written yet.
func (s *show) newEmbedded() (*embedded, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ports, err := kafka.TakePorts(6)
	if err != nil {
		return nil, err
	}
	q := &embedded{program: program}
	for i := range 3 {
		id := kraft.NodeID(i + 1)
		q.nodes = append(q.nodes, &embeddedNode{
			id: id, dir: filepath.Join(s.ownDir(), "node-"+id.String()), directory: storage.NewDirectoryID(),
			listen: fmt.Sprintf("127.0.0.1:%d", ports[2*i]), advertised: fmt.Sprintf("127.0.0.1:%d", ports[2*i+1]),
		})
	}
	return q, nil
}

func (q *embedded) proxy() (cfg proxy.Config) {
	for _, n := range q.nodes {
		cfg.Upstreams = append(cfg.Upstreams, proxy.Upstream{Node: n.id, Address: n.listen, Listen: n.advertised})
	}
	return cfg
}

// format writes property files and data directories.
func (q *embedded) format() error {
	var initial, bootstrap []string
	for _, n := range q.nodes {
		initial = append(initial, fmt.Sprintf("%v@%s:%v", n.id, n.advertised, n.directory))
		bootstrap = append(bootstrap, n.advertised)
	}
	cluster := storage.NewDirectoryID().String()
	for _, n := range q.nodes {
		properties := fmt.Sprintf(`process.roles=controller
node.id=%v
listeners=%s://%s
advertised.listeners=%s://%s
controller.listener.names=%s
controller.quorum.bootstrap.servers=%s
controller.quorum.election.timeout.ms=500
controller.quorum.fetch.timeout.ms=1000
log.dirs=%s
`, n.id, embeddedListener, n.listen, embeddedListener, n.advertised, embeddedListener, strings.Join(bootstrap, ","), n.file("data"))
		if err := errors.Join(os.MkdirAll(n.dir, 0o750), os.WriteFile(n.file("node.properties"), []byte(properties), 0o600)); err != nil {
			return err
		}
		flags := formatFlags{config: n.file("node.properties"), clusterID: cluster, initial: strings.Join(initial, ",")}
		if err := format(storage.OS(), &flags, io.Discard); err != nil {
			return err
		}
	}
	return nil
}

func (q *embedded) start(n *embeddedNode) error {
	log, err := os.OpenFile(n.file("node.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has it open itself
	cmd := exec.Command(q.program, "join", "--config", n.file("node.properties"), "--on-leadership", "stay", "--log-format", "kafka")
	cmd.Stdout, cmd.Stderr = log, log
	n.process, err = child.Start(cmd)
	return err
}

// story is what happens to the quorum.
func (q *embedded) story(ctx context.Context, t *teller) error {
	ctx, cancel := context.WithTimeout(ctx, electionTimeout)
	defer cancel()
	if err := q.format(); err != nil {
		return err
	}
	t.did("start nodes 1, 2 and 3")
	for _, n := range q.nodes {
		if err := q.start(n); err != nil {
			return err
		}
	}
	first, err := q.elected(ctx, -1)
	if err != nil {
		return err
	}
	leader := q.nodes[first.Node-1]
	t.did("SIGKILL leader %v", leader.id)
	t.down(leader.id, true)
	if err := leader.end(); err != nil {
		return err
	}
	if _, err := q.elected(ctx, first.Epoch); err != nil {
		return err
	}
	t.down(leader.id, false)
	t.did("start node %v again", leader.id)
	if err := q.start(leader); err != nil {
		return err
	}
	_, err = q.elected(ctx, first.Epoch)
	return err
}

func (n *embeddedNode) end() error {
	p := n.process
	if n.process = nil; p == nil {
		return nil
	}
	return p.Kill()
}

func (q *embedded) close() error {
	var wait sync.WaitGroup
	errs := make([]error, len(q.nodes))
	for i, n := range q.nodes {
		wait.Go(func() { errs[i] = n.end() })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// truth is what the nodes' logs say.
func (q *embedded) truth() (kafka.Truth, error) {
	var all []kafka.Truth
	for _, n := range q.nodes {
		f, err := os.Open(n.file("node.log"))
		if err != nil {
			return kafka.Truth{}, err
		}
		one, err := kafka.ReadLog(f, n.id)
		if err := errors.Join(err, f.Close()); err != nil {
			return kafka.Truth{}, err
		}
		all = append(all, one)
	}
	return kafka.Merge(all...), nil
}

// elected waits until one node leads an epoch above and all others that run follow it.
func (q *embedded) elected(ctx context.Context, above kraft.Epoch) (kafka.Elected, error) {
	for {
		truth, err := q.truth()
		if err != nil {
			return kafka.Elected{}, err
		}
		if e, ok := q.agreed(truth); ok && e.Epoch > above {
			return e, nil
		}
		for _, n := range q.nodes {
			if n.process != nil && n.process.Ended() {
				return kafka.Elected{}, fmt.Errorf("node %v ended by itself: %s", n.id, n.process.Exit())
			}
		}
		select {
		case <-ctx.Done():
			return kafka.Elected{}, fmt.Errorf("waiting for a leader of an epoch above %d: %w", above, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// agreed tells who leads, if the last role of all that run says the same.
func (q *embedded) agreed(truth kafka.Truth) (e kafka.Elected, ok bool) {
	last := map[kraft.NodeID]kafka.Transition{}
	for _, x := range truth.Transitions {
		last[x.Node] = x
		if x.Role == kafka.Leader {
			e = kafka.Elected{Node: x.Node, Epoch: x.Epoch, At: x.At}
		}
	}
	for _, n := range q.nodes {
		x := last[n.id]
		if n.process != nil && (x.Epoch != e.Epoch || x.Leader != e.Node || x.Role != kafka.Leader && x.Role != kafka.Follower) {
			return e, false
		}
	}
	return e, e.Epoch > 0 && q.nodes[e.Node-1].process != nil
}

func (s *show) ownDir() string { return filepath.Join(s.dir, "nodes") }
