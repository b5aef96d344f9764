package conform

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// record writes what the nodes of 4.4.0 and 4.0.0 answer to testdata, from which the short tier judges.
var record = flag.Bool("record", false, "write testdata/*.json.gz from real Kafka")

// quorumUnderTest is a real quorum of which each node is a target.
type quorumUnderTest struct {
	release  string
	voters   kafka.Voters
	snapshot bool // with a snapshot at the leader
	source   kafka.Source
}

func quorums() []quorumUnderTest {
	dynamic := func(release string) quorumUnderTest {
		return quorumUnderTest{release: release, voters: kafka.Dynamic, snapshot: true}
	}
	static := func(release string) quorumUnderTest { return quorumUnderTest{release: release, voters: kafka.Static} }
	list := []quorumUnderTest{dynamic("4.4.0"), static("4.0.0")}
	if *record {
		list = append(list, static("4.4.0"))
	}
	if kafkatest.Matrix() {
		list = append(list, dynamic("4.0.2"), static("4.1.2"), dynamic("4.2.1"), dynamic("4.3.1"), static("4.4.0"))
	}
	return list
}

// TestKafka_KeepsEveryRuleAndIsLeftAsItWas runs the suite against the leader and the follower of real quorums.
func TestKafka_KeepsEveryRuleAndIsLeftAsItWas(t *testing.T) {
	kafkatest.NeedKafka(t)
	for _, x := range quorums() {
		t.Run(x.release+"/"+x.voters.String(), func(t *testing.T) {
			ctx := kafkatest.Deadline(t, 4*time.Minute)
			q := startQuorum(ctx, t, x)
			for _, id := range q.Controllers() {
				runOn(ctx, t, q, id, x)
			}
		})
	}
}

// startQuorum starts two controllers in an epoch above 1, so that there is an older one to be fenced.
func startQuorum(ctx context.Context, t *testing.T, x quorumUnderTest) *kafka.Quorum {
	t.Helper()
	cfg := kafka.Config{Release: kafka.MustRelease(x.release), Source: x.source, Voters: x.voters, Controllers: 2, Timeouts: kafka.Timeouts{FetchMs: 6000}} // no election on a busy machine
	if x.snapshot {
		cfg.Properties = cfg.Release.SnapshotsSoon()
	}
	q := kafkatest.New(t, cfg)
	err := q.Start(ctx)
	var first, second kafka.Elected
	if err == nil {
		first, err = q.WaitLeader(ctx)
	}
	if err == nil {
		err = bumpEpoch(ctx, q.Node(first.Node).Listener, first.Epoch+1)
	}
	if err == nil {
		second, err = q.WaitEpochAbove(ctx, first.Epoch+1)
	}
	if err == nil {
		err = q.WaitReady(ctx)
	}
	for i := 0; x.snapshot && i < 8 && err == nil; i++ {
		err = q.WriteMetadata(ctx, fmt.Sprintf("group-%d", i), 40)
	}
	if x.snapshot && err == nil {
		err = awaitSnapshot(ctx, q.Node(second.Node).Listener)
	}
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// awaitSnapshot returns when the quorum of a node has a leader with a snapshot.
func awaitSnapshot(ctx context.Context, address string) error {
	for ; ; time.Sleep(100 * time.Millisecond) {
		target, err := discover(ctx, &Options{Address: address, NodeID: kraft.NoNode})
		if err != nil || target.facts["snapshotEnd"] != nil {
			return err
		}
	}
}

// bumpEpoch asks for a vote that is not granted, in a newer epoch: the leader gives up its office.
func bumpEpoch(ctx context.Context, address string, epoch kraft.Epoch) error {
	c, err := dial(ctx, &Options{}, address)
	if err != nil {
		return err
	}
	defer c.close()
	req := baseline(wire.KeyVote, 1).(*kmsg.VoteRequest)
	req.Topics[0].Partitions[0].CandidateEpoch = int32(epoch)
	_, err = c.request(req)
	return err
}

func runOn(ctx context.Context, t *testing.T, q *kafka.Quorum, id kraft.NodeID, x quorumUnderTest) {
	t.Helper()
	address := q.Node(id).Listener
	var kept recorder
	options := Options{Address: address, NodeID: id}
	if *record {
		options.Dial = kept.dial(t, address)
	}
	before := stateOf(ctx, t, q)
	options.Progress = keeping(t, x.release, fmt.Sprintf("%s-%s", x.voters, id))
	report, err := Run(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	after := stateOf(ctx, t, q)
	t.Logf("%s: %s", report.Target, report.Summary())
	if report.Verdict() != Passed {
		_ = report.WriteText(t.Output(), false)
		t.Fail()
	}
	if report.Took > 90*time.Second {
		t.Errorf("the suite took %v", report.Took)
	}
	if !slices.Contains(report.Target.Profile.Covers, x.release) && !oneOf(report.Target.Detected, x.release) {
		t.Errorf("%s was taken for %s", x.release, report.Target.Profile.Build)
	}
	if strange := recordsSince(ctx, t, before); len(strange) > 0 {
		t.Errorf("the log has grown by %v", strange)
	}
	before.compare(t, after)
	if *record {
		kept.save(t, filepath.Join("testdata", fmt.Sprintf("%s-%s-%s.json.gz", x.release, x.voters, report.Target.Role())), id)
	}
}

// oneOf reports whether the release is one of the line that was found but could not be told apart.
func oneOf(detected, release string) bool {
	return strings.Contains(detected, "of the builds "+release+" to ")
}

// quorumState is what the suite must leave as it was.
type quorumState struct {
	files       map[string]string // of all nodes, by path
	transitions int
	fatal       int
	leader      kraft.NodeID
	epoch       kraft.Epoch
	voters      int64
	observers   int64
	leaderAt    string
	logEnd      int64
}

func stateOf(ctx context.Context, t *testing.T, q *kafka.Quorum) quorumState {
	t.Helper()
	s := quorumState{files: map[string]string{}}
	for _, n := range q.Nodes() {
		s.read(t, n.DataDir)
	}
	truth := q.Truth()
	s.transitions, s.fatal = len(truth.Transitions), len(truth.Fatals)
	target, err := discover(ctx, &Options{Address: q.Nodes()[0].Listener, NodeID: kraft.NoNode})
	if err != nil {
		t.Fatal(err)
	}
	s.leader, s.epoch = target.Leader, target.Epoch
	s.voters, _ = target.facts["voters"].(int64)
	s.observers, _ = target.facts["observers"].(int64)
	s.leaderAt, s.logEnd = q.Node(target.Leader).Listener, target.facts["logEnd"].(int64)
	return s
}

// read takes the files of a data directory.
func (s quorumState) read(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "index") { // preallocated, and found by the log
			return err
		}
		data, err := os.ReadFile(path)
		s.files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// recordsSince lists the records since then that an idle quorum does not write: NoOps, and the controllers' own
// registrations some time after an election, which the suite never asks for.
func recordsSince(ctx context.Context, t *testing.T, s quorumState) (strange []string) {
	t.Helper()
	c, err := dial(ctx, &Options{}, s.leaderAt)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	req := baseline(wire.KeyFetch, 17).(*kmsg.FetchRequest)
	p := &req.Topics[0].Partitions[0]
	p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch = int32(s.epoch), s.logEnd, int32(s.epoch)
	resp, err := c.request(req)
	if err != nil {
		t.Fatal(err)
	}
	records := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches
	for len(records) > 0 {
		batch, rest, err := wire.NextBatch(records)
		if err != nil {
			break
		}
		records = rest
		_ = batch.Each(func(r wire.Record) error {
			if name := wire.RecordName(&batch, &r); name != "NoOpRecord" && name != "RegisterControllerRecord" {
				strange = append(strange, name)
			}
			return nil
		})
	}
	return strange
}

func (s quorumState) compare(t *testing.T, after quorumState) {
	t.Helper()
	for _, change := range s.changes(after) {
		t.Error(change)
	}
	if s.transitions != after.transitions { // a busy machine makes a follower ask for pre-votes, which leaves all else as it was
		t.Logf("%d changes of role meanwhile", after.transitions-s.transitions)
	}
}

// unfinished reports whether a file is that of a snapshot in the making (Kafka: Snapshots.PARTIAL_SUFFIX).
func unfinished(path string) bool { return strings.HasSuffix(path, ".checkpoint.part") }

// changes are what the suite must not have done to a quorum.
func (s quorumState) changes(after quorumState) (list []string) {
	found := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for path, was := range s.files {
		switch is, ok := after.files[path]; {
		case unfinished(path): // it has been finished, or goes on
		case !ok:
			found("%s is gone", path)
		case strings.HasSuffix(path, ".log") && strings.HasPrefix(is, was): // its own NoOps, see recordsSince
		case is != was:
			found("%s was %.200q, is %.200q", path, was, is)
		}
	}
	for path := range after.files {
		if _, ok := s.files[path]; !ok && !strings.HasSuffix(path, ".checkpoint") && !unfinished(path) { // a controller makes snapshots of its own accord
			found("%s is new", path)
		}
	}
	if len(s.files) < 6 {
		found("only %d files were compared", len(s.files))
	}
	s.transitions, after.transitions = 0, 0
	s.files, after.files = nil, nil
	s.logEnd, after.logEnd = 0, 0
	if fmt.Sprint(s) != fmt.Sprint(after) {
		found("before the suite %+v, after it %+v", s, after)
	}
	return list
}
