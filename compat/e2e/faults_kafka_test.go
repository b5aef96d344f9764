package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/kafka/kafkatest"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// after says what a quorum does about a fault.
type after uint8

const (
	goesOn after = iota // the same leader, in the same epoch, and its records are committed
	elects              // a leader of a later epoch that all follow, and whose records are committed
	ends                // the Java process that gets the frame ends; when it is started again all is well
)

func (a after) String() string {
	return [...]string{"goes on", "elects a leader", "loses the receiver"}[a]
}

// wireFault is one fault rule and what comes of it.
type wireFault struct {
	rule string // with the letters of scene
	want after

	mayStay bool // it need not meet a frame
}

// faultKinds are the kinds of fault that leave the bytes of the frames as they are, and those that do not.
func faultKinds() (whole, altering []string) {
	return []string{"drop", "delay 300ms", "reorder 300ms", "cut", "cut after", "blackhole"}, []string{"truncate 30", "mutate"}
}

// mutated is a field that a fault of each message may alter: the receiver is misled, and Kafka has an answer to that.
var mutated = map[string]string{
	"Fetch request": "field ClusterID=null", "Fetch response": "field HighWatermark=-1",
	"Vote request": "field ClusterID=null", "Vote response": "field VoteGranted=false",
	"BeginQuorumEpoch request": "field ClusterID=null", "BeginQuorumEpoch response": "field Partitions.LeaderID=-1",
	"EndQuorumEpoch request": "field ClusterID=null", "EndQuorumEpoch response": "field Partitions.LeaderID=-1",
	"FetchSnapshot request": "field ClusterID=null", "FetchSnapshot response": "field Size+=1",
	"DescribeQuorum request": "field Partition=1", "DescribeQuorum response": "field HighWatermark-=1",
	"ApiVersions request": "field ClientSoftwareName=other", "ApiVersions response": "field ApiKeys.MaxVersion-=1",
}

// rules makes a rule of each kind for a message.
func rules(kinds []string, message, rest string) (list []string) {
	for _, kind := range kinds {
		rule := kind + " " + message + " " + rest + " nth 1"
		if kind == "mutate" {
			rule = kind + " " + message + " " + mutated[message] + " " + rest + " nth 1"
		}
		list = append(list, rule)
	}
	return list
}

// faultsOfFetch are met by a settled quorum.
func faultsOfFetch(kinds []string) (list []wireFault) {
	for _, rule := range slices.Concat(rules(kinds, "Fetch request", "{F}->{L}"), rules(kinds, "Fetch response", "{L}->{F}")) {
		f := wireFault{rule: rule, want: goesOn}
		if strings.HasPrefix(rule, "truncate") && strings.Contains(rule, " response ") {
			f.want = ends // an answer that breaks off is an exception that Kafka's network thread does not survive
		}
		list = append(list, f)
	}
	return list
}

// faultsOfElections come in rounds: one of each message in one election.
func faultsOfElections(kinds []string) (rounds [][]wireFault) {
	for _, kind := range kinds {
		var round []wireFault
		for _, message := range []string{"Vote request", "Vote response", "BeginQuorumEpoch request", "BeginQuorumEpoch response"} {
			if strings.HasPrefix(kind, "truncate") && strings.HasSuffix(message, "response") {
				continue // it would end who stands, and no majority is left
			}
			round = append(round, wireFault{rule: rules([]string{kind}, message, "")[0], want: elects})
		}
		for _, rule := range slices.Concat(rules([]string{kind}, "EndQuorumEpoch request", "{L}->*"), rules([]string{kind}, "EndQuorumEpoch response", "*->{L}")) {
			if strings.HasPrefix(kind, "truncate") && strings.Contains(rule, " response ") {
				continue
			}
			round = append(round, wireFault{rule: rule, want: elects, mayStay: true}) // if it is deposed before it sees that it was alone, it tells nobody
		}
		rounds = append(rounds, round)
	}
	return rounds
}

// faultsOfGuests are met by a client of the test, in what controllers ask of each other seldom. They leave the quorum alone.
func faultsOfGuests(kinds []string) (list []wireFault) {
	for _, name := range []string{"FetchSnapshot", "DescribeQuorum", "ApiVersions"} {
		for _, rule := range slices.Concat(rules(kinds, name+" request", "99->{L}"), rules(kinds, name+" response", "{L}->99")) {
			list = append(list, wireFault{rule: rule, want: goesOn})
		}
	}
	return list
}

// TestLive_FaultsOnTheWireBlameNobody injects every kind of fault into the messages of a real quorum, both ways. The quorum reacts as
// Kafka's rules say, the recording shows each fault, and no node is blamed for it.
func TestLive_FaultsOnTheWireBlameNobody(t *testing.T) {
	kafkatest.NeedKafka(t)
	onlyLive(t)
	for _, release := range liveReleases() {
		t.Run(release, func(t *testing.T) {
			l := newLive(t, release)
			injected := 0
			whole, altering := faultKinds()
			for i, kinds := range [][]string{whole, altering} {
				var took []wireFault
				r := l.begin(t)
				for _, f := range faultsOfFetch(kinds) {
					took = append(took, r.inject(t, nil, f)...)
				}
				others := faultsBetween()
				if i > 0 {
					others = refusals()
				}
				for _, f := range others {
					took = append(took, r.inject(t, nil, f)...)
				}
				took = append(took, r.guests(t, faultsOfGuests(kinds))...)
				if i == 0 {
					took = append(took, r.guests(t, faultsOfGuests([]string{"duplicate"}))...)
				}
				for _, round := range faultsOfElections(kinds) {
					took = append(took, r.inject(t, standStillForLong, round...)...)
				}
				code, files := r.end(t)
				if code != 0 && code != 3 {
					t.Errorf("the live checker ends with %d:\n%s", code, r.output.String())
				}
				injected += len(took)
				blameless(t, files, took)
			}
			t.Logf("%d faults", injected)
			if injected < 60 {
				t.Errorf("%d faults were injected, want 60", injected)
			}
		})
	}
}

// faultsBetween separate nodes, one way.
func faultsBetween() []wireFault {
	return []wireFault{
		{rule: "partition {F}->{L}", want: goesOn}, // one follower that is not heard: two of three go on, and a pre-vote takes no leader's office
		{rule: "partition {L}->{F}", want: goesOn},
		{rule: "partition {F}->{G}", want: goesOn, mayStay: true}, // followers have nothing to say to each other
	}
}

// refusals are errors in the leader's name.
func refusals() (list []wireFault) {
	for _, code := range []string{"FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER", "BROKER_NOT_AVAILABLE"} {
		list = append(list, wireFault{rule: "answer " + code + " Fetch {L}->{F} nth 1", want: goesOn})
	}
	return list
}

// guests has a client of the test ask what the faults are about, and looks whether it is answered.
func (r *liveRun) guests(t *testing.T, faults []wireFault) []wireFault {
	t.Helper()
	offered := r.newGuest(t, 97, r.L).fetch(t, r.E, 0).SnapshotID
	for i := range faults {
		rule := r.fill(faults[i].rule)
		faults[i].rule = rule
		r.add(t, rule)
		g := r.newGuest(t, 99, r.L)
		var req kmsg.Request
		switch {
		case strings.Contains(rule, "FetchSnapshot"):
			req = g.snapshotRequest(r.E, offered)
		case strings.Contains(rule, "DescribeQuorum"):
			req = describeRequest()
		default:
			req = &kmsg.ApiVersionsRequest{Version: 3, ClientSoftwareName: "guest", ClientSoftwareVersion: "1"}
		}
		ctx, cancel := context.WithTimeout(r.ctx, 500*time.Millisecond)
		_, err := g.admin.Request(ctx, req)
		cancel()
		if strings.HasPrefix(rule, "duplicate") {
			time.Sleep(300 * time.Millisecond) // for the copy to arrive
		}
		_ = g.admin.Close()
		whole := false // kinds that let an answer come
		for _, kind := range []string{"delay", "reorder", "duplicate", "mutate"} {
			whole = whole || strings.HasPrefix(rule, kind)
		}
		whole = whole || strings.HasPrefix(rule, "cut after") && strings.Contains(rule, " response ")
		breaksOff := strings.HasPrefix(rule, "truncate") && strings.Contains(rule, " response ") // what is left of it may make sense
		if (err == nil) != whole && !breaksOff {
			t.Errorf("%s: %v", rule, err)
		}
		if !r.taken(t, time.Second, []string{rule}) {
			t.Errorf("%s: it met no frame", rule)
		}
		r.heal(t)
	}
	old := r.scene
	r.settle(t)
	if r.scene != old {
		t.Logf("in the meantime the quorum elected %+v, before %+v", r.scene, old)
	}
	return faults
}

// standStillForLong replaces the leader by a pause so long that it gives up when it wakes: it tells the others by EndQuorumEpoch.
func standStillForLong(t *testing.T, r *liveRun) {
	must(t, r.q.Pause(r.L))
	begun := time.Now()
	r.replaced(t)
	time.Sleep(time.Until(begun.Add(3300 * time.Millisecond))) // Kafka's check of the quorum: 1.5 times the fetch timeout
	must(t, r.q.Resume(r.L))
}

// inject puts faults in force, lets happen what brings their frames, and expects what is to come of it. On a machine so busy that the quorum
// elects of its own accord, or cannot, it begins anew.
func (r *liveRun) inject(t *testing.T, cause func(*testing.T, *liveRun), faults ...wireFault) (took []wireFault) {
	t.Helper()
	for again := 0; ; again++ {
		begun, old := time.Now(), r.scene
		took, met := r.meet(t, cause, faults)
		if faults[0].want == ends && met {
			r.ended(t, r.F)
		}
		time.Sleep(100 * time.Millisecond)
		var ended []kraft.NodeID
		for _, id := range r.q.Controllers() {
			if !r.q.Running(id) {
				ended = append(ended, id)
			}
		}
		r.settle(t)
		got := goesOn
		switch {
		case len(ended) > 0:
			got = ends
		case r.E > old.E:
			got = elects
		}
		t.Logf("%-60s %4.1f s: leader %s of %d, then %s of %d, ended %v", old.fill(faults[0].rule), time.Since(begun).Seconds(), old.L, old.E, r.L, r.E, ended)
		if met && got == faults[0].want {
			return took
		}
		if again == 2 {
			t.Errorf("%s: met: %t, the quorum %s; want that it %s", old.fill(faults[0].rule), met, got, faults[0].want)
			return took
		}
	}
}

// meet puts faults in force until their frames came, and returns those that met one.
func (r *liveRun) meet(t *testing.T, cause func(*testing.T, *liveRun), faults []wireFault) (took []wireFault, met bool) {
	t.Helper()
	var all, needed [][]string
	for _, f := range faults {
		all = append(all, []string{r.fill(f.rule)})
		if !f.mayStay {
			needed = append(needed, all[len(all)-1])
		}
	}
	r.add(t, slices.Concat(all...)...)
	if cause != nil {
		cause(t, r)
		r.taken(t, 500*time.Millisecond, all...)
	}
	met = r.taken(t, 10*time.Second, needed...)
	if name, _, _ := strings.Cut(faults[0].rule, " "); name == "blackhole" || name == "partition" {
		time.Sleep(300 * time.Millisecond)
	}
	r.until(t, 0, func(counts map[string]faultCount) bool {
		for _, f := range faults {
			if f.rule = r.fill(f.rule); counts[f.rule].Taken > 0 {
				took = append(took, f)
			}
		}
		return true
	})
	r.heal(t)
	return took, met
}

// blameless looks at a recording: it shows each fault as what it was, and nobody is blamed.
func blameless(t *testing.T, files []string, took []wireFault) {
	t.Helper()
	v, code := check(t, files...)
	t.Logf("%s", &v)
	if v.Verdict == "DIVERGES" || code == 1 || len(v.Findings) > 0 {
		t.Errorf("check exits with %d: %s in %v", code, &v, files)
	}
	frames := alteredFrames(t, files)
	for _, f := range took {
		at := slices.IndexFunc(frames, func(a altered) bool { return a.rule == f.rule })
		if at < 0 {
			t.Errorf("%s: the recording does not show it", f.rule)
			continue
		}
		if err := shows(f.rule, &frames[at]); err != nil {
			t.Errorf("%s: %v", f.rule, err)
		}
	}
}

// shows reports what is wrong with how a recording shows a fault.
func shows(rule string, a *altered) error {
	o := &a.o
	kind, _, _ := strings.Cut(rule, " ")
	if strings.HasPrefix(rule, "cut after") {
		kind = "cut after"
	}
	want := wire.Request
	if strings.Contains(rule, " response") || kind == "answer" {
		want = wire.Response
	}
	if o.Dir != want && kind != "partition" {
		return fmt.Errorf("it is shown at a %s", o.Dir)
	}
	switch kind {
	case "drop", "cut", "blackhole", "partition":
		if o.Fault.Delivered || len(o.Fault.Sent) == 0 {
			return fmt.Errorf("delivered: %t, %d bytes as sent", o.Fault.Delivered, len(o.Fault.Sent))
		}
	case "delay", "reorder", "cut after":
		if !o.Fault.Delivered || o.Fault.Sent != nil || len(o.Frame.Bytes) == 0 {
			return fmt.Errorf("delivered: %t, %d bytes as sent", o.Fault.Delivered, len(o.Fault.Sent))
		}
	case "duplicate":
		if !o.Fault.Delivered || o.Fault.Sent == nil || len(o.Fault.Sent) > 0 {
			return fmt.Errorf("delivered: %t, %d bytes as sent", o.Fault.Delivered, len(o.Fault.Sent))
		}
	default:
		if !o.Fault.Delivered || len(o.Fault.Sent) == 0 || string(o.Fault.Sent) == string(o.Frame.Bytes) {
			return fmt.Errorf("delivered: %t, %d bytes as sent, %d as delivered", o.Fault.Delivered, len(o.Fault.Sent), len(o.Frame.Bytes))
		}
	}
	return nil
}

func TestShows_SeesEachWayToDiffer(t *testing.T) {
	sent, other := []byte("as sent"), []byte("as delivered")
	for _, tt := range []struct {
		name, rule string
		dir        wire.Direction
		frame      []byte
		fault      recordings.Fault
		ok         bool
	}{
		{"a dropped request", "drop Vote request nth 1", wire.Request, nil, recordings.Fault{Sent: sent}, true},
		{"dropped and delivered", "drop Vote request nth 1", wire.Request, sent, recordings.Fault{Sent: sent, Delivered: true}, false},
		{"dropped, and what it was is not kept", "blackhole Vote request nth 1", wire.Request, nil, recordings.Fault{}, false},
		{"the other direction", "cut Vote response nth 1", wire.Request, nil, recordings.Fault{Sent: sent}, false},
		{"a partition both ways", "partition 1->2", wire.Response, nil, recordings.Fault{Sent: sent}, true},
		{"a delay", "delay 1s Vote request nth 1", wire.Request, sent, recordings.Fault{Delivered: true}, true},
		{"a delay that alters", "delay 1s Vote request nth 1", wire.Request, other, recordings.Fault{Sent: sent, Delivered: true}, false},
		{"cut after", "cut after Vote response nth 1", wire.Response, sent, recordings.Fault{Delivered: true}, true},
		{"cut after, not delivered", "cut after Vote response nth 1", wire.Response, nil, recordings.Fault{Sent: sent}, false},
		{"a copy", "duplicate Vote request nth 1", wire.Request, sent, recordings.Fault{Sent: []byte{}, Delivered: true}, true},
		{"the original for a copy", "duplicate Vote request nth 1", wire.Request, sent, recordings.Fault{Delivered: true}, false},
		{"a mutation", "mutate Vote request field ClusterID=null nth 1", wire.Request, other, recordings.Fault{Sent: sent, Delivered: true}, true},
		{"a mutation of nothing", "mutate Vote request field ClusterID=null nth 1", wire.Request, sent, recordings.Fault{Sent: sent, Delivered: true}, false},
		{"an answer", "answer FENCED_LEADER_EPOCH Fetch nth 1", wire.Response, other, recordings.Fault{Sent: sent, Delivered: true}, true},
		{"an answer at a request", "answer FENCED_LEADER_EPOCH Fetch nth 1", wire.Request, other, recordings.Fault{Sent: sent, Delivered: true}, false},
	} {
		a := altered{rule: tt.rule, o: recordings.Observation{Dir: tt.dir, Frame: wire.Frame{Bytes: tt.frame}, Fault: &tt.fault}}
		if err := shows(tt.rule, &a); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
