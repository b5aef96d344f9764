//go:build linux

package main

import (
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/wire"
)

func TestFrames_AreWhatTheySay(t *testing.T) {
	h, body, err := wire.ParseRequestHeader(fetchRequest[4:])
	if err != nil || h.Key != wire.KeyFetch || h.Version != 17 || h.CorrelationID != 8 {
		t.Fatalf("request header %+v, %v", h, err)
	}
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(17)
	if err := req.ReadFrom(body); err != nil || string(req.AppendTo(nil)) != string(body) {
		t.Errorf("request body: %v", err)
	}
	id, body, err := wire.ParseResponseHeader(fetchResponse[4:], h.Key, h.Version)
	if err != nil || id != 8 {
		t.Fatalf("response header: %d, %v", id, err)
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(17)
	if err := resp.ReadFrom(body); err != nil || string(resp.AppendTo(nil)) != string(body) {
		t.Errorf("response body: %v", err)
	}
}

// TestLoad_CountsEachAnswerOnce lets a backend answer, and then a broken one that answers something else.
func TestLoad_CountsEachAnswerOnce(t *testing.T) {
	for _, depth := range []int{1, 16} {
		near, far := net.Pipe()
		go answer(far)
		c := newClient(near)
		if err := c.exchange(depth, time.Time{}); err != nil || c.requests != int64(depth) || len(c.took) != depth {
			t.Errorf("depth %d: %d requests, %v", depth, c.requests, err)
		}
		_ = near.Close()
	}
	near, far := net.Pipe()
	go func() {
		_, _ = far.Read(make([]byte, 1024))
		_, _ = far.Write(fetchResponse) // the correlation id of the template is not the one of the request
	}()
	if err := newClient(near).exchange(1, time.Time{}); err == nil {
		t.Error("a wrong answer is taken")
	}
}

func TestMedian_AndItsInterval(t *testing.T) {
	v := []float64{5, 1, 4, 2, 3}
	if m := median(v); m != 3 {
		t.Errorf("median %v", m)
	}
	if m := median(append(v, 6)); m != 3.5 {
		t.Errorf("median of an even number %v", m)
	}
	low, high := interval(v, 1)
	if low < 1 || low > 3 || high < 3 || high > 5 {
		t.Errorf("interval %v to %v", low, high)
	}
}

// TestTell_FailsAGateThatIsNotMet: a benchmark whose gates cannot fail would be worth nothing.
func TestTell_FailsAGateThatIsNotMet(t *testing.T) {
	b := &bench{backend: &target{}, bare: &target{}, proxy: &target{}}
	w := workload{title: "w", throughput: 0.9, p50: 1.05, calls: 6}
	good := outcome{Requests: 100, Seconds: 1, P50: 10, P99: 20, Busy: 1, Calls: 4}
	if f := b.tell(w, [][]outcome{{good}, {good}, {good}}); len(f) != 0 {
		t.Errorf("failed: %q", f)
	}
	bad := outcome{Requests: 80, Seconds: 1, P50: 11, P99: 20, Busy: 1, Calls: 7}
	if f := b.tell(w, [][]outcome{{good}, {good}, {bad}}); len(f) != 3 {
		t.Errorf("failed: %q", f)
	}
}
