package replay

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// TestRun_WhatCannotBeReadDoesNotEndAReplayToAnotherRelease: such a message cannot be asked in the version of that release, and is one of many.
func TestRun_WhatCannotBeReadDoesNotEndAReplayToAnotherRelease(t *testing.T) {
	cut := func(o *recordings.Observation) { o.Frame.Bytes = o.Frame.Bytes[:len(o.Frame.Bytes)-3] }
	for _, tc := range []struct {
		name     string
		tape     func(*tape, *recordings.Conn)
		want     Outcome
		recorded string // of the difference
	}{
		{"a request", func(t *tape, c *recordings.Conn) {
			req := fetch(5)
			req.Version = 18
			t.request(c, "understudy", req)
			cut(&t.list[len(t.list)-1])
			t.list = append(t.list, recordings.Observation{Kind: recordings.KindClose, Conn: c, At: wire.Stamp{Seen: t.at}})
		}, Same, ""},
		{"an answer", func(t *tape, c *recordings.Conn) {
			req := fetch(5)
			req.Version = 18
			t.request(c, "understudy", req)(fetched(0, 2, 5))
			cut(&t.list[len(t.list)-1])
		}, Differs, "answer to Fetch v18: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				story := &tape{}
				tc.tape(story, &recordings.Conn{ID: 1, Node: 1, Endpoint: "127.0.0.1:1"})
				story.request(&recordings.Conn{ID: 2, Node: 1, Endpoint: "127.0.0.1:1"}, "understudy", vote(5))(voted(5, true))
				s, err := Load(story, 1)
				if err != nil {
					t.Fatal(err)
				}
				r, err := Run(t.Context(), s, Options{Recorded: "4.4.0", Live: "4.0.0", Patience: time.Second, Dial: func(context.Context) (net.Conn, error) {
					near, far := net.Pipe()
					go (&node{answer: honest, records: func() kmsg.Response { return fetched(0, 2, 5) }}).serve(far)
					return near, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				if r.Outcome() != tc.want || r.Asked != 2 || r.Compared != 2 {
					t.Errorf("%s, want %s: %+v", r.Outcome(), tc.want, r)
				}
				for _, d := range r.Differences {
					if d.Rule == "" && !strings.HasPrefix(d.Recorded, tc.recorded) {
						t.Errorf("%s", &d)
					}
				}
			})
		})
	}
}
