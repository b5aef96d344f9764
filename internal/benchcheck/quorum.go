package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

const (
	clusterID = "Zb2Q7XmVQ3yq0Yt0cJ3n0A"
	listener  = "CONTROLLER"
	voters    = 3
	observers = 12 // as brokers are
	patience  = 30 * time.Second
)

// quorum is nodes of this program, in this process, that reach each other through a proxy. What the second tier judges has to be the
// life of one quorum from end to end: a capture that is played again and again is none.
type quorum struct {
	nodes [voters + observers]node
	proxy *exec.Cmd
}

type node struct {
	*controller.Controller
	key           kraft.ReplicaKey
	behind, front net.Listener // where it listens, and where the proxy will
	ended         chan error
}

// startQuorum formats and starts the nodes, and the given command of the proxy before them.
func startQuorum(dir, binary, command string, args ...string) (q *quorum, err error) {
	q = &quorum{}
	defer func() {
		if err != nil {
			_, _ = q.stop() // what was in the way counts
		}
	}()
	var list []kraft.Voter
	argv := append([]string{command}, args...)
	for i := range q.nodes {
		n := &q.nodes[i]
		for _, ln := range []*net.Listener{&n.behind, &n.front} {
			if *ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				return q, err
			}
		}
		n.key = kraft.ReplicaKey{ID: kraft.NodeID(i + 1), DirectoryID: storage.NewDirectoryID()}
		if i >= voters {
			continue
		}
		list = append(list, kraft.Voter{Key: n.key, Endpoints: n.endpoints(), Versions: kraft.VersionRange{Max: 1}})
		argv = append(argv, "--upstream", fmt.Sprintf("%d=%s=%s", i+1, n.behind.Addr(), n.front.Addr()))
	}
	for i := range q.nodes {
		if err := q.nodes[i].front.Close(); err != nil { // for the proxy
			return q, err
		}
	}
	q.proxy = exec.Command(binary, argv...)
	q.proxy.Stderr = os.Stderr
	if err := q.proxy.Start(); err != nil {
		q.proxy = nil
		return q, err
	}
	set := kraft.NewVoterSet(list...)
	for i := range q.nodes {
		if err := q.start(i, filepath.Join(dir, strconv.Itoa(i+1)), set); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (n *node) address() kraft.Address {
	a := n.front.Addr().(*net.TCPAddr)
	return kraft.Address{Host: "127.0.0.1", Port: uint16(a.Port)}
}

func (n *node) endpoints() kraft.Endpoints {
	return kraft.NewEndpoints(kraft.Endpoint{Name: listener, Address: n.address()})
}

func (q *quorum) start(i int, dir string, set kraft.VoterSet) error {
	n, key := &q.nodes[i], q.nodes[i].key
	spec := storage.FormatSpec{
		ClusterID: clusterID, NodeID: key.ID, DirectoryID: key.DirectoryID, MetadataDir: dir, Controller: true, KRaftVersion: 1,
		Voters: set, OneCheckpoint: true, Now: time.Now(),
	}
	if err := storage.Format(storage.OS(), &spec); err != nil {
		return err
	}
	opened, err := storage.OpenDirectory(storage.OS(), dir, storage.Identity{ClusterID: clusterID, NodeID: key.ID})
	if err != nil {
		return err
	}
	profile, err := compat.ByRelease("4.4.0")
	if err != nil {
		return err
	}
	cfg := controller.Config{
		Directory: opened, Profile: profile, Leadership: controller.Stay, Observer: i >= voters, Endpoints: n.endpoints(),
		Listeners: []controller.Listener{{Name: listener, Listener: n.behind}},
	}
	for k := range voters {
		cfg.BootstrapServers = append(cfg.BootstrapServers, q.nodes[k].address())
	}
	if n.Controller, err = controller.New(cfg); err != nil {
		return err
	}
	n.ended = make(chan error, 1)
	go func() { n.ended <- n.Run(context.Background()) }()
	return nil
}

// load has writers append records for a while, each one after the other, with a pause between two. It returns how many.
func (q *quorum) load(ctx context.Context, length time.Duration, writers int, pause time.Duration) (appended int, err error) {
	leader, err := q.awaitLeader()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	counts, failed := make(chan int), make(chan error, writers)
	for range writers {
		go func() {
			n, value := 0, make([]byte, 100)
			for ; ctx.Err() == nil; time.Sleep(pause) {
				if _, err := leader.Append(ctx, value); err == nil {
					n++
				} else if ctx.Err() == nil {
					failed <- err
					break
				}
			}
			counts <- n
		}()
	}
	for range writers {
		appended += <-counts
	}
	select {
	case err = <-failed:
	default:
	}
	return appended, err
}

func (q *quorum) awaitLeader() (*node, error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if n := q.leader(); n != nil {
			return n, nil
		}
	}
	return nil, errors.New("nobody leads")
}

func (q *quorum) leader() *node {
	for i := range q.nodes {
		if q.nodes[i].Status().Role == kraft.LeaderRole {
			return &q.nodes[i]
		}
	}
	return nil
}

// stop ends the nodes, then the proxy, and returns what the proxy and its checker took: user and system time.
func (q *quorum) stop() (cpu time.Duration, err error) {
	var ended []error
	for i := range q.nodes {
		n := &q.nodes[i]
		if n.ended != nil {
			n.Close()
			ended = append(ended, <-n.ended)
		} else if n.behind != nil {
			_ = n.behind.Close()
		}
	}
	if q.proxy == nil {
		return 0, errors.Join(ended...)
	}
	if err := q.proxy.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	err = errors.Join(append(ended, q.proxy.Wait())...)
	if usage, ok := q.proxy.ProcessState.SysUsage().(*syscall.Rusage); ok { // with its children, which it has waited for
		cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return cpu, err
}
