package controller

import (
	"net"
	"testing"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// A voter that comes back at another address has its leader write it down, whichever release's rules it follows: up to 4.0 the time for it passes
// when the leader's connection is busy, and that is nearly always so.
func TestUpdateVoter_ANewAddressIsToldWhileFetchesAreParked(t *testing.T) {
	for _, release := range []string{"4.0.0", "4.1.2", "4.4.0"} {
		t.Run(release, func(t *testing.T) {
			q := newQuorum(t, 3, 3, func(_ kraft.NodeID, c *Config) {
				profile, err := compat.ByRelease(release)
				must(t, err)
				c.Profile = profile
			})
			q.start(1, 2, 3)
			leader, _ := q.leader(0)
			moved := leader%3 + 1
			q.wait(moved, "it follows", func(s *Status) bool { return s.CaughtUp() })
			q.kill(moved)
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			q.nodes[moved].address.Port = uint16(ln.Addr().(*net.TCPAddr).Port)
			must(t, ln.Close())
			q.start(moved)
			for id := range q.nodes {
				q.wait(id, "it knows the new address", func(s *Status) bool {
					address, ok := s.Voters.Listeners(moved).Address(testListener)
					return ok && address == q.nodes[moved].address
				})
			}
		})
	}
}
