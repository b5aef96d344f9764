package explore

import (
	"fmt"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/interact"
	"github.com/understudy-kafka/understudy/kraft/memlog"
)

// Model is a quorum small enough to look at everything that can happen to it.
type Model struct {
	Name    string
	About   string // what it is for, in a sentence
	Release string // of Kafka; empty: the latest

	Nodes   int  // n1, n2, …
	Voters  int  // the first ones; the others are observers at first
	Dynamic bool // kraft.version 1: the voters come from a bootstrap checkpoint and have directory ids

	// Discovery: a node that knows no leader asks any bootstrap server. If false, it asks itself and the request is lost: a run
	// in which nobody learns a leader that way.
	Discovery bool
	// Interrupt: a crash may come in the middle of the actions of an event, before each barrier.
	Interrupt bool
	// AutoJoin: an observer asks to be made a voter when its update-voter timer runs out.
	AutoJoin bool
	// Ends are fatal errors of Kafka's own that the model runs into: the process ends, and only a crash may start it again. Any other one
	// is a violation.
	Ends []kraft.FatalReason

	Epochs kraft.Epoch // nothing goes beyond this epoch
	Budget Budget      // how often in a run each fault and each prompt may come

	// Prelude: n1 is elected and everything settles before the exploration begins. It costs nothing of the budget.
	Prelude bool
	// Sometimes are the actions that must be seen: what the model is there for.
	Sometimes []string
	// twin is a fault of the driver, for tests: what is explored must notice it.
	twin fault
	// Add is the node that a client asks to add, Remove the one to remove; 0: none.
	Add, Remove kraft.NodeID
}

// fault is a way in which a driver may break its contract with the machine.
type fault uint8

const (
	faultless    fault = iota
	skipsPersist       // the quorum-state file is not written
	skipsFlush         // a flush does nothing
	forgetsVote        // a restart does not read the vote
	forgetsEpoch       // a restart does not read the file
	sendsAnyway        // a crash before a barrier is noticed after it: what stands behind it has been sent
)

// Budget bounds how often something may happen in one run. It makes the model finite.
type Budget [budgets]uint8

// What has a budget.
const (
	Timeouts  = iota // an election, fetch, check-quorum or voter-change timer runs out
	Announces        // a leader's begin-quorum-epoch timer runs out, after the first time
	Retries          // all request and backoff timers of a node have run out
	Losses           // a message gets lost, or its connection breaks
	Copies           // a message arrives twice
	Crashes          // a node crashes and restarts
	Wipes            // a crash that loses the disk: the node restarts with a new directory id
	Appends          // a client appends a record
	Expiries         // a parked Fetch has waited for long enough
	Changes          // a client asks for a voter change
	Snapshots        // a snapshot of what is committed is made, and the log begins behind it
	Updates          // an update-voter timer runs out
	Resigns          // a leader is asked to resign
	budgets
)

var budgetNames = [budgets]string{
	"timeouts", "announces", "retries", "losses", "copies", "crashes", "wipes", "appends", "expiries", "changes", "snapshots", "updates",
	"resigns",
}

const (
	maxNodes  = 4
	maxEpochs = 7
	maxBudget = 15
	now       = kraft.Instant(1) // time stands still
	version   = 18               // of all requests; the machines look at those of Vote, BeginQuorumEpoch and Fetch
	clusterID = "explored"
)

func (m *Model) validate() error {
	if m.Nodes < 1 || m.Nodes > maxNodes || m.Voters < 1 || m.Voters > m.Nodes || m.Epochs > maxEpochs {
		return fmt.Errorf("model %s: %d nodes, %d voters, %d epochs: at most %d nodes and %d epochs can be explored", m.Name, m.Nodes,
			m.Voters, m.Epochs, maxNodes, maxEpochs)
	}
	if m.Budget[Wipes] > 0 && !m.Dynamic {
		return fmt.Errorf("model %s: static voters have no directory ids, so a wiped one may vote twice", m.Name)
	}
	for i, n := range m.Budget {
		if n > maxBudget {
			return fmt.Errorf("model %s: a budget of %d %s, want at most %d", m.Name, n, budgetNames[i], maxBudget)
		}
	}
	return nil
}

func nodeID(i int) kraft.NodeID { return kraft.NodeID(i + 1) }

func endpoints(i int) kraft.Endpoints {
	return kraft.NewEndpoints(kraft.Endpoint{Name: interact.Channel, Address: interact.Address(nodeID(i))})
}

// directory is the directory id of a node: the one it was made with, or that of its disk after so many wipes.
func directory(i int, wipes uint8) kraft.DirectoryID {
	if wipes == 0 {
		return interact.Directory(nodeID(i), "")
	}
	return interact.Directory(nodeID(i), string(rune('a'+wipes-1)))
}

func (m *Model) voters() kraft.VoterSet {
	var list []kraft.Voter
	for i := range m.Voters {
		v := kraft.Voter{Key: kraft.ReplicaKey{ID: nodeID(i)}, Endpoints: endpoints(i)}
		if m.Dynamic {
			v.Key.DirectoryID, v.Versions = directory(i, 0), kraft.VersionRange{Max: 1}
		}
		list = append(list, v)
	}
	return kraft.NewVoterSet(list...)
}

// config is what a node starts with.
func (m *Model) config(i int, wipes uint8) (kraft.Config, error) {
	release := m.Release
	if release == "" {
		release = "4.4.0"
	}
	profile, err := compat.ByRelease(release)
	if err != nil {
		return kraft.Config{}, fmt.Errorf("model %s: %w", m.Name, err)
	}
	c := kraft.Config{
		ID: nodeID(i), DirectoryID: directory(i, wipes), ClusterID: clusterID, Rules: profile.Rules, Timeouts: kraft.DefaultTimeouts(),
		Listener: interact.Channel, Endpoints: endpoints(i), KRaftVersions: kraft.VersionRange{Max: 1}, CanBecomeVoter: true,
		FetchMaxWaitMs: 500, FetchMaxBytes: 1 << 20, FetchSnapshotMaxBytes: snapshotSize / 2,
	}
	c.AutoJoin = m.AutoJoin
	if m.Dynamic {
		for j := range m.Nodes {
			c.BootstrapServers = append(c.BootstrapServers, interact.Address(nodeID(j)))
		}
	} else {
		c.StaticVoters = m.voters()
	}
	return c, nil
}

// snapshotSize is that of every snapshot: two pieces.
const snapshotSize = 2

func (m *Model) disk() *memlog.Log {
	log := memlog.New()
	if m.Dynamic {
		log.AddSnapshot(kraft.BootstrapSnapshot, snapshotSize, kraft.SnapshotContents{
			KRaftVersion: 1, HasKRaftVersion: true, Voters: m.voters(), HasVoters: true,
		})
	}
	return log
}

// permutations are the renamings that change nothing: of voters that no client asks for, among themselves.
func (m *Model) permutations(symmetry bool) [][maxNodes]uint8 {
	identity := [maxNodes]uint8{0, 1, 2, 3}
	all := [][maxNodes]uint8{identity}
	if !symmetry {
		return all
	}
	free := make([]int, 0, maxNodes)
	for i := range m.Voters {
		if nodeID(i) != m.Add && nodeID(i) != m.Remove {
			free = append(free, i)
		}
	}
	var extend func(p [maxNodes]uint8, at int)
	extend = func(p [maxNodes]uint8, at int) {
		if at == len(free) {
			if p != identity {
				all = append(all, p)
			}
			return
		}
		for j := at; j < len(free); j++ {
			q := p
			q[free[at]], q[free[j]] = p[free[j]], p[free[at]]
			extend(q, at+1)
		}
	}
	extend(identity, 0)
	return all
}
