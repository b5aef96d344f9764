package main

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// nodeConfig is what a node's property file says about who the node is and where its files lie.
type nodeConfig struct {
	path       string
	id         kraft.NodeID
	roles      string
	controller bool
	voters     string   // controller.quorum.voters
	listener   string   // the first of controller.listener.names
	listeners  []string // advertised ones, then those that are bound
	dirs       []string // the metadata directory comes first
}

// readNodeConfig reads Kafka's property file.
func readNodeConfig(path string) (*nodeConfig, error) {
	p, err := readProperties(path)
	if err != nil {
		return nil, err
	}
	c := &nodeConfig{path: path, roles: p["process.roles"], voters: strings.TrimSpace(p["controller.quorum.voters"])}
	id, err := strconv.ParseInt(p["node.id"], 10, 32)
	if err != nil || id < 0 {
		return nil, usageError("%s: node.id is %q: want a number of 0 or above", path, p["node.id"])
	}
	c.id = kraft.NodeID(id)
	roles := list(c.roles)
	for _, role := range roles {
		if role != "controller" && role != "broker" {
			return nil, usageError("%s: process.roles names %q: want controller, broker or both", path, role)
		}
	}
	if len(roles) == 0 {
		return nil, usageError("%s: process.roles is not set: want controller, broker or both", path)
	}
	c.controller = slices.Contains(roles, "controller")
	if names := list(p["controller.listener.names"]); len(names) > 0 {
		c.listener = strings.ToUpper(names[0])
	}
	c.listeners = append(list(p["advertised.listeners"]), list(p["listeners"])...)
	c.setDirs(p)
	return c, nil
}

// setDirs: metadata.log.dir, else the first of log.dirs, else log.dir, is where the metadata log lies.
func (c *nodeConfig) setDirs(p map[string]string) {
	dirs := list(p["log.dirs"])
	if len(dirs) == 0 {
		dirs = list(p["log.dir"])
	}
	if len(dirs) == 0 {
		dirs = []string{"/tmp/kafka-logs"}
	}
	if metadata := p["metadata.log.dir"]; metadata != "" {
		dirs = append([]string{metadata}, dirs...)
	}
	for _, dir := range dirs {
		if dir = filepath.Clean(dir); !slices.Contains(c.dirs, dir) {
			c.dirs = append(c.dirs, dir)
		}
	}
}

func list(text string) (all []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// advertised is the address of the first controller listener, localhost where it names no host.
func (c *nodeConfig) advertised() (kraft.Endpoint, error) {
	for _, text := range c.listeners {
		name, address, ok := strings.Cut(text, "://")
		if !ok || c.listener == "" || !strings.EqualFold(name, c.listener) {
			continue
		}
		a, err := parseAddress(address)
		if err != nil {
			return kraft.Endpoint{}, usageError("%s: listener %s: %w", c.path, text, err)
		}
		if a.Host == "" {
			a.Host = "localhost"
		}
		return kraft.Endpoint{Name: c.listener, Address: a}, nil
	}
	return kraft.Endpoint{}, usageError("%s: no listener has the name of the first of controller.listener.names, %q", c.path, c.listener)
}

func parseAddress(text string) (kraft.Address, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return kraft.Address{}, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return kraft.Address{}, err
	}
	return kraft.Address{Host: host, Port: uint16(n)}, nil
}

// parseVoters reads ID@HOST:PORT:DIRECTORYID,… (Kafka: DynamicVoters).
func parseVoters(text, listener string) (kraft.VoterSet, error) {
	var voters []kraft.Voter
	for _, one := range list(text) {
		id, rest, ok := strings.Cut(one, "@")
		number, err := strconv.ParseInt(id, 10, 32)
		at := strings.LastIndexByte(rest, ':')
		if !ok || err != nil || number < 0 || at < 0 {
			return kraft.VoterSet{}, usageError("--initial-controllers: %q: want ID@HOST:PORT:DIRECTORYID", one)
		}
		directory, err := kraft.ParseDirectoryID(rest[at+1:])
		if err != nil {
			return kraft.VoterSet{}, usageError("--initial-controllers: %q: %w", one, err)
		}
		address, err := parseAddress(rest[:at])
		if err != nil || address.Host == "" {
			return kraft.VoterSet{}, usageError("--initial-controllers: %q: want ID@HOST:PORT:DIRECTORYID (%v)", one, err)
		}
		for _, v := range voters {
			if v.Key.ID == kraft.NodeID(number) || v.Key.DirectoryID == directory {
				return kraft.VoterSet{}, usageError("--initial-controllers: %q: voter %v has the same id or directory id", one, v.Key)
			}
		}
		voters = append(voters, newVoter(kraft.ReplicaKey{ID: kraft.NodeID(number), DirectoryID: directory}, kraft.Endpoint{Name: listener, Address: address}))
	}
	if len(voters) == 0 {
		return kraft.VoterSet{}, usageError("--initial-controllers names no controller")
	}
	return kraft.NewVoterSet(voters...), nil
}
