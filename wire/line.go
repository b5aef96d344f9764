package wire

import (
	"encoding/base64"
	"errors"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/understudy-kafka/understudy/kraft"
)

// AppendRequestLine appends a request on one line: name, version and what it says, as in
// "Vote v2 epoch 7, candidate 2, log 45@6, pre-vote". Secrets are left out, and control characters of foreign
// text are escaped. A body that cannot be decoded is named so with the reason; a key without a file of its own here
// gives only its size. It ends the validity of an earlier [Decoder.Request] for the key.
func (d *Decoder) AppendRequestLine(dst []byte, h RequestHeader, body []byte) []byte {
	l := line(dst).add(Name(h.Key)).add(" v").num(int64(h.Version)).add(" ")
	if h.Key == KeyFetch {
		if d.fetch.Parse(h.Version, body) == nil {
			return d.fetch.line(h.Version, l)
		}
	}
	show := requestLines[h.Key]
	if show == nil {
		return l.num(int64(len(body))).add(" bytes")
	}
	m, err := d.Request(h.Key, h.Version, body)
	if err != nil {
		return l.undecodable(err)
	}
	return show(l, m)
}

// AppendResponseLine appends the response to a request of this key and version on one line, like
// [Decoder.AppendRequestLine].
func (d *Decoder) AppendResponseLine(dst []byte, key, version int16, body []byte) []byte {
	l := line(dst).add(Name(key)).add(" v").num(int64(version)).add(" ")
	if key == KeyFetch {
		if d.fetched.Parse(version, body) == nil {
			return d.fetched.line(l)
		}
	}
	show := responseLines[key]
	if show == nil {
		return l.num(int64(len(body))).add(" bytes")
	}
	m, err := d.Response(key, version, body)
	if err != nil {
		return l.undecodable(err)
	}
	return show(l, m)
}

// printer makes a function for one message type fit the tables below.
func printer[M any](show func(line, M) line) func(line, any) line {
	return func(l line, m any) line { return show(l, m.(M)) }
}

var requestLines = map[int16]func(line, any) line{
	KeyFetch:                     printer(fetchRequestLine),
	KeySaslHandshake:             printer(saslHandshakeRequestLine),
	KeyAPIVersions:               printer(apiVersionsRequestLine),
	KeySaslAuthenticate:          printer(saslAuthenticateRequestLine),
	KeyIncrementalAlterConfigs:   printer(incrementalAlterConfigsRequestLine),
	KeyAlterUserScramCredentials: printer(alterUserScramCredentialsRequestLine),
	KeyVote:                      printer(voteRequestLine),
	KeyBeginQuorumEpoch:          printer(beginQuorumEpochRequestLine),
	KeyEndQuorumEpoch:            printer(endQuorumEpochRequestLine),
	KeyDescribeQuorum:            printer(describeQuorumRequestLine),
	KeyUpdateFeatures:            printer(updateFeaturesRequestLine),
	KeyEnvelope:                  printer(envelopeRequestLine),
	KeyFetchSnapshot:             printer(fetchSnapshotRequestLine),
	KeyDescribeCluster:           printer(describeClusterRequestLine),
	KeyBrokerRegistration:        printer(brokerRegistrationRequestLine),
	KeyBrokerHeartbeat:           printer(brokerHeartbeatRequestLine),
	KeyUnregisterBroker:          printer(unregisterBrokerRequestLine),
	KeyControllerRegistration:    printer(controllerRegistrationRequestLine),
	KeyAddRaftVoter:              printer(addRaftVoterRequestLine),
	KeyRemoveRaftVoter:           printer(removeRaftVoterRequestLine),
	KeyUpdateRaftVoter:           printer(updateRaftVoterRequestLine),
	KeyUnregisterController:      printer(unregisterControllerRequestLine),
}

var responseLines = map[int16]func(line, any) line{
	KeyFetch:                     printer(fetchResponseLine),
	KeySaslHandshake:             printer(saslHandshakeResponseLine),
	KeyAPIVersions:               printer(apiVersionsResponseLine),
	KeySaslAuthenticate:          printer(saslAuthenticateResponseLine),
	KeyIncrementalAlterConfigs:   printer(incrementalAlterConfigsResponseLine),
	KeyAlterUserScramCredentials: printer(alterUserScramCredentialsResponseLine),
	KeyVote:                      printer(voteResponseLine),
	KeyBeginQuorumEpoch:          printer(beginQuorumEpochResponseLine),
	KeyEndQuorumEpoch:            printer(endQuorumEpochResponseLine),
	KeyDescribeQuorum:            printer(describeQuorumResponseLine),
	KeyUpdateFeatures:            printer(updateFeaturesResponseLine),
	KeyEnvelope:                  printer(envelopeResponseLine),
	KeyFetchSnapshot:             printer(fetchSnapshotResponseLine),
	KeyDescribeCluster:           printer(describeClusterResponseLine),
	KeyBrokerRegistration:        printer(brokerRegistrationResponseLine),
	KeyBrokerHeartbeat:           printer(brokerHeartbeatResponseLine),
	KeyUnregisterBroker:          printer(unregisterBrokerResponseLine),
	KeyControllerRegistration:    printer(controllerRegistrationResponseLine),
	KeyAddRaftVoter:              printer(addRaftVoterResponseLine),
	KeyRemoveRaftVoter:           printer(removeRaftVoterResponseLine),
	KeyUpdateRaftVoter:           printer(updateRaftVoterResponseLine),
	KeyUnregisterController:      printer(unregisterControllerResponseLine),
}

// line is text under construction.
type line []byte

func (l line) add(text string) line { return append(l, text...) }

func (l line) num(v int64) line { return strconv.AppendInt(l, v, 10) }

// node prints a node id, "none" for -1.
func (l line) node(id int32) line {
	if kraft.NodeID(id) == kraft.NoNode {
		return l.add("none")
	}
	return l.num(int64(id))
}

func (l line) uuid(id [16]byte) line { return base64.RawURLEncoding.AppendEncode(l, id[:]) }

// key prints a replica key, the id alone where no directory id is known.
func (l line) key(id int32, dir [16]byte) line {
	l = l.node(id)
	if dir != ([16]byte{}) {
		l = l.add("/").uuid(dir)
	}
	return l
}

// logEnd prints offset and epoch as "48@2".
func (l line) logEnd(offset int64, epoch int32) line { return l.num(offset).add("@").num(int64(epoch)) }

// maxText bounds foreign text in a line, bytes.
const maxText = 200

// text prints a foreign string: as it is if that is harmless, otherwise quoted. Long ones are cut.
func (l line) text(s string) line { return appendText(l, s) }

func appendText[T string | []byte](l line, s T) line {
	cut := len(s) > maxText
	if cut {
		s = s[:maxText]
	}
	plain := len(s) > 0
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] > ' ' && s[i] < 0x7f && s[i] != '"'
	}
	if plain {
		l = append(l, s...)
	} else {
		l = strconv.AppendQuote(l, string(s))
	}
	if cut {
		l = l.add("…")
	}
	return l
}

func (l line) host(host string, port int64) line { return appendHost(l, host, port) }

// appendHost prints an address, an IPv6 one in brackets.
func appendHost[T string | []byte](l line, host T, port int64) line {
	v6 := false
	for i := 0; i < len(host) && !v6; i++ {
		v6 = host[i] == ':'
	}
	if v6 {
		return appendText(l.add("["), host).add("]:").num(port)
	}
	return appendText(l, host).add(":").num(port)
}

func (l line) endpoint(name, host string, port uint16) line {
	return l.text(name).add("://").host(host, int64(port))
}

// code prints Kafka's name of an error, "ok" for none.
func (l line) code(code int16) line {
	if code == int16(kraft.None) {
		return l.add("ok")
	}
	return l.add(ErrorName(kraft.ErrorCode(code)))
}

// failure prints an error code and the message that came with it.
func (l line) failure(code int16, message *string) line {
	l = l.code(code)
	if message != nil && *message != "" {
		l = l.add(" ").text(*message)
	}
	return l
}

// ErrorName is Kafka's name of any protocol error, also of those that KRaft does not use.
func ErrorName(code kraft.ErrorCode) string {
	if text := code.String(); text != "error "+strconv.Itoa(int(code)) {
		return text
	}
	if e := kerr.TypedErrorForCode(int16(code)); e != nil && e.Code == int16(code) {
		return e.Message
	}
	return code.String()
}

// maxItems bounds how many elements of a list are printed.
const maxItems = 16

// list prints the elements in brackets.
func list[T any](l line, items []T, show func(line, *T) line) line {
	l = l.add("[")
	for i := range items {
		if i == maxItems {
			l = l.add(" … ").num(int64(len(items) - i)).add(" more")
			break
		}
		if i > 0 {
			l = l.add(" ")
		}
		l = show(l, &items[i])
	}
	return l.add("]")
}

// undecodable prints why a body could not be decoded.
func (l line) undecodable(err error) line {
	l = l.add("undecodable: ")
	for _, known := range []error{ErrUnsupported, ErrTooBig, ErrMalformed} {
		if errors.Is(err, known) {
			return l.add(known.Error())
		}
	}
	return l.add(err.Error())
}
