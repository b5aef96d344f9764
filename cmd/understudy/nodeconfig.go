package main

import (
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/controller/properties"
)

// readIdentity reads who the node of a property file is.
func readIdentity(path string) (*properties.Identity, error) {
	node, err := properties.ReadIdentity(path)
	if err != nil {
		return nil, usageError("%w", err)
	}
	return node, nil
}

// advertised is the address of the node's first controller listener.
func advertised(node *properties.Identity) (kraft.Endpoint, error) {
	e, err := node.Advertised()
	if err != nil {
		return e, usageError("%w", err)
	}
	return e, nil
}

// parseVoters reads ID@HOST:PORT:DIRECTORYID,… (Kafka: DynamicVoters).
func parseVoters(text, listener string) (kraft.VoterSet, error) {
	var voters []kraft.Voter
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
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
		address, ok := properties.ParseAddress(rest[:at])
		if !ok {
			return kraft.VoterSet{}, usageError("--initial-controllers: %q: want ID@HOST:PORT:DIRECTORYID", one)
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
