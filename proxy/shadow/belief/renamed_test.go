package belief

import (
	"slices"
	"testing"
)

// TestRenamed_RequestsToTheLeaderAndToTheVoterAreOvertaken: controllers are configured by one address and say another as leaders. What
// a node has yet to send is kept by address, so a vote may leave behind a Fetch that was built later, on the same connection. With each of the seeds a right node was blamed
// while the search took all that goes to one node for one queue.
func TestRenamed_RequestsToTheLeaderAndToTheVoterAreOvertaken(t *testing.T) {
	seeds := []uint64{101, 127}
	if *simSeed != 0 {
		seeds = []uint64{*simSeed}
	}
	for i := range uint64(*simRuns) {
		seeds = append(seeds, *simFrom+i)
	}
	for _, seed := range seeds {
		s := newSim(t, seed, "4.2.0", 3+int(seed%3), 0, seed%2 == 0)
		s.renamed, s.slow, s.late = true, 5000, true
		s.run(1200)
		if len(s.found) > 0 {
			t.Errorf("-sim-seed=%d", seed)
			s.report(t)
		}
	}
}

// next takes the request that leaves next: the first one to the leader, or the first one to the voter.
func (l *simLink) next(s *sim) simRequest {
	at := 0
	if s.renamed {
		leader := s.r.IntN(2) == 0
		at = max(0, slices.IndexFunc(l.unsent, func(r simRequest) bool { return r.leader == leader }))
	}
	r := l.unsent[at]
	l.unsent = slices.Delete(l.unsent, at, at+1)
	return r
}
