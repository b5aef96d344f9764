package twin

import (
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
)

// number reads a configuration value that may have come from Go or from JSON.
func number(config map[string]any, key string, otherwise int64) int64 {
	switch v := config[key].(type) {
	case int:
		return int64(v)
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return otherwise
}

func timeouts(config map[string]any) kraft.QuorumTimeouts {
	t := kraft.DefaultTimeouts()
	for key, field := range map[string]*int32{
		"controller.quorum.election.timeout.ms":     &t.ElectionMs,
		"controller.quorum.fetch.timeout.ms":        &t.FetchMs,
		"controller.quorum.election.backoff.max.ms": &t.ElectionBackoffMaxMs,
		"controller.quorum.request.timeout.ms":      &t.RequestMs,
		"controller.quorum.retry.backoff.ms":        &t.RetryBackoffMs,
		"controller.quorum.append.linger.ms":        &t.AppendLingerMs,
	} {
		*field = int32(number(config, key, int64(*field)))
	}
	return t
}

func address(text string) kraft.Address {
	i := strings.LastIndexByte(text, ':')
	port, _ := strconv.ParseUint(text[i+1:], 10, 16)
	return kraft.Address{Host: text[:i], Port: uint16(port)}
}

func endpoints(list map[string]string) kraft.Endpoints {
	var all []kraft.Endpoint
	for name, text := range list {
		all = append(all, kraft.Endpoint{Name: name, Address: address(text)})
	}
	return kraft.NewEndpoints(all...)
}

// voterSet is the initial set. Static voters are known by one address and no directory id.
func voterSet(specs []oracle.VoterSpec, dynamic bool, channel string) kraft.VoterSet {
	var voters []kraft.Voter
	for _, s := range specs {
		v := kraft.Voter{Key: kraft.ReplicaKey{ID: kraft.NodeID(s.ID)}, Versions: kraft.VersionRange{Min: s.MinKRaft, Max: s.MaxKRaft}}
		if dynamic {
			v.Key.DirectoryID, _ = kraft.ParseDirectoryID(s.Dir)
			v.Endpoints = endpoints(s.Endpoints)
		} else {
			v.Endpoints = kraft.NewEndpoints(kraft.Endpoint{Name: channel, Address: address(s.Endpoints[channel])})
			v.Versions = kraft.VersionRange{} // a static voter is taken to support kraft.version 0 alone
		}
		voters = append(voters, v)
	}
	return kraft.NewVoterSet(voters...)
}

// payload are the records of a Fetch response or the chunk of a FetchSnapshot response.
func payload(resp kmsg.Response) (records, chunk []byte) {
	switch r := resp.(type) {
	case *kmsg.FetchResponse:
		if len(r.Topics) > 0 && len(r.Topics[0].Partitions) > 0 {
			return r.Topics[0].Partitions[0].RecordBatches, nil
		}
	case *kmsg.FetchSnapshotResponse:
		if len(r.Topics) > 0 && len(r.Topics[0].Partitions) > 0 {
			return nil, r.Topics[0].Partitions[0].Bytes
		}
	}
	return nil, nil
}
