package mixed

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/kraft/controller"
)

// poison alters frames between two nodes, so that one of them hears what ends processes of Kafka, or what no node says. {L} leads, {F} is
// the other controller of Kafka, {O} is ours; {E} is the epoch and {N} the next one.
type poison struct {
	name  string
	rules []string
}

// answerOf alters one answer of the leader to a Fetch of ours.
func answerOf(name, fields string) poison {
	return poison{name, []string{"mutate Fetch response {L}->{O} " + fields + " nth 1"}}
}

// fromALeaderOfKafka is what ours may hear as a follower.
var fromALeaderOfKafka = []poison{
	answerOf("an invalid request", "field Partitions.ErrorCode=42"),
	answerOf("no authorization", "field ErrorCode=31"),
	answerOf("an invalid request as a whole", "field ErrorCode=42"),
	answerOf("another leader of the epoch", "field Partitions.ErrorCode=6 field CurrentLeader.LeaderID={F} field CurrentLeader.LeaderEpoch={E}"),
	answerOf("a stranger leads the next epoch", "field Partitions.ErrorCode=74 field CurrentLeader.LeaderID=77 field CurrentLeader.LeaderEpoch={N}"),
	answerOf("ours leads the epoch", "field Partitions.ErrorCode=6 field CurrentLeader.LeaderID={O} field CurrentLeader.LeaderEpoch={E}"),
	answerOf("ours leads the next epoch", "field Partitions.ErrorCode=74 field CurrentLeader.LeaderID={O} field CurrentLeader.LeaderEpoch={N}"),
	answerOf("the watermark falls", "field HighWatermark-=5"),
	answerOf("truncation of what is committed", "field DivergingEpoch.Epoch={E} field DivergingEpoch.EndOffset=1"),
	answerOf("a batch with a bad checksum", "field RecordBatches^=3"),
	answerOf("a batch of another epoch", "field RecordBatches^=58"), // of a NoOpRecord, outside the checksum
	answerOf("a snapshot that nobody has", "field SnapshotID.Epoch={E} field SnapshotID.EndOffset=1000000"),
	answerOf("a snapshot of the beginning", "field SnapshotID.Epoch=0 field SnapshotID.EndOffset=0"),
	{"records that are there already", []string{"mutate Fetch request {O}->{L} field FetchOffset-=5 nth 1"}},
	{"a half answer", []string{"truncate 30 Fetch response {L}->{O} nth 1"}},
	{"an answer twice", []string{"duplicate Fetch response {L}->{O} nth 1"}},
}

// fromFollowersOfKafka is what ours may hear as a leader. What these rules have ours answer must not end the node of Kafka whose request it was. A request
// that is invalid in itself, or claims a log that the node does not have, is none of them: the true answer ends its sender.
var fromFollowersOfKafka = []poison{
	{"a Fetch in the name of ours", []string{"mutate Fetch request {F}->{O} field ReplicaState.ID={O} nth 1"}},
	{"a Fetch in the other one's name", []string{"mutate Fetch request {F}->{O} field ReplicaState.ID={L} nth 1"}},
	{"a Fetch of an epoch to come", []string{"mutate Fetch request {F}->{O} field CurrentLeaderEpoch+=1 nth 1"}},
	{"a Fetch of an epoch that is over", []string{"mutate Fetch request {F}->{O} field CurrentLeaderEpoch-=1 field LastFetchedEpoch-=1 nth 1"}},
	{"a Fetch of another cluster", []string{"mutate Fetch request {F}->{O} field ClusterID=9AiLyPbODx8rFNxFCwo4iw nth 1"}},
	{"a Fetch of another disk", []string{"mutate Fetch request {F}->{O} field ReplicaDirectoryID=9AiLyPbODx8rFNxFCwo4iw nth 1"}},
	{"a Fetch from far ahead", []string{"mutate Fetch request {F}->{O} field FetchOffset+=1000000 nth 1"}},
	{"a Fetch of another topic", []string{"mutate Fetch request {F}->{O} field Topics.TopicID=9AiLyPbODx8rFNxFCwo4iw nth 1"}},
	{"a Fetch of another partition", []string{"mutate Fetch request {F}->{O} field Partitions.Partition=7 nth 1"}},
	{"a Fetch of nothing", []string{"mutate Fetch request {F}->{O} field Partitions.PartitionMaxBytes=0 field MaxBytes=0 nth 1"}},
	{"half a Fetch", []string{"truncate 40 Fetch request {F}->{O} nth 1"}},
}

// poisoned is a quorum in which someone is given poison.
type poisoned struct {
	*loaded
	faults *faults
}

// rules are those of a poison for what the quorum is now. Of two followers of Kafka the first one is meant.
func (q *poisoned) rules(p poison, leader kafka.Elected) string {
	l, f := leader.Node, 3-leader.Node
	if leader.Node == ours {
		l, f = 2, 1
	}
	fill := strings.NewReplacer("{L}", l.String(), "{F}", f.String(), "{O}", ours.String(),
		"{E}", strconv.Itoa(int(leader.Epoch)), "{N}", strconv.Itoa(int(leader.Epoch)+1))
	return fill.Replace(strings.Join(p.rules, "\n"))
}

// give has the rules of a poison in force until they have taken a frame while that node led.
func (q *poisoned) give(p poison, oursLeads bool) {
	t := q.t
	t.Helper()
	until(q.ctx, t, func() (any, bool) {
		leader := q.leadsNow(oursLeads)
		q.faults.do(q.ctx, t, http.MethodPost, q.rules(p, leader))
		defer q.faults.do(q.ctx, t, http.MethodDelete, "")
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if q.faults.taken(q.ctx, t) > 0 {
				return nil, true
			}
		}
		return fmt.Sprintf("%s: no frame was taken beside %v", p.name, leader), false
	})
}

func (q *poisoned) leadsNow(oursLeads bool) kafka.Elected {
	q.t.Helper()
	if oursLeads {
		return q.oursMustLead() // which stays
	}
	leader, err := q.WaitLeader(q.ctx)
	must(q.t, err)
	if leader.Node == ours {
		must(q.t, q.Restart(q.ctx, ours))
	}
	return q.leads(false)
}

// fetches waits until ours has a record that is written now.
func (q *poisoned) fetches(name string) {
	t := q.t
	t.Helper()
	must(t, q.WriteMetadata(q.ctx, name, 1))
	waitFor(q.ctx, t, "ours to have what was written after "+name, func() bool {
		must(t, q.Err())
		return bytes.Contains(readLog(t, q.Node(ours)), []byte(name+"-0"))
	})
}

// TestMatrix_PoisonEndsNoNode: ours hears, as a follower of a controller of Kafka and as the leader of two, what ends controllers of Kafka,
// from its peers and from strangers. It goes on each time, and it says nothing that ends one of Kafka. In the end all logs are equal.
func TestMatrix_PoisonEndsNoNode(t *testing.T) {
	t.Parallel()
	for _, release := range cases(t, nil, []string{"4.4.0"}, []string{"4.4.0", "4.0.0", "4.2.1"}) {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			q := &poisoned{}
			q.loaded, q.faults = disturbed(t, 8*time.Minute, kafka.Config{
				Release: kafka.MustRelease(release), Voters: kafka.Dynamic, Timeouts: quick, Source: leading(controller.Stay, source(t, ours)),
			})
			q.stay = true
			must(t, q.startsBeside())
			for i, p := range fromALeaderOfKafka {
				q.give(p, false)
				q.leadsNow(false)
				q.fetches(fmt.Sprintf("poison-%d", i))
			}
			q.strikes(false)
			q.fetches("struck")
			q.announces()
			q.fetches("announced")

			q.oursMustLead()
			for _, p := range fromFollowersOfKafka {
				q.give(p, true)
				q.ready()
			}
			q.strikes(true)
			q.ready()
			must(t, q.Restart(q.ctx, ours)) // it resigns
			q.leads(false)
			q.fetches("last")
			q.ends()
		})
	}
}

// strikes has strangers send to ours what ends controllers of Kafka, or is no request.
func (q *poisoned) strikes(oursLeads bool) {
	t := q.t
	t.Helper()
	leader := q.leadsNow(oursLeads)
	all := hostile(leader.Epoch, int32(ours))
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		strike(t, q.Node(ours).Listener, name, all[name])
		if err := q.Err(); err != nil {
			t.Fatalf("after %s: %v", name, err)
		}
	}
	q.ready()
}

// announces has a stranger tell ours that its leader leads the next epoch. Ours must believe it, and would end the leader by saying so when that one
// asks, in its own epoch, whether ours follows, or later who leads. The other controller of Kafka, which would say so, stands still.
func (q *poisoned) announces() {
	t := q.t
	t.Helper()
	until(q.ctx, t, func() (any, bool) {
		leader := q.leadsNow(false)
		must(t, q.Pause(3-leader.Node))
		host, port, err := net.SplitHostPort(q.Node(leader.Node).Advertised)
		must(t, err)
		n, err := strconv.Atoi(port)
		must(t, err)
		endpoint := kmsg.NewBeginQuorumEpochRequestLeaderEndpoint()
		endpoint.Name, endpoint.Host, endpoint.Port = "CONTROLLER", host, uint16(n)
		strike(t, q.Node(ours).Listener, "the next epoch of the leader", encode(begin(leader.Epoch+1, int32(leader.Node), endpoint), 1))
		limit, cancel := context.WithTimeout(q.ctx, 20*time.Second)
		next, err := q.WaitEpochAbove(limit, leader.Epoch+1)
		cancel()
		must(t, q.Err())
		must(t, q.Resume(3-leader.Node))
		q.ready()
		t.Logf("told ours that node %v leads epoch %d: %v", leader.Node, leader.Epoch+1, next)
		return err, err == nil // else it was elected for that epoch just then
	})
}

// ends ends everyone in order and compares.
func (q *poisoned) ends() {
	t := q.t
	t.Helper()
	described, _ := q.described()
	for _, n := range q.Nodes() {
		must(t, reaches(q.ctx, n, described.HighWatermark))
	}
	must(t, q.Err())
	refused := bytes.Count(nodeLog(t, q.Node(ours)), []byte("that Kafka's process would end on"))
	t.Logf("ours has refused %d requests and answers that would have ended Kafka's process", refused)
	if refused < 10 {
		t.Error("hardly any poison has arrived")
	}
	must(t, q.CloseInOrder())
	q.witness.accusesNobody(t, "1")
	logsAgree(t, q.Quorum, described.HighWatermark, nil)
}
