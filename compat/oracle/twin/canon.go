package twin

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
)

// Effects that are the harness's own: what the state machine above was told, and the draw of a bootstrap server, which
// Kafka repeats in every turn in which all of them back off.
var uncompared = []string{"commit", "commitHeld", "loadSnapshot", "loadBootstrap", "leaderChange", "beginShutdown", "deleteBefore"}

// compared reports whether an effect counts.
func compared(e *oracle.Effect, servers int) bool {
	return !slices.Contains(uncompared, e.Kind) && (e.Kind != "draw" || e.Text(0) != bounds(0, int64(servers)))
}

// lines puts effects into a form in which equal decisions are equal texts. The rules:
//
//   - lists whose order comes from hash maps are sorted (listeners, DescribeQuorum's replicas and nodes)
//   - error texts count as null, empty or non-empty
//   - the software named by ApiVersions does not count
//   - an answer that Kafka cannot encode (FetchSnapshot with a partition error, whose records stay null) equals the
//     answer meant
func lines(effects []oracle.Effect, servers int) []string {
	var list []string
	for i := range effects {
		e := &effects[i]
		if !compared(e, servers) {
			continue
		}
		switch e.Kind {
		case "send":
			list = append(list, fmt.Sprintf("send #%d to %d at %s: %s", e.Int(0), e.Int(1), e.Text(2), body("request", int16(e.Int(3)), int16(e.Int(4)), e.Text(5))))
		case "reply":
			list = append(list, fmt.Sprintf("reply #%d: %s", e.Int(0), body("response", int16(e.Int(1)), int16(e.Int(2)), e.Text(3))))
		case "append":
			list = append(list, appendLines(e)...)
		default:
			list = append(list, e.String())
		}
	}
	return list
}

// appendLines shows one line for each batch.
func appendLines(e *oracle.Effect) []string {
	var list []string
	batches, _ := e.Args[3].([]any)
	for _, b := range batches {
		if b, ok := b.([]any); ok && len(b) >= 4 {
			list = append(list, fmt.Sprintf("append %s base %v epoch %v, %v bytes, stamped %v", e.Text(0), b[0], b[1], b[2], b[3]))
		}
	}
	return append(list, fmt.Sprintf("append up to %d", e.Int(2)))
}

// body names a message by its bytes. Those of messages with unordered lists, or with texts, are written anew.
func body(direction string, api, version int16, encoded string) string {
	switch kmsg.Key(api) {
	case kmsg.Fetch, kmsg.Vote, kmsg.EndQuorumEpoch: // these are compared as they are
	default:
		encoded = rewritten(direction, api, version, encoded)
	}
	return fmt.Sprintf("%s %d v%d %s", direction, api, version, encoded)
}

func rewritten(direction string, api, version int16, encoded string) string {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) == 0 {
		return encoded
	}
	req, resp, err := oracle.Decode(oracle.Message{Response: direction == "response", API: api, Version: version, Body: raw})
	if err != nil {
		return encoded
	}
	var again, ordered []byte
	if req != nil {
		again = req.AppendTo(nil)
		canonRequest(req)
		ordered = req.AppendTo(nil)
	} else {
		if unencodable(resp) {
			return ""
		}
		again = resp.AppendTo(nil)
		canonResponse(resp)
		ordered = resp.AppendTo(nil)
	}
	text := base64.StdEncoding.EncodeToString(ordered)
	if !bytes.Equal(raw, again) { // there is something that decoding does not show
		text += " " + encoded
	}
	return text
}

var named = regexp.MustCompile(`(request|response) (\d+) v(\d+) ?([A-Za-z0-9+/=]*)`)

// readable shows the messages of a line.
func readable(line string) string {
	return named.ReplaceAllStringFunc(line, func(found string) string {
		m := named.FindStringSubmatch(found)
		api, _ := strconv.Atoi(m[2])
		version, _ := strconv.Atoi(m[3])
		name := fmt.Sprintf("%s v%d ", kmsg.Key(api).Name(), version)
		raw, err := base64.StdEncoding.DecodeString(m[4])
		if err != nil || len(raw) == 0 {
			return name + "cannot be encoded"
		}
		req, resp, err := oracle.Decode(oracle.Message{Response: m[1] == "response", API: int16(api), Version: int16(version), Body: raw})
		if err != nil {
			return name + m[4]
		}
		var text []byte
		if req != nil {
			text, err = json.Marshal(req)
		} else {
			text, err = json.Marshal(resp)
		}
		if err != nil {
			return name + m[4]
		}
		return name + strings.ReplaceAll(strings.ReplaceAll(string(text), `,"UnknownTags":{}`, ""), `"`, "")
	})
}

func canonRequest(req kmsg.Request) {
	switch r := req.(type) {
	case *kmsg.BeginQuorumEpochRequest:
		slices.SortFunc(r.LeaderEndpoints, func(a, b kmsg.BeginQuorumEpochRequestLeaderEndpoint) int { return cmp.Compare(a.Name, b.Name) })
	case *kmsg.AddRaftVoterRequest:
		slices.SortFunc(r.Listeners, func(a, b kmsg.AddRaftVoterRequestListener) int { return cmp.Compare(a.Name, b.Name) })
	case *kmsg.UpdateRaftVoterRequest:
		slices.SortFunc(r.Listeners, func(a, b kmsg.UpdateRaftVoterRequestListener) int { return cmp.Compare(a.Name, b.Name) })
	case *kmsg.ApiVersionsRequest:
		r.ClientSoftwareName, r.ClientSoftwareVersion = "", ""
	}
}

// unencodable reports whether Kafka's server fails on the answer: the records of a FetchSnapshot answer with an error in its
// partition stay null, which the schema does not allow.
func unencodable(resp kmsg.Response) bool {
	r, ok := resp.(*kmsg.FetchSnapshotResponse)
	return ok && len(r.Topics) > 0 && r.Topics[0].Partitions[0].ErrorCode != int16(kraft.None)
}

// canonResponse orders lists and drops texts.
func canonResponse(resp kmsg.Response) {
	switch r := resp.(type) {
	case *kmsg.DescribeQuorumResponse:
		plain(&r.ErrorMessage)
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				p := &r.Topics[i].Partitions[j]
				plain(&p.ErrorMessage)
				slices.SortFunc(p.CurrentVoters, compareReplicas)
				slices.SortFunc(p.Observers, compareReplicas)
			}
		}
		slices.SortFunc(r.Nodes, func(a, b kmsg.DescribeQuorumResponseNode) int { return cmp.Compare(a.NodeID, b.NodeID) })
		for i := range r.Nodes {
			slices.SortFunc(r.Nodes[i].Listeners, func(a, b kmsg.DescribeQuorumResponseNodeListener) int { return cmp.Compare(a.Name, b.Name) })
		}
	case *kmsg.AddRaftVoterResponse:
		plain(&r.ErrorMessage)
	case *kmsg.RemoveRaftVoterResponse:
		plain(&r.ErrorMessage)
	}
}

func plain(text **string) {
	if *text != nil && **text != "" {
		some := "text"
		*text = &some
	}
}

func compareReplicas(a, b kmsg.DescribeQuorumResponseTopicPartitionReplicaState) int {
	// below v2 replicas with the same id cannot be told by their directory id
	return cmp.Or(cmp.Compare(a.ReplicaID, b.ReplicaID), bytes.Compare(a.ReplicaDirectoryID[:], b.ReplicaDirectoryID[:]),
		cmp.Compare(a.LogEndOffset, b.LogEndOffset), cmp.Compare(a.LastFetchTimestamp, b.LastFetchTimestamp),
		cmp.Compare(a.LastCaughtUpTimestamp, b.LastCaughtUpTimestamp))
}
