package belief

import (
	"testing"
)

// BenchmarkSteady judges what a quorum of three says for some seconds in which nothing happens: Fetches, answers and appends.
func BenchmarkSteady(b *testing.B) {
	s := newSim(b, 1, "4.4.0", 3, 1, true)
	s.calm = true
	var list []Message
	s.tap = func(m *Message) { list = append(list, *m) }
	s.run(20_000)
	b.ReportAllocs()
	judged := 0
	c := New(Options{})
	for at := 0; b.Loop(); at++ {
		if at%len(list) == 0 {
			c = New(Options{})
			for _, n := range s.nodes {
				c.Release(n.id, s.profile.Build)
			}
		}
		c.Message(&list[at%len(list)])
		judged++
	}
	b.ReportMetric(float64(judged)/b.Elapsed().Seconds(), "messages/s")
	for _, r := range c.Report() {
		if r.Diverged > 0 {
			b.Errorf("%+v", r)
		}
	}
}
