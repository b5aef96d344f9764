package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// Target is what is known of the node under test before the first case.
type Target struct {
	Address string
	Profile compat.Profile
	// Detected says how the profile was found: its candidates, when what the node says fits several.
	Detected string
	Software string // metadata.version range, for reports

	Leads        bool
	Leader       kraft.NodeID
	Epoch        kraft.Epoch
	KRaftVersion int64
	facts        facts
}

// Role is the target's role as far as cases distinguish it.
func (t *Target) Role() Role {
	if t.Leads {
		return Leader
	}
	return Follower
}

// settled are the facts that an idle quorum keeps: the log's end and its high watermark are not among them.
var settled = []string{"logStart", "snapshotEnd", "snapshotEpoch", "voters", "observers", "directory"}

// same reports whether both know the same of the quorum, so that what was expected before a case is expected after it.
func (t *Target) same(other *Target) bool { return t.change(other) == "" }

// change says what another, later target knows otherwise of the quorum; "" if nothing.
func (t *Target) change(now *Target) string {
	var list []string
	add := func(what string, was, is any) {
		if was != is {
			list = append(list, fmt.Sprintf("%s %v -> %v", what, said(was), said(is)))
		}
	}
	add("epoch", t.Epoch, now.Epoch)
	add("leader", t.Leader, now.Leader)
	add("role", t.Role(), now.Role())
	for _, name := range settled {
		add(name, t.facts[name], now.facts[name])
	}
	return strings.Join(list, ", ")
}

// said is a fact for a reader.
func said(fact any) any {
	switch x := fact.(type) {
	case nil:
		return "unknown"
	case [16]byte:
		return kraft.DirectoryID(x)
	}
	return fact
}

func (t *Target) String() string {
	return fmt.Sprintf("%s: %s in epoch %d, leader %s, kraft.version %d, profile %s", t.Address, t.Role(), t.Epoch, t.Leader, t.KRaftVersion, t.Profile.Build)
}

// ErrUndecided says that nothing can be expected of the target: it knows no leader, or its release is not known.
var ErrUndecided = errors.New("nothing can be judged")

// errNoLeader says that the target knows no leader, so that next to nothing can be expected of it.
var errNoLeader = fmt.Errorf("%w: the target knows no leader", ErrUndecided)

// ErrNoController says that the target is something else than a controller.
var ErrNoController = errors.New("no controller listens there")

// strangeSpeech says what to make of a first answer that is none.
func strangeSpeech(err error) error {
	switch {
	case errors.Is(err, wire.ErrMalformed):
		return fmt.Errorf("%w: what it answers is not Kafka's protocol, or is encrypted (then --command-config is needed): %w", ErrNoController, err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("it closes the connection instead of answering ApiVersions; a listener with TLS or SASL needs --command-config: %w", err)
	}
	return err
}

// settleFor is how long discovery waits for a leader.
const settleFor = 10 * time.Second

// discover learns the facts by asking what any client may ask.
func discover(ctx context.Context, o *Options) (*Target, error) {
	deadline := time.Now().Add(settleFor)
	for {
		t, err := discoverOnce(ctx, o)
		if err == nil || !errors.Is(err, errNoLeader) || time.Now().After(deadline) {
			return t, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func discoverOnce(ctx context.Context, o *Options) (*Target, error) {
	c, err := dial(ctx, o, o.Address)
	if err != nil {
		return nil, err
	}
	defer c.close()
	t := &Target{Address: o.Address, facts: facts{"max": int64(1<<63 - 1)}}
	if err := t.askVersions(c, o.Release); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Address, err)
	}
	endpoint, err := t.askLeader(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Address, err)
	}
	t.askCluster(ctx, o)
	if err := t.askQuorum(ctx, c, o, endpoint); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Address, err)
	}
	return t, nil
}

func (t *Target) askVersions(c *client, release string) error {
	req := &kmsg.ApiVersionsRequest{Version: 3, ClientSoftwareName: clientName, ClientSoftwareVersion: "1"}
	resp, err := c.request(req)
	if err != nil {
		return strangeSpeech(err)
	}
	versions := resp.(*kmsg.ApiVersionsResponse)
	if !slices.ContainsFunc(versions.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool {
		return k.ApiKey == wire.KeyVote || k.ApiKey == wire.KeyBeginQuorumEpoch || k.ApiKey == wire.KeyEndQuorumEpoch
	}) {
		return fmt.Errorf("%w: it serves %d requests, but none of elections, as a broker's listener does: name one of controller.listener.names", ErrNoController, len(versions.ApiKeys))
	}
	for i := range versions.FinalizedFeatures {
		if f := &versions.FinalizedFeatures[i]; f.Name == compat.KRaftVersionFeature {
			t.KRaftVersion = int64(f.MaxVersionLevel)
		}
	}
	t.facts["kraftVersion"] = t.KRaftVersion
	if release != "" {
		t.Profile, err = compat.ByRelease(release)
		t.Detected = "as told"
		return err
	}
	return t.detect(versions)
}

// askLeader asks for records in epoch 0, which no node has led: the refusal tells the leader.
func (t *Target) askLeader(c *client) (endpoint string, err error) {
	req := baseline(wire.KeyFetch, 17).(*kmsg.FetchRequest)
	req.Topics[0].Partitions[0].CurrentLeaderEpoch = 0
	resp, err := c.request(req)
	if err != nil {
		return "", err
	}
	fetch := resp.(*kmsg.FetchResponse)
	if len(fetch.Topics) != 1 || len(fetch.Topics[0].Partitions) != 1 {
		return "", fmt.Errorf("a Fetch of the metadata partition is answered with %s and no partition", wire.ErrorName(kraft.ErrorCode(fetch.ErrorCode)))
	}
	p := &fetch.Topics[0].Partitions[0]
	if p.CurrentLeader.LeaderID < 0 {
		return "", fmt.Errorf("%w (epoch %d)", errNoLeader, p.CurrentLeader.LeaderEpoch)
	}
	t.Leader, t.Epoch = kraft.NodeID(p.CurrentLeader.LeaderID), kraft.Epoch(p.CurrentLeader.LeaderEpoch)
	t.facts["leader"], t.facts["epoch"] = int64(t.Leader), int64(t.Epoch)
	t.facts["logStart"] = p.LogStartOffset
	t.facts["oldEpoch"] = int64(t.Epoch) - 1
	if t.Epoch > 1 {
		t.facts["oldVoteEpoch"] = int64(t.Epoch) - 1 // above the epoch of an empty log
	}
	for i := range fetch.Brokers {
		if b := &fetch.Brokers[i]; b.NodeID == p.CurrentLeader.LeaderID {
			t.facts["leaderHost"], t.facts["leaderPort"] = b.Host, int64(b.Port)
			endpoint = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		}
	}
	return endpoint, nil
}

// askCluster learns the cluster id and which node this is, on a connection of its own: a node that does not know the
// request closes it, and leaves them unknown.
func (t *Target) askCluster(ctx context.Context, o *Options) {
	if o.ClusterID != "" {
		t.facts["cluster"] = o.ClusterID
	}
	if o.NodeID >= 0 {
		t.facts["node"] = int64(o.NodeID)
	}
	c, err := dial(ctx, o, o.Address)
	if err != nil {
		return
	}
	defer c.close()
	resp, err := c.request(&kmsg.DescribeClusterRequest{Version: 1, EndpointType: 2})
	if err != nil {
		return
	}
	cluster := resp.(*kmsg.DescribeClusterResponse)
	if cluster.ErrorCode != 0 {
		return
	}
	t.facts["cluster"] = cluster.ClusterID
	if o.NodeID >= 0 {
		return
	}
	for i := range cluster.Brokers {
		if b := &cluster.Brokers[i]; net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))) == o.Address {
			t.facts["node"] = int64(b.NodeID)
		}
	}
}

// askQuorum asks the leader for the quorum's state: the target itself, or whom it names.
func (t *Target) askQuorum(ctx context.Context, c *client, o *Options, endpoint string) error {
	partition, err := describeQuorum(c)
	if err != nil {
		return err
	}
	t.Leads = partition.ErrorCode == 0
	leader := c
	if !t.Leads {
		if endpoint == "" {
			return nil
		}
		other, err := dial(ctx, o, endpoint)
		if err != nil {
			return nil // what only the leader tells stays unknown
		}
		defer other.close()
		if partition, err = describeQuorum(other); err != nil || partition.ErrorCode != 0 {
			return nil
		}
		leader = other
	} else {
		t.facts["node"] = int64(t.Leader)
	}
	t.facts["voters"] = int64(len(partition.CurrentVoters))
	t.facts["highWatermark"] = partition.HighWatermark
	t.facts["observers"] = int64(len(partition.Observers))
	for i := range partition.CurrentVoters {
		v := &partition.CurrentVoters[i]
		if v.ReplicaID == int32(t.Leader) && v.LogEndOffset >= 0 {
			t.facts["logEnd"] = v.LogEndOffset
		}
		if int64(v.ReplicaID) == t.facts["node"] && v.ReplicaDirectoryID != ([16]byte{}) {
			t.facts["directory"] = v.ReplicaDirectoryID
		}
		if int64(v.ReplicaID) != int64(t.Leader) {
			t.facts["otherVoter"], t.facts["otherDirectory"] = int64(v.ReplicaID), v.ReplicaDirectoryID
		}
	}
	return t.askSnapshot(leader)
}

// askSnapshot learns the leader's latest snapshot: a Fetch at 0 is sent to it.
func (t *Target) askSnapshot(leader *client) error {
	req := baseline(wire.KeyFetch, 17).(*kmsg.FetchRequest)
	req.Topics[0].Partitions[0].CurrentLeaderEpoch = int32(t.Epoch)
	resp, err := leader.request(req)
	if err != nil {
		return err
	}
	if fetch := resp.(*kmsg.FetchResponse); len(fetch.Topics) == 1 && len(fetch.Topics[0].Partitions) == 1 {
		if id := fetch.Topics[0].Partitions[0].SnapshotID; id.EndOffset >= 0 {
			t.facts["snapshotEnd"], t.facts["snapshotEpoch"] = id.EndOffset, int64(id.Epoch)
			if end, ok := t.facts["logEnd"].(int64); ok && id.EndOffset < end {
				t.facts["from"], t.facts["fromEpoch"] = id.EndOffset, int64(id.Epoch)
			}
		} else {
			t.facts["from"], t.facts["fromEpoch"] = int64(0), int64(0)
		}
	}
	return nil
}

func describeQuorum(c *client) (*kmsg.DescribeQuorumResponseTopicPartition, error) {
	resp, err := c.request(baseline(wire.KeyDescribeQuorum, 2))
	if err != nil {
		return nil, err
	}
	return describedPartition(resp)
}

// describedPartition is what an answer to DescribeQuorum says of the metadata partition.
func describedPartition(resp kmsg.Response) (*kmsg.DescribeQuorumResponseTopicPartition, error) {
	q, ok := resp.(*kmsg.DescribeQuorumResponse)
	if !ok {
		return nil, fmt.Errorf("DescribeQuorum is answered with %T", resp)
	}
	if q.ErrorCode != 0 || len(q.Topics) != 1 || len(q.Topics[0].Partitions) != 1 {
		return nil, fmt.Errorf("DescribeQuorum is answered with %s and %d topics", wire.ErrorName(kraft.ErrorCode(q.ErrorCode)), len(q.Topics))
	}
	return &q.Topics[0].Partitions[0], nil
}
