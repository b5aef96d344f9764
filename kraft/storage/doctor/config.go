package doctor

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
)

// Config is what a node's property file says.
type Config struct {
	File         string
	NodeID       kraft.NodeID
	Directories  []string       // the metadata directory comes first
	Listener     string         // the first of controller.listener.names
	Advertised   kraft.Endpoint // of that listener; no name: the file does not say
	StaticVoters []kraft.NodeID // of controller.quorum.voters
}

// lookConfig compares the directory with the property file of its node: which it is by its path or, for a copy, by the node's id.
func (d *Directory) lookConfig(c *Config) {
	here := slices.ContainsFunc(c.Directories, func(path string) bool { return samePlace(path, d.Path) })
	if !d.formatted || !here && c.NodeID != d.Key.ID {
		return
	}
	if c.NodeID != d.Key.ID {
		d.find(Fatal, "other-node-id", c.File, -1, "correct node.id, or name the directory of this node", "node.id is %v, but %s is the directory of node %v", c.NodeID, d.Path, d.Key.ID)
		return
	}
	if len(c.StaticVoters) > 0 {
		d.lookStaticVoters(c)
	}
	own := d.voters.Find(d.Key.ID)
	if own == nil || c.Listener == "" {
		return
	}
	address, ok := own.Endpoints.Address(c.Listener)
	switch {
	case !ok:
		d.find(Risk, "listener-unlike-log", c.File, d.votersAt, "give the listener the name that the voters have, on all controllers",
			"the first of controller.listener.names is %s, but the voter set has no such listener of node %v", c.Listener, d.Key.ID)
	case c.Advertised.Name != "" && address != c.Advertised.Address:
		d.find(Risk, "address-unlike-log", c.File, d.votersAt, "a running leader takes the new address over by itself (UpdateRaftVoter). "+
			"While a majority of the voters moves at once, nobody finds the others: move them one after the other, or make the old address lead to the node until there is a leader",
			"it advertises %v, but the voter set has node %v at %v, where the others look for it", c.Advertised.Address, d.Key.ID, address)
	}
}

// samePlace reports whether two paths lead to the same directory.
func samePlace(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// lookStaticVoters: the last record counts, and controller.quorum.voters only while there is none.
func (d *Directory) lookStaticVoters(c *Config) {
	if d.voters.Len() == 0 && len(d.named) == 0 {
		d.named = c.StaticVoters
		return
	}
	foreign := func(id kraft.NodeID) bool { return d.voters.Find(id) == nil && !slices.Contains(d.named, id) }
	if n := max(d.voters.Len(), len(d.named)); n != len(c.StaticVoters) || slices.ContainsFunc(c.StaticVoters, foreign) {
		d.find(Risk, "voters-unlike-log", c.File, d.votersAt, "make controller.quorum.voters the same on all nodes; in a dynamic quorum remove it and set controller.quorum.bootstrap.servers",
			"controller.quorum.voters names %v, the directory %d voters: %v %v", c.StaticVoters, n, d.voters, d.named)
	}
}
