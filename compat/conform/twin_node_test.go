package conform

import (
	"context"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// twin is a node that passes a case but for one thing.
type twin struct {
	id, what string
	talk     []Spoken // what it says
}

// isQuick reports whether what a twin breaks shows in its bytes, not in the time that it takes: that of an answer is the machine's too.
func isQuick(what string) bool {
	return !strings.Contains(what, elapsed) && !strings.Contains(what, "silence")
}

// askTwins runs the suite against a recorded node that is, in each conversation of a case, the twin of that case. Each must fail.
func askTwins(t *testing.T, name string, list []twin) {
	t.Helper()
	if len(list) == 0 {
		return
	}
	var mu sync.Mutex
	now := 0 // the case that is asked
	address := listen(t, func(client net.Conn) {
		mu.Lock()
		talk := list[min(now, len(list)-1)].talk
		mu.Unlock()
		for i := range talk {
			if !talk[i].replay(client) {
				return
			}
		}
		_, _ = io.Copy(io.Discard, client)
	})
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = regexp.QuoteMeta(list[i].id)
	}
	report := playedRun(t, name, func(o *Options) {
		o.Match = regexp.MustCompile("^(" + strings.Join(ids, "|") + ")$")
		o.ask = func(ctx context.Context, _ string) (net.Conn, error) { return plain(ctx, address) }
		o.Progress = func(done, _ int, _ *Result) {
			mu.Lock()
			defer mu.Unlock()
			now = done
		}
	})
	if len(report.Results) != len(list) {
		t.Fatalf("%s: %d cases, want %d", name, len(report.Results), len(list))
	}
	for i := range report.Results {
		if r := &report.Results[i]; r.Case.ID != list[i].id || r.Outcome != Failed {
			t.Errorf("%s: %s: %s of a node that breaks %s: %s %s", name, list[i].id, r.Outcome, list[i].what, r.Case.ID, r.Why)
		}
	}
}

// replay hears a request and says what was said; it reports whether the connection goes on.
func (s *Spoken) replay(conn net.Conn) bool {
	if _, err := io.CopyN(io.Discard, conn, int64(len(s.Request))+4); err != nil {
		return false
	}
	return s.Answer != nil && writeFrame(conn, s.Answer) == nil
}
