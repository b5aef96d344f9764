package conform

import (
	"encoding/binary"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/wire"
)

// harmless is a request that every controller answers, with an answer that says little.
func harmless() Step {
	return Step{
		Key: wire.KeyDescribeQuorum, Version: 0, Ask: "topics.len=0",
		Want: []string{"errorCode=NONE topics.len=0"},
	}
}

// framingCases are about frames and request headers.
func framingCases(p compat.Profile) []Case {
	var cases []Case
	add := func(name, says string, steps ...Step) {
		cases = append(cases, Case{
			ID: "framing/" + name, Says: says, Level: Must, Steps: steps,
			Source: "Kafka protocol guide; Kafka: NetworkReceive, SocketServer.Processor, RequestContext",
		})
	}
	with := func(change func(*Step)) Step {
		s := harmless()
		change(&s)
		return s
	}
	closed := func(frame func([]byte) []byte) Step {
		return with(func(s *Step) { s.Closes, s.Frame = true, frame })
	}
	add("one-request", "a request is answered", harmless())
	add("byte-by-byte", "a frame may come in pieces", with(func(s *Step) { s.Send = inPieces }))
	add("several-in-one-write", "requests that arrive together are answered one by one, in order",
		with(func(s *Step) { s.Send = withNext }), with(func(s *Step) { s.Send = withNext }), harmless())
	add("slow-request-first", "an answer that takes its time is not overtaken on its connection", slowThenQuick()...)
	for _, x := range []struct {
		name string
		id   int32
	}{{"highest", 1<<31 - 1}, {"lowest", -1 << 31}, {"minus-one", -1}} {
		add("correlation-id/"+x.name, "whatever the correlation id, the answer has it", with(func(s *Step) { s.Header.correlation = x.id }))
	}
	for _, x := range []struct{ name, id string }{{"null", nullClient}, {"empty", ""}, {"long", strings.Repeat("c", 20000)}, {"utf-8", "naïve ☃"}} {
		add("client-id/"+x.name, "the client id is free text, or null", with(func(s *Step) { s.Header.clientID = &x.id }))
	}
	add("header/unknown-tag", "unknown tagged fields of a header are passed over", with(func(s *Step) { s.Header.tags = []byte{2, 9, 1, 0xaa, 99, 0} }))
	add("closes/negative-size", "a negative size ends the connection", closed(func([]byte) []byte { return []byte{0xff, 0xff, 0xff, 0xff} }))
	add("closes/size-above-the-limit", "a size above socket.request.max.bytes ends the connection", closed(func([]byte) []byte { return []byte{0x7f, 0xff, 0xff, 0xff} }))
	add("closes/unknown-api-key", "an api key that is none ends the connection", closed(key(999)))
	add("closes/negative-api-key", "a negative api key ends the connection", closed(key(-1)))
	for _, k := range []int16{0, 3, 10} {
		add("closes/broker-api/"+wire.Name(k), "what only brokers serve ends the connection", closed(key(k)))
	}
	for _, api := range p.APIs {
		k := int16(api.API)
		if k == wire.KeyAPIVersions {
			continue // it is answered in version 0
		}
		add("closes/version-not-served/"+wire.Name(k), "a version that is not served ends the connection", closed(func(frame []byte) []byte {
			binary.BigEndian.PutUint16(frame[4:], uint16(k))
			binary.BigEndian.PutUint16(frame[6:], 99)
			return frame
		}))
	}
	add("closes/fetch-v3", "Fetch below v4 is gone and ends the connection", closed(func(frame []byte) []byte {
		binary.BigEndian.PutUint16(frame[4:], 1)
		binary.BigEndian.PutUint16(frame[6:], 3)
		return frame
	}))
	add("closes/cut-off-body", "a body that ends too early ends the connection", closed(func(frame []byte) []byte { return resized(frame[:len(frame)-1]) }))
	add("closes/cut-off-header", "a header that ends too early ends the connection", closed(func(frame []byte) []byte { return resized(frame[:9]) }))
	add("closes/client-id-beyond-the-frame", "a client id longer than its frame ends the connection", closed(func(frame []byte) []byte {
		binary.BigEndian.PutUint16(frame[12:], 0x7000)
		return frame
	}))
	add("closes/list-beyond-the-frame", "a list longer than its frame ends the connection", closed(func(frame []byte) []byte {
		return resized(append(frame[:len(frame)-2], 0xff, 0xff, 0xff, 0x0f, 0))
	}))
	return cases
}

// slowThenQuick asks for something that is held back at a leader and then for something that is not.
func slowThenQuick() []Step {
	slow := Step{
		Key: wire.KeyFetch, Version: 17, Ask: "p.currentLeaderEpoch=$epoch p.fetchOffset=$logEnd p.lastFetchedEpoch=$epoch maxWaitMs=200",
		Want: []string{"errorCode=NONE topics.len=1"}, Send: withNext,
	}
	return []Step{slow, harmless()}
}

// key gives a frame another api key.
func key(k int16) func([]byte) []byte {
	return func(frame []byte) []byte {
		binary.BigEndian.PutUint16(frame[4:], uint16(k))
		return frame
	}
}

// resized states a frame's true size.
func resized(frame []byte) []byte {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// withoutBody keeps a frame's flexible header only.
func withoutBody(frame []byte) []byte {
	return resized(frame[:15+len(clientName)])
}
