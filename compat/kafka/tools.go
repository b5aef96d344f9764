package kafka

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/kraft"
)

// Description is what MetadataQuorumCommand says of a quorum.
type Description struct {
	ClusterID      string
	Leader         kraft.NodeID
	Epoch          kraft.Epoch
	HighWatermark  kraft.Offset
	MaxFollowerLag kraft.Offset
	Voters         []DescribedReplica
	Observers      []DescribedReplica
}

// DescribedReplica is a voter or observer in a Description.
type DescribedReplica struct {
	Key       kraft.ReplicaKey
	Endpoints []string // of voters
}

// Describe asks the quorum, through the advertised addresses of the given controllers (none given: all), with Kafka's own tool. Right
// after an election the tool may find a node that does not know the new leader: it is asked again until ctx ends.
func (q *Quorum) Describe(ctx context.Context, through ...kraft.NodeID) (Description, error) {
	nodes := q.Nodes()
	if len(through) > 0 {
		nodes = slices.DeleteFunc(nodes, func(n Node) bool { return !slices.Contains(through, n.ID) })
	}
	for {
		out, err := q.Tool(ctx, quorumClass, "--bootstrap-controller", bootstrapList(nodes), "describe", "--status")
		if err == nil {
			return parseDescription(out)
		}
		if ctx.Err() != nil {
			return Description{}, fmt.Errorf("describe the quorum: %w", err)
		}
	}
}

func parseDescription(out string) (Description, error) {
	d := Description{Leader: kraft.NoNode, Epoch: -1, HighWatermark: -1, MaxFollowerLag: -1}
	seen := 0
	for l := range strings.Lines(out) {
		label, value, ok := strings.Cut(strings.TrimSpace(l), ":")
		value = strings.TrimSpace(value)
		if !ok {
			continue
		}
		var err error
		switch label {
		case "ClusterId":
			d.ClusterID = value
		case "LeaderId":
			err = scan(value, &d.Leader)
		case "LeaderEpoch":
			err = scan(value, &d.Epoch)
		case "HighWatermark":
			err = scan(value, &d.HighWatermark)
		case "MaxFollowerLag":
			err = scan(value, &d.MaxFollowerLag)
		case "CurrentVoters":
			d.Voters, err = parseReplicas(value)
		case "CurrentObservers":
			d.Observers, err = parseReplicas(value)
		default:
			continue
		}
		if err != nil {
			return d, fmt.Errorf("describe the quorum: %s: %w", label, err)
		}
		seen++
	}
	if seen < 7 {
		return d, fmt.Errorf("describe the quorum: the tool printed only %d of 7 fields: %s", seen, child.Tail(out, 12))
	}
	return d, nil
}

func scan[T kraft.NodeID | kraft.Epoch | kraft.Offset](text string, to *T) error {
	n, err := strconv.ParseInt(text, 10, 64)
	*to = T(n)
	return err
}

// parseReplicas reads the JSON of a voter or observer list; a static quorum has no directory ids (null up to
// 4.0, absent later).
func parseReplicas(text string) ([]DescribedReplica, error) {
	var raw []struct {
		ID          kraft.NodeID `json:"id"`
		DirectoryID *string      `json:"directoryId"`
		Endpoints   []string     `json:"endpoints"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, err
	}
	var all []DescribedReplica
	for _, r := range raw {
		one := DescribedReplica{Key: kraft.ReplicaKey{ID: r.ID}, Endpoints: r.Endpoints}
		if r.DirectoryID != nil {
			id, err := kraft.ParseDirectoryID(*r.DirectoryID)
			if err != nil {
				return nil, err
			}
			one.Key.DirectoryID = id
		}
		all = append(all, one)
	}
	return all, nil
}

// Tool runs one of Kafka's command line tools, of the quorum's main release, and returns what it printed.
func (q *Quorum) Tool(ctx context.Context, class string, args ...string) (string, error) {
	if len(q.cfg.AdminProperties) > 0 {
		file := filepath.Join(q.cfg.Dir, "admin.properties")
		if err := Properties(q.cfg.AdminProperties).write(file); err != nil {
			return "", err
		}
		args = append([]string{"--command-config", file}, args...)
	}
	out, err := runClass(ctx, q.members[0].dist, class, args...)
	if err != nil {
		return out, fmt.Errorf("%s %s: %w", class, strings.Join(args, " "), err)
	}
	return out, nil
}

// AddController makes a running observer a voter of a dynamic quorum (KIP-853), once all that run know the leader: a
// tool that asks a node which knows none waits for a minute and gives up. A leader that has not yet seen the observer
// caught up refuses with REQUEST_TIMED_OUT, which means "ask again".
func (q *Quorum) AddController(ctx context.Context, id kraft.NodeID) error {
	for {
		if err := q.WaitReady(ctx); err != nil {
			return fmt.Errorf("add controller %s: %w", id, err)
		}
		// The tool takes the new voter's id, listeners and directory from its own properties file.
		_, err := runClass(ctx, q.members[0].dist, quorumClass,
			"--command-config", q.member(id).ConfigFile, "--bootstrap-controller", bootstrapList(q.Nodes()), "add-controller")
		switch {
		case err == nil:
			return nil
		case ctx.Err() == nil && strings.Contains(err.Error(), "since it is lagging behind"):
			continue // each try is a process of a second
		}
		return fmt.Errorf("add controller %s: %w", id, err)
	}
}

// RemoveController takes a voter out of a dynamic quorum. Its process goes on as an observer.
func (q *Quorum) RemoveController(ctx context.Context, id kraft.NodeID) error {
	if err := q.WaitReady(ctx); err != nil {
		return fmt.Errorf("remove controller %s: %w", id, err)
	}
	_, err := q.Tool(ctx, quorumClass, "--bootstrap-controller", bootstrapList(q.Nodes()),
		"remove-controller", "--controller-id", id.String(), "--controller-directory-id", q.member(id).Directory.String())
	return err
}

// UpgradeKRaftVersion raises kraft.version to 1, which turns a static quorum into a dynamic one. The tool says
// success on 3.9 and 4.0 although nothing changes there, so those are refused.
func (q *Quorum) UpgradeKRaftVersion(ctx context.Context) error {
	for _, m := range q.members {
		if !m.Release.AtLeast(4, 1) {
			return fmt.Errorf("upgrade kraft.version: node %s is release %s, which cannot (KIP-853 completed in 4.1)", m.ID, m.Release)
		}
	}
	if err := q.WaitReady(ctx); err != nil {
		return fmt.Errorf("upgrade kraft.version: %w", err)
	}
	_, err := q.Tool(ctx, featuresClass, "--bootstrap-controller", bootstrapList(q.Nodes()), "upgrade", "--feature", "kraft.version=1")
	return err
}

// Wipe deletes what a node that is not running has on its disk and formats it anew with the same directory
// id: a dynamic voter with another one would be no voter. It must fetch everything from the others.
func (q *Quorum) Wipe(id kraft.NodeID) error {
	if q.Running(id) {
		return fmt.Errorf("wipe node %s: it is running", id)
	}
	m := q.member(id)
	if err := os.RemoveAll(m.DataDir); err != nil {
		return fmt.Errorf("wipe node %s: %w", id, err)
	}
	return writeMeta(m.DataDir, q.ClusterID, id, m.Directory)
}
