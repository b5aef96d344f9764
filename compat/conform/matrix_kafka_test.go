package conform

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

// understudyColumn is the name of our node's column of the matrix.
const understudyColumn = "understudy"

// builds are the releases of Kafka that the matrix has a column for: one of each build of its raft layer.
var builds = []string{"4.0.0", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"}

// column is a target of the matrix while it is asked.
type column struct {
	name    string
	release string
	ours    *ourProgram // nil: Kafka's own
	dying   time.Duration
}

func (c *column) source(t *testing.T) kafka.Source {
	if c.ours == nil {
		return nil
	}
	return c.ours.source(t)
}

// TestKafka_Matrix asks every case of every target, for the page of docs: controllers of the six builds and of ours, in quorums of both
// kinds, as leader and as follower, in the suite's own quorums, with all attacks and what is known to end them. A killer must end those
// releases of Kafka of which it says so.
func TestKafka_Matrix(t *testing.T) {
	if *keepIn == "" {
		t.Skip("starts some three hundred controllers: make conform-matrix")
	}
	columns := []column{{understudyColumn, "4.4.0", buildOurs(t), 300 * time.Millisecond}}
	for _, release := range builds {
		columns = append(columns, column{release, release, nil, time.Second})
	}
	for _, c := range columns {
		if *ownRelease != "" && *ownRelease != c.name {
			continue
		}
		for _, part := range []struct {
			name string
			ask  func(*testing.T)
		}{
			{"own static", func(t *testing.T) { c.own(t, kafka.Static, "") }},
			{"dynamic", func(t *testing.T) { c.quorum(t, kafka.Dynamic) }},
			{"static", func(t *testing.T) { c.quorum(t, kafka.Static) }},
			{"own dynamic", func(t *testing.T) { c.own(t, kafka.Dynamic, "^dynamic/") }},
		} {
			t.Run(c.name+"/"+part.name, func(t *testing.T) {
				t.Parallel()
				part.ask(t)
			})
		}
	}
}

// quorum asks both nodes of a quorum, and attacks those of a dynamic one, whose leader has a snapshot.
func (c *column) quorum(t *testing.T, voters kafka.Voters) {
	ctx := kafkatest.Deadline(t, 20*time.Minute)
	x, start := quorumUnderTest{c.release, voters, voters == kafka.Dynamic, c.source(t)}, startQuorum
	if c.ours != nil && x.snapshot {
		start = c.ours.afterKafkas
	}
	q := start(ctx, t, x)
	ids := followerFirst(ctx, t, q)
	ask := func(id kraft.NodeID, part, match string, h Hostility) {
		o := Options{
			Address: q.Node(id).Listener, NodeID: id, ClusterID: q.ClusterID, Release: c.release, Hostility: h, Restart: restartingNode(q, id), Dying: c.dying,
			Progress: keeping(t, c.name, fmt.Sprintf("%s-%s-%s", voters, part, id)),
		}
		c.asks(t, match, func(match *regexp.Regexp) (*Report, error) {
			o.Match = match
			return Run(ctx, o)
		})
	}
	for _, id := range ids {
		ask(id, "rules", "^[^h]", Peaceful)
	}
	if voters == kafka.Static {
		return
	}
	ask(ids[0], "hostile", "^hostile/", Killers)
	ask(ids[len(ids)-1], "hostile", "^hostile/.*the-leader$|^hostile/[^k]", Killers) // the others have shown what they do, and each restart of a JVM takes its time
}

// own plays the other voters of a quorum.
func (c *column) own(t *testing.T, voters kafka.Voters, match string) {
	ctx := kafkatest.Deadline(t, 25*time.Minute)
	q := kafkatest.New(t, kafka.Config{Release: kafka.MustRelease(c.release), Source: c.source(t), Voters: voters, Timeouts: ownTimeouts, RaftLog: kafka.Debug})
	if err := q.Start(ctx, 1); err != nil {
		t.Fatal(err)
	}
	o := ownOptions(q, voters)
	o.Release, o.Hostility, o.Dying, o.Progress = c.release, Killers, c.dying, keeping(t, c.name, "own-"+voters.String())
	c.asks(t, match, func(match *regexp.Regexp) (*Report, error) {
		o.Match = match
		return RunOwn(ctx, o)
	})
}

// ownOptions have the suite play voters 2 and 3 of a quorum.
func ownOptions(q *kafka.Quorum, voters kafka.Voters) OwnOptions {
	o := OwnOptions{
		Options: Options{Address: q.Node(1).Listener, NodeID: 1, ClusterID: q.ClusterID, Restart: restarting(q)},
		Voters:  map[kraft.NodeID]string{2: q.Node(2).Listener, 3: q.Node(3).Listener},
	}
	if voters == kafka.Dynamic {
		o.Directories = map[kraft.NodeID]kraft.DirectoryID{2: q.Node(2).Directory, 3: q.Node(3).Directory}
	}
	return o
}

// asks runs the suite, and asks once more what did not pass: several quorums share the machine. What fails twice is broken.
func (c *column) asks(t *testing.T, match string, run func(*regexp.Regexp) (*Report, error)) {
	t.Helper()
	for try := 1; ; try++ {
		report, err := run(regexp.MustCompile(match))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", report.Target, report.Summary())
		c.proves(t, report)
		if report.Verdict() == Passed {
			return
		}
		_ = report.WriteText(t.Output(), false)
		if try == 2 {
			t.Fail()
			return
		}
		var ids []string
		for i := range report.Results {
			if r := &report.Results[i]; r.Outcome == Failed || r.Outcome == Inconclusive {
				ids = append(ids, regexp.QuoteMeta(r.Case.ID))
			}
		}
		match = "^(" + strings.Join(ids, "|") + ")$"
	}
}

// proves holds the killers to what they say of the release.
func (c *column) proves(t *testing.T, report *Report) {
	t.Helper()
	killers := killersOf(report.Target.Profile)
	for i := range report.Results {
		r := &report.Results[i]
		if k := killers[r.Case.ID]; k != nil && c.ours == nil && r.Outcome == Passed && k.dies(report.Target.Profile) {
			t.Errorf("%s does not end %s: %s", r.Case.ID, c.name, k.explain())
		}
	}
}

// killersOf are the cases that end nodes of some releases, by id.
func killersOf(p compat.Profile) map[string]*killer {
	all := map[string]*killer{}
	for _, a := range Attacks(p) {
		if a.kills != nil {
			all[a.ID] = a.kills
		}
	}
	for _, s := range Scenarios(p) {
		if s.kills != nil {
			all[s.ID] = s.kills
		}
	}
	return all
}

// followerFirst are the controllers, the leader last.
func followerFirst(ctx context.Context, t *testing.T, q *kafka.Quorum) []kraft.NodeID {
	t.Helper()
	target, err := discover(ctx, &Options{Address: q.Nodes()[0].Listener, NodeID: kraft.NoNode})
	if err != nil {
		t.Fatal(err)
	}
	ids := slices.DeleteFunc(q.Controllers(), func(id kraft.NodeID) bool { return id == target.Leader })
	return append(ids, target.Leader)
}
