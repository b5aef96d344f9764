package demo

import (
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/understudy-kafka/understudy/recordings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLoad_RecordedQuorumCanBePlayed(t *testing.T) {
	q, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if n := q.Script.Nodes(); len(n) != 3 || n[0] != 1 || n[1] != 2 || n[2] != 3 {
		t.Errorf("controllers %v, want 1 to 3", n)
	}
	if d := q.Script.Duration(); d < 15*time.Second || d > 16*time.Second {
		t.Errorf("duration %s, want what the capture covers", d)
	}
	if len(q.Actions) != 5 || q.Actions[4].What != "SIGKILL leader 1" {
		t.Errorf("actions %v", q.Actions)
	}
}

func TestFindForgery_TakesARefusalBecauseOfAnotherVote(t *testing.T) {
	r, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	got, err := FindForgery(r)
	if err != nil {
		t.Fatal(err)
	}
	// Nodes 2 and 3 were both candidates of epoch 2 (logs of both nodes: "Vote request … with epoch 2 is rejected").
	// Node 2 answered first: its first answer to node 3 was to a pre-vote, so this is its second.
	want := Forgery{
		Voter: 2, Candidate: 3, VotedFor: 2, Epoch: 2,
		Rule: "mutate Vote response from 2 to 3 nth 2 field VoteGranted=true",
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// upTo ends a source before a packet block.
type upTo struct {
	recordings.Source
	block uint64
}

func (u *upTo) Next(o *recordings.Observation) error {
	if err := u.Source.Next(o); err != nil {
		return err
	}
	if o.Number >= u.block {
		return io.EOF
	}
	return nil
}

// In the first epoch nobody was refused, so nothing there can be made a second vote.
func TestFindForgery_SaysWhenThereIsNone(t *testing.T) {
	r, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	if f, err := FindForgery(&upTo{r, 500}); err == nil {
		t.Errorf("found %+v", f)
	}
}
