package belief

import (
	"slices"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// mix gives each node a release of its own. Some are older than PreVote (KIP-996): whoever wants to ask one for a pre-vote is refused by its
// own network client, which nobody sees (Kafka: VoteRequest.Builder.build), and stands for election at once.
func (s *sim) mix() {
	s.mixed = true
	profiles := compat.Profiles()
	for _, n := range s.nodes {
		n.become(profiles[s.r.IntN(len(profiles))])
		if n.old = s.r.IntN(3) == 0; n.old {
			n.become(profiles[0])
		}
		n.introduce()
	}
}

func (n *simNode) become(p compat.Profile) {
	n.profile, n.config.Rules = p, p.Rules
}

// introduce tells the checker what the node is, as it does itself with each connection that it opens (ApiVersions).
func (n *simNode) introduce() {
	release := n.profile.Build
	if n.old {
		release = "3.9.2"
	}
	if n.s.c.Release(n.id, release) { // whatever it did since its restart was judged by the rules of the other
		n.s.found = slices.DeleteFunc(n.s.found, func(d Divergence) bool { return d.Node == n.id })
	}
}

// upgrade may have a node that starts be of another release than before.
func (n *simNode) upgrade() {
	if profiles := compat.Profiles(); n.s.mixed && n.s.r.IntN(4) == 0 {
		n.become(profiles[n.s.r.IntN(len(profiles))])
		n.old = n.s.r.IntN(4) == 0
	}
}

// blamed reports whether a node was blamed a while ago, and has not come to light as one of another release since.
func (s *sim) blamed() bool {
	const patience = 2_000_000
	return len(s.found) > 0 && (!s.mixed || s.now > s.found[0].At/1000+patience)
}

// speaks is the highest version of a request that the node knows.
func (n *simNode) speaks(key int16) int16 {
	if n.old && key == wire.KeyVote {
		return 1
	}
	r, _ := n.profile.Range(kraft.APIKey(key))
	return r.Max
}
