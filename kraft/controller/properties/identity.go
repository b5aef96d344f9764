package properties

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// Identity is who a node is and where its files lie, of a file that may have other faults.
type Identity struct {
	File        string
	ID          kraft.NodeID
	Roles       string // process.roles
	Controller  bool
	Voters      []string // entries of controller.quorum.voters, as they stand there
	Listener    string   // the first of controller.listener.names, in upper case
	Directories []string // the one of the metadata log comes first

	listeners []string // advertised ones, then those that are bound
}

// ReadIdentity reads a property file for a tool that works on a node's files.
func ReadIdentity(file string) (*Identity, error) {
	s, err := readSource(file)
	if err != nil {
		return nil, err
	}
	n := &Identity{File: file, ID: s.nodeID(), Roles: s.text("process.roles", ""), Voters: s.list(votersName)}
	_, n.Controller = s.roles()
	if names := s.list(controllerNamesName); len(names) > 0 {
		n.Listener = strings.ToUpper(names[0])
	}
	n.listeners = append(s.list(advertisedName), s.list(listenersName)...)
	n.Directories = s.logDirs()
	if metadata := s.text("metadata.log.dir", ""); metadata != "" {
		metadata = filepath.Clean(metadata)
		rest := slices.DeleteFunc(n.Directories, func(dir string) bool { return dir == metadata })
		n.Directories = append([]string{metadata}, rest...)
	}
	if s.err != nil {
		return nil, s.err
	}
	return n, nil
}

// Advertised is the address of the first controller listener, localhost where it names no host.
func (n *Identity) Advertised() (kraft.Endpoint, error) {
	for _, text := range n.listeners {
		name, address, ok := strings.Cut(text, "://")
		if !ok || n.Listener == "" || !strings.EqualFold(name, n.Listener) {
			continue
		}
		a, ok := parseAddress(address)
		if !ok {
			return kraft.Endpoint{}, fmt.Errorf("%s: listener %s: want LISTENER://HOST:PORT", n.File, text)
		}
		if a.Host == "" {
			a.Host = "localhost"
		}
		return kraft.Endpoint{Name: n.Listener, Address: a}, nil
	}
	return kraft.Endpoint{}, fmt.Errorf("%s: no listener has the name of the first of controller.listener.names, %q", n.File, n.Listener)
}
