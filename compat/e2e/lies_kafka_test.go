package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
)

// lie makes a real controller say what it did not say, by fault rules on the wire. The last rule's frame is the lie, its writer the liar.
type lie struct {
	name  string
	rules []string // with the letters of scene; {V} stands for one follower to the other, whichever comes first
	found string   // the rule of the checker that it breaks
	says  string   // part of what the finding says
}

// lies are told in one run of the quorum.
type lies struct {
	before func(t *testing.T, r *liveRun)
	told   []lie
	cause  func(t *testing.T, r *liveRun) // makes the frames cross; nil: they do by themselves
	ends   string                         // the node that Kafka ends over it, as F; it is started again
	bad    bool                           // it gives F bad records: Kafka 4.0.0 ends over them, or appends them and then ends (KAFKA-18723)
	late   func(t *testing.T, r *liveRun) // after the first lies were told
	more   []lie                          // told after late was called
}

func one(name, found string, rules ...string) lies {
	return lies{told: []lie{{name: name, rules: rules, found: found}}}
}

// answered alters an answer of the leader to a follower's Fetch.
func answered(name, found, fields string) lies {
	return one(name, found, "mutate Fetch response {L}->{F} "+fields+" nth 1")
}

// request alters a follower's Fetch.
func request(name, found, fields string) lies {
	return one(name, found, "mutate Fetch request {F}->{L} "+fields+" nth 1")
}

func refusal(code string) lies {
	return one("a Fetch is answered with "+code, "M19", "answer "+code+" Fetch {L}->{F} nth 1")
}

func (l lies) ending(node string) lies {
	l.ends = node
	return l
}

func (l lies) ofBadRecords() lies {
	l.bad = true
	return l
}

// liesOfFetch need nothing but the traffic of a settled quorum.
func liesOfFetch() []lies {
	const other = "9AiLyPbODx8rFNxFCwo4iw"
	return []lies{
		answered("the watermark falls", "M9", "field HighWatermark-=5").ending("F"),
		answered("the watermark is forgotten", "M9", "field HighWatermark=-1"),
		answered("the watermark is raised", "M9", "field HighWatermark+=1000"),
		answered("another leader is named", "M2", "field CurrentLeader.LeaderID={G}"),
		answered("a leader serves in an epoch that is over", "M19", "field CurrentLeader.LeaderEpoch-=1"),
		answered("a leader serves in an epoch to come", "M19", "field CurrentLeader.LeaderEpoch+=1 field CurrentLeader.LeaderID=-1"),
		answered("a snapshot above the watermark is offered", "M17", "field SnapshotID.Epoch={E} field SnapshotID.EndOffset=1000000"),
		answered("the bootstrap snapshot is offered", "M17", "field SnapshotID.Epoch=0 field SnapshotID.EndOffset=0"),
		answered("a replica is told to truncate what is committed", "M8", "field DivergingEpoch.Epoch={E} field DivergingEpoch.EndOffset=1").ending("F"),
		answered("a record is swapped", "M6", "field RecordBatches^=3").ofBadRecords(),
		answered("a batch has another epoch", "M6", "field RecordBatches^=58").ofBadRecords(), // of the batch of a NoOpRecord, outside its CRC
		refusal("FENCED_LEADER_EPOCH"),
		refusal("UNKNOWN_LEADER_EPOCH"),
		refusal("INVALID_VOTER_KEY"),
		refusal("SNAPSHOT_NOT_FOUND"),
		refusal("POSITION_OUT_OF_RANGE"),
		refusal("INCONSISTENT_VOTER_SET"),
		// Its answers come without records: the ones that it has already would end the replica.
		one("a replica fetches from further back", "M12", "mutate Fetch response {L}->{F} field RecordBatches=null", "mutate Fetch request {F}->{L} field FetchOffset-=5 nth 1"),
		request("a replica goes back to an older epoch", "M3", "field CurrentLeaderEpoch-=1 field LastFetchedEpoch-=1"),
		request("a replica comes from another cluster", "M18", "field ClusterID="+other),
		request("a replica comes with another directory id", "M18", "field ReplicaDirectoryID="+other),
		request("a replica fetches in another's name", "M19", "field ReplicaState.ID={G}"),
	}
}

// liesToGuests are told to a client of the test, which asks for what the quorum itself seldom does.
func liesToGuests() []lies {
	snapshots := func(t *testing.T, r *liveRun) {
		g := r.newGuest(t, 99, r.L)
		offered := g.fetch(t, r.E, 0).SnapshotID
		for range 2 {
			g.snapshot(t, r.E, offered)
		}
	}
	described := func(t *testing.T, r *liveRun) {
		g := r.newGuest(t, 99, r.L)
		g.describe(t)
		g.describe(t)
	}
	votes := func(t *testing.T, r *liveRun) {
		for _, candidate := range []kraft.NodeID{98, 99} {
			if r.newGuest(t, candidate, r.F).vote(t, r.E, r.F).VoteGranted != true {
				t.Error("the refusal was not turned into a grant")
			}
		}
	}
	list := []lies{
		one("the bytes of a snapshot change", "M17", "mutate FetchSnapshot response {L}->99 field Bytes^=3 nth 2"),
		one("a snapshot gets longer", "M17", "mutate FetchSnapshot response {L}->99 field Size+=1 nth 2"),
		one("a leader describes an older watermark", "M9", "mutate DescribeQuorum response {L}->99 field HighWatermark-=50 nth 2"),
		one("a leader describes an older epoch", "M3", "mutate DescribeQuorum response {L}->99 field LeaderEpoch-=1 nth 2"),
		one("a refused vote becomes a second granted one", "M1", "mutate Vote response {F}->98 field VoteGranted=true", "mutate Vote response {F}->99 field VoteGranted=true"),
	}
	for i, cause := range []func(t *testing.T, r *liveRun){snapshots, snapshots, described, described, votes} {
		list[i].cause = cause
	}
	return list
}

// liesOfElections are told while a leader that stands still, or gives up, is replaced.
func liesOfElections() []lies {
	voted := func(name, found string, fields string) lie {
		return lie{name: name, rules: []string{"mutate Vote response {V} epoch {N} field VoteGranted=true " + fields + " nth 1"}, found: found}
	}
	stood := func(name, found string, fields string) lie {
		return lie{name: name, rules: []string{"mutate Vote request {V} epoch {N} " + fields + " nth 1"}, found: found}
	}
	list := []lies{
		{
			told: []lie{
				voted("a vote is granted together with an error", "M19", "field Partitions.ErrorCode=125"),
				{name: "who is told of a leader names another one", rules: []string{"mutate BeginQuorumEpoch response {V} field LeaderID={L} nth 1"}, found: "M19"},
			},
			more: []lie{{name: "a voter votes again for another", rules: []string{"mutate Vote response ->99 field VoteGranted=true"}, found: "M1"}}, late: voteAgain,
		},
		{told: []lie{stood("a candidate stands for an epoch that is over", "M14", "field CandidateEpoch-=1 field LastOffsetEpoch-=1")}},
		{told: []lie{stood("a candidate stands in another's name", "M19", "field CandidateID={L}")}},
		{told: []lie{
			stood("a candidate has records of a later epoch", "M14", "field LastOffsetEpoch+=3"),
			voted("a vote is granted in another epoch", "M19", "field LeaderEpoch+=1"),
		}},
		{told: []lie{{name: "a vote goes to a shorter log", rules: []string{
			"mutate Vote request {V} epoch {N} field LastOffset=0 field LastOffsetEpoch=0", "mutate Vote response {V} epoch {N} field VoteGranted=true nth 1",
		}, found: "M15"}}},
	}
	for i := range list {
		list[i].cause = standStill
	}
	return append(list, lies{
		before: standStill, // so that the leader's first record is seen
		told: []lie{
			{name: "a leader turns its list of successors round", rules: []string{
				"drop Fetch response {L}->{G} nth 1", "mutate EndQuorumEpoch {L}->{F} field PreferredCandidates=reversed nth 1",
			}, found: "M20", says: "before node"},
			{name: "a leader names itself as its successor", rules: []string{"mutate EndQuorumEpoch {L}->{G} field PreferredCandidates.CandidateID={L} nth 1"}, found: "M20", says: "names itself"},
		},
		cause: func(t *testing.T, r *liveRun) { // one follower's Fetch stays without an answer while the other goes on
			probe := r.fill("drop Fetch response {L}->{F}" + neverTaken)
			r.add(t, probe)
			r.until(t, time.Second, func(rules map[string]faultCount) bool { return rules[probe].Seen >= 8 })
			giveUp(t, r)
		},
	})
}

// standStill replaces the leader by pausing it.
func standStill(t *testing.T, r *liveRun) {
	must(t, r.q.Pause(r.L))
	r.replaced(t)
	must(t, r.q.Resume(r.L))
}

// giveUp replaces the leader by stopping it in order: it resigns.
func giveUp(t *testing.T, r *liveRun) {
	must(t, r.q.Stop(r.ctx, r.L))
	r.replaced(t)
}

// replaced waits for the next leader. A node that ends meanwhile is started again when the quorum settles.
func (r *liveRun) replaced(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, 30*time.Second)
	defer cancel()
	if _, err := r.q.WaitEpochAbove(ctx, r.E); err != nil {
		t.Logf("no new leader: %.200s", err)
	}
}

// voteAgain asks who voted for the new leader for another vote in the epoch, and has the refusal turned into a grant.
func voteAgain(t *testing.T, r *liveRun) {
	old := r.scene
	r.settle(t)
	leader := r.L
	voter := old.F
	if leader == old.F {
		voter = old.G
	}
	r.add(t, "mutate Vote response "+voter.String()+"->99 field VoteGranted=true")
	r.newGuest(t, 99, voter).vote(t, r.E, voter)
	r.scene = old
}

// onlyLies picks lies to look at: go test ./compat/e2e -run Live -lies 'older epoch'.
var onlyLies = flag.String("lies", "", "only scenes that begin with a lie whose name matches this `PATTERN`")

// allLies are the scenes, or those that are picked.
func allLies(t *testing.T) []lies {
	t.Helper()
	pattern, err := regexp.Compile(*onlyLies)
	must(t, err)
	return slices.DeleteFunc(slices.Concat(liesOfFetch(), liesToGuests(), liesOfElections()), func(x lies) bool { return !pattern.MatchString(x.told[0].name) })
}

// toldLie is a lie that crossed the wire, to be judged.
type toldLie struct {
	lie
	tellers []kraft.NodeID // who told it
	liars   []kraft.NodeID // of all lies of the run
	rule    string         // as it was in force
	files   []string
}

// TestLive_LiesOfRealControllersAreFound makes real controllers misbehave, by frames that are altered in flight, and judges these as if
// the controllers had written them so: the live checker diverges, the recording names the liar and the broken rule and nobody else, and
// the report's core shows it by itself.
func TestLive_LiesOfRealControllersAreFound(t *testing.T) {
	kafkatest.NeedKafka(t)
	onlyLive(t)
	for _, release := range liveReleases() {
		t.Run(release, func(t *testing.T) {
			l := newLive(t, release)
			var told []toldLie
			var blamed int
			for _, x := range allLies(t) {
				told = append(told, l.tell(t, x)...)
			}
			must(t, l.q.Close())
			var frames []int
			for _, x := range told {
				t.Run(x.name, func(t *testing.T) {
					if n := x.judge(t); n > 0 {
						frames = append(frames, n)
						blamed++
					}
				})
			}
			slices.Sort(frames)
			if len(frames) == 0 {
				t.Fatal("no lie is found")
			}
			median := frames[len(frames)/2]
			t.Logf("%d of %d lies are found; frames of their cores: %v, median %d", blamed, len(told), frames, median)
			if median > 12 || len(told) < 25 && *onlyLies == "" {
				t.Errorf("%d lies, cores of %d frames in the median; want at least 25, and at most 12 frames", len(told), median)
			}
		})
	}
}

// tell plays one scene.
func (l *live) tell(t *testing.T, x lies) (told []toldLie) {
	t.Helper()
	r := l.begin(t, "--fault-as-peer")
	if x.before != nil {
		x.before(t, r)
		r.settle(t)
	}
	name := x.told[0].name
	for again := 0; !r.lied(t, x.told, x.cause); again++ { // a quorum on a busy machine may elect of its own accord
		if again == 3 {
			t.Errorf("%s: the frame never came", name)
			break
		}
		r.heal(t)
		r.settle(t)
	}
	if x.late != nil {
		x.late(t, r)
	}
	if x.ends != "" {
		r.ended(t, map[string]kraft.NodeID{"F": r.F, "L": r.L}[x.ends])
	}
	if x.bad && !l.profile.Rules.DropNewerEpochBatches {
		r.ended(t, r.F)
		must(t, r.q.Wipe(r.F)) // it would raise its epoch to that of the batch, and win with it
	}
	time.Sleep(300 * time.Millisecond) // for what follows from it
	r.heal(t)
	old := r.scene
	r.settle(t) // starts what has ended
	code, files := r.end(t)
	t.Logf("%-55s %5.1f s, leader %s of epoch %d, then %s of %d", name, time.Since(r.began).Seconds(), old.L, old.E, r.L, r.E)
	if text := r.output.String(); code != 1 || !strings.Contains(text, "\nDIVERGES") {
		t.Errorf("%s: the live checker ends with %d:\n%s", name, code, text)
	}
	frames := alteredFrames(t, files)
	var liars []kraft.NodeID
	for _, f := range frames {
		liars = append(liars, f.writer)
	}
	for _, one := range append(slices.Clone(x.told), x.more...) {
		lie := toldLie{lie: one, files: files, liars: liars}
		last := one.rules[len(one.rules)-1]
		for _, f := range frames {
			if slices.Contains(old.either(last), f.rule) || strings.Contains(last, " ->99 ") && strings.Contains(f.rule, "->99 ") {
				lie.rule, lie.tellers = f.rule, append(lie.tellers, f.writer)
			}
		}
		if lie.rule == "" {
			t.Errorf("%s: the recording does not show it", one.name)
			continue
		}
		told = append(told, lie)
	}
	return told
}

// lied puts the rules of lies in force, lets happen what brings their frames, and reports whether each of them came.
func (r *liveRun) lied(t *testing.T, told []lie, cause func(*testing.T, *liveRun)) bool {
	t.Helper()
	var wanted [][]string
	for _, one := range told {
		for _, rule := range one.rules {
			wanted = append(wanted, r.either(rule))
		}
	}
	r.add(t, slices.Concat(wanted...)...)
	if cause != nil {
		cause(t, r)
	}
	return r.taken(t, 8*time.Second, wanted...)
}

// ended waits until a node has ended over what it was told.
func (r *liveRun) ended(t *testing.T, id kraft.NodeID) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); r.q.Running(id); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("node %s lives on", id)
			return
		}
	}
}

// judge looks at what the checker says of the recording, and returns how many frames the core has.
func (x *toldLie) judge(t *testing.T) int {
	dir := filepath.Join(t.ArtifactDir(), "found")
	out, code := understudy(t, append([]string{"check", "--fault-as-peer", "-o", "json", "--bundle", dir}, x.files...)...)
	var v struct {
		Findings []struct {
			Rule, Text string
			Node       kraft.NodeID
		} `json:"findings"`
	}
	must(t, json.Unmarshal([]byte(out), &v))
	if code != 1 {
		t.Errorf("check exits with %d", code)
	}
	frames := 0
	for i, f := range v.Findings {
		if f.Rule == "T2" && !slices.Contains(x.liars, f.Node) {
			t.Logf("tier 2 blames node %s: %s in %v", f.Node, f.Text, x.files)
		} else if !slices.Contains(x.liars, f.Node) {
			t.Errorf("node %s is blamed by %s: %s, in %v", f.Node, f.Rule, f.Text, x.files)
		}
		if slices.Contains(x.tellers, f.Node) && f.Rule == x.found && strings.Contains(f.Text, x.says) && frames == 0 {
			frames = x.explain(t, filepath.Join(dir, fmt.Sprintf("%02d-%s-node-%s", i+1, f.Rule, f.Node)))
		}
	}
	if frames == 0 {
		t.Errorf("want %s at a node of %v for %q, have %+v in %v", x.found, x.tellers, x.rule, v.Findings, x.files)
	}
	return frames
}

// explain has a bundle reproduced by its command, and returns how many frames its core has.
func (x *toldLie) explain(t *testing.T, dir string) int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "finding.json"))
	must(t, err)
	var b struct {
		Frames  int
		Command string
	}
	must(t, json.Unmarshal(raw, &b))
	words := strings.Fields(b.Command)
	if len(words) < 2 || words[0] != "understudy" {
		t.Errorf("%s: no command reproduces it: %q", dir, b.Command)
		return 0
	}
	cmd := exec.CommandContext(t.Context(), builtBinary, words[1:]...)
	cmd.Dir = dir
	out, _ := cmd.Output() // the exit code is looked at
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), x.found+" ") {
		t.Errorf("%s: %s ends with %d:\n%s", dir, b.Command, cmd.ProcessState.ExitCode(), out)
	}
	if text, code := understudy(t, "explain", dir); code != 0 {
		t.Errorf("explain %s ends with %d:\n%s", dir, code, text)
	}
	return b.Frames
}
