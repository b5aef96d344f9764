package shadow

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
)

// coverage is which connections between controllers are seen. A capture on one host has nothing of what two others say to each other, and
// nothing in it tells so; a proxy sees what goes to the listeners that it stands at. What a node does is judged by all that came to it, so the
// second tier judges only those all of whose connections to other voters are seen.
type coverage struct {
	listens map[kraft.NodeID]bool    // something was seen on its way to this node
	proxied map[kraft.NodeID]bool    // by an observer that stands at its listener, and sees all that goes to it
	talked  map[[2]kraft.NodeID]bool // these two have talked to each other, the lower id first
	facts   int                      // counts what was taken in that may be new
}

func newCoverage() coverage {
	return coverage{listens: map[kraft.NodeID]bool{}, proxied: map[kraft.NodeID]bool{}, talked: map[[2]kraft.NodeID]bool{}}
}

// maxCovered bounds the nodes that are remembered.
const maxCovered = 256

// opened takes in a connection: one to a listener that the observer stands at shows that it does, whatever comes of the connection.
func (v *coverage) opened(o *recordings.Conn) {
	if o.Node >= 0 && len(v.proxied) < maxCovered {
		v.facts++
		v.proxied[o.Node], v.listens[o.Node] = true, true
	}
}

// saw takes in that a client has asked a server something.
func (v *coverage) saw(client, server kraft.NodeID) {
	if v.talked[pairOf(client, server)] || server < 0 || len(v.listens) >= maxCovered && !v.listens[server] {
		return
	}
	v.listens[server] = true
	v.facts++
	if client >= 0 && len(v.talked) < maxCovered*maxCovered {
		v.talked[pairOf(client, server)] = true
	}
}

func pairOf(a, b kraft.NodeID) [2]kraft.NodeID { return [2]kraft.NodeID{min(a, b), max(a, b)} }

// lacks says what of a node is not seen, "" if nothing is. A capture has all that two hosts say to each other or nothing of it, if only its
// filter lets the listeners of both through.
func (v *coverage) lacks(id kraft.NodeID, voters []kraft.NodeID, counted bool) string {
	if !v.listens[id] {
		return "nothing that goes to it is seen"
	}
	for _, other := range voters {
		switch {
		case other == id, v.proxied[id] && v.proxied[other]:
		case counted && !v.proxied[other]:
			return fmt.Sprintf("who the voters are has not been told, and not all that voter %s is asked may be seen", other)
		case !v.listens[other]:
			return fmt.Sprintf("nothing that goes to voter %s is seen", other)
		case !v.talked[pairOf(id, other)]:
			return fmt.Sprintf("nothing between it and voter %s is seen", other)
		}
	}
	return ""
}
