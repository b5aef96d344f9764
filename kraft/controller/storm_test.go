package controller

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// stormNode makes the test binary a node: its value is "ID DIRECTORY ADDRESS,ADDRESS,ADDRESS". It appends the lines of its standard input
// and answers each by "ok OFFSET LINE" or "no LINE".
const stormNode = "UNDERSTUDY_STORM_NODE"

func beStormNode() int {
	spec := strings.Fields(os.Getenv(stormNode))
	n, err := strconv.Atoi(spec[0])
	if err != nil {
		return 2
	}
	id := kraft.NodeID(n)
	q := quorum{t: panics{}, nodes: map[kraft.NodeID]*testNode{}}
	for i, text := range strings.Split(spec[2], ",") {
		q.nodes[kraft.NodeID(i+1)] = &testNode{address: addressOf(text), dir: spec[1]}
	}
	cfg := q.config(id)
	cfg.Leadership = Stay
	cfg.Timeouts = kraft.QuorumTimeouts{ElectionMs: 100, FetchMs: 700, ElectionBackoffMaxMs: 100, RequestMs: 700, RetryBackoffMs: 20}
	c, err := New(cfg)
	if err != nil {
		panic(err)
	}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			offset, err := c.Append(context.Background(), in.Bytes())
			if err != nil {
				fmt.Printf("no %s\n", in.Text())
				continue
			}
			fmt.Printf("ok %d %s\n", offset, in.Text())
		}
	}()
	if err := c.Run(context.Background()); err != nil {
		panic(err)
	}
	return 0
}

func addressOf(text string) kraft.Address {
	host, port, _ := strings.Cut(text, ":")
	n, _ := strconv.Atoi(port)
	return kraft.Address{Host: host, Port: uint16(n)}
}

// panics is the test of a process that has none.
type panics struct{ testing.TB }

func (panics) Helper()                           {}
func (panics) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (panics) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panics) Log(...any)                        {}

// storm is a quorum of such processes.
type storm struct {
	q     *quorum
	cmds  map[kraft.NodeID]*exec.Cmd
	inlet map[kraft.NodeID]io.WriteCloser
	voted map[kraft.NodeID]map[kraft.Epoch]kraft.ReplicaKey

	readers sync.WaitGroup
	mu      sync.Mutex
	more    *sync.Cond // acked has grown
	acked   map[kraft.Offset]string
	next    int
}

func (s *storm) start(id kraft.NodeID) {
	t := s.q.t
	t.Helper()
	var addresses []string
	for i := range len(s.q.nodes) {
		addresses = append(addresses, s.q.nodes[kraft.NodeID(i+1)].address.String())
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%v %s %s", stormNode, id, s.q.nodes[id].dir, strings.Join(addresses, ",")))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	s.cmds[id], s.inlet[id] = cmd, in
	s.readers.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.answered(lines.Text())
		}
	})
	s.write(id)
}

// write gives a node a record to append. Each answer is followed by another one.
func (s *storm) write(id kraft.NodeID) {
	s.mu.Lock()
	s.next++
	n := s.next
	s.mu.Unlock()
	_, _ = fmt.Fprintf(s.inlet[id], "%v-%d\n", id, n) // the node may have been killed
}

func (s *storm) answered(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rest, ok := strings.CutPrefix(line, "ok "); ok {
		offset, value, _ := strings.Cut(rest, " ")
		n, _ := strconv.ParseInt(offset, 10, 64)
		s.acked[kraft.Offset(n)] = value
	}
	s.more.Broadcast()
}

// feed writes to all nodes until n more records are acknowledged.
func (s *storm) feed(n int) {
	t := s.q.t
	t.Helper()
	s.mu.Lock()
	want := len(s.acked) + n
	s.mu.Unlock()
	for end := time.Now().Add(patience); ; {
		for id := range s.q.nodes {
			s.write(id)
		}
		s.mu.Lock()
		if len(s.acked) >= want {
			s.mu.Unlock()
			return
		}
		wake := time.AfterFunc(10*time.Millisecond, s.more.Broadcast)
		s.more.Wait()
		have := len(s.acked)
		s.mu.Unlock()
		wake.Stop()
		if have >= want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d records are acknowledged", have, want)
		}
	}
}

// kill ends a node by SIGKILL and looks at the vote that it leaves.
func (s *storm) kill(id kraft.NodeID) {
	t := s.q.t
	t.Helper()
	must(t, s.cmds[id].Process.Kill())
	_ = s.cmds[id].Wait() // it was killed
	delete(s.cmds, id)
	state, ok, err := storage.ReadQuorumState(storage.OS(), filepath.Join(s.q.nodes[id].dir, storage.PartitionDir))
	must(t, err)
	if !ok || state.Voted == kraft.NoReplica {
		return
	}
	if s.voted[id] == nil {
		s.voted[id] = map[kraft.Epoch]kraft.ReplicaKey{}
	}
	if before, ok := s.voted[id][state.Epoch]; ok && before != state.Voted {
		t.Errorf("node %v voted for %v and for %v in epoch %d", id, before, state.Voted, state.Epoch)
	}
	s.voted[id][state.Epoch] = state.Voted
}

// TestStorm_KilledNodesLoseNothingAcknowledged: three nodes of ours in processes of their own, of which one or two are killed (SIGKILL)
// again and again while records are written. What was acknowledged is on all three disks in the end, and nobody has voted twice.
func TestStorm_KilledNodesLoseNothingAcknowledged(t *testing.T) {
	kills := 30
	switch {
	case os.Getenv("UNDERSTUDY_MATRIX") != "":
		kills = 200
	case testing.Short():
		kills = 6
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	s := &storm{
		q: newQuorum(t, 3, 3, nil), cmds: map[kraft.NodeID]*exec.Cmd{}, inlet: map[kraft.NodeID]io.WriteCloser{},
		voted: map[kraft.NodeID]map[kraft.Epoch]kraft.ReplicaKey{}, acked: map[kraft.Offset]string{},
	}
	s.more = sync.NewCond(&s.mu)
	t.Cleanup(func() {
		for _, cmd := range s.cmds {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		s.readers.Wait()
	})
	for id := range s.q.nodes {
		s.start(id)
	}
	for done := 0; done < kills; {
		s.feed(1 + dice.IntN(20))
		victims := dice.Perm(3)[:1+dice.IntN(2)]
		for _, v := range victims {
			s.kill(kraft.NodeID(v + 1))
			done++
		}
		for _, v := range victims {
			s.start(kraft.NodeID(v + 1))
		}
	}
	s.feed(1)
	s.settle()
}

// settle waits until all disks hold what was acknowledged.
func (s *storm) settle() {
	t := s.q.t
	t.Helper()
	s.mu.Lock()
	acked := s.acked
	s.acked = map[kraft.Offset]string{} // later ones do not count
	s.mu.Unlock()
	for id, n := range s.q.nodes {
		path := filepath.Join(n.dir, storage.PartitionDir, "00000000000000000000.log")
		for end := time.Now().Add(patience); ; s.feed(1) {
			missing := 0
			held := wholeValues(t, path)
			for offset, value := range acked {
				if held[offset] != value {
					missing++
				}
			}
			if missing == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("node %v lacks %d of %d acknowledged records", id, missing, len(acked))
			}
		}
	}
	t.Logf("%d acknowledged records are on all disks", len(acked))
}

// wholeValues are the records of the whole batches of a file that grows.
func wholeValues(t testing.TB, path string) map[kraft.Offset]string {
	t.Helper()
	log, err := os.ReadFile(path)
	must(t, err)
	size := 0
	for {
		b, _, err := wire.NextBatch(log[size:])
		if err != nil || len(b.Bytes) == 0 {
			return values(t, log[:size])
		}
		size += len(b.Bytes)
	}
}
