package shadow

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

func TestAdvisory_TwoProcessesUnderOneKey(t *testing.T) {
	// Both are served by the leader, in turns, each while the other's Fetch is open.
	s := newStage(t).meet(1, 2, 3)
	one, two := s.line(3, 1), s.dial(3, 1)
	open := one.send(fetch(5, 9, 5)(s, 3, 1))
	for range 12 {
		next := two.send(fetch(5, 9, 5)(s, 3, 1))
		open.answer(served(5, 9))
		open, one, two = next, two, one
		s.pass(oneSecond / 2)
	}
	s.advises("A11", 3, "two processes fetch as node 3 at the same time, from 127.0.0.1:4000")

	// A process whose connection broke goes on by a new one; the end of the old one may be seen late.
	s = newStage(t).meet(1, 2, 3)
	for range 12 {
		s.line(3, 1).send(fetch(5, 9, 5)(s, 3, 1)) // the answer is lost
		s.dial(3, 1)
		s.ask(3, 1, fetch(5, 9, 5)).answer(served(5, 9))
		s.pass(oneSecond)
	}
	s.quiet("A11")

	// An observer that found the leader by its bootstrap address has two connections to one listener, but one Fetch at a time.
	s = newStage(t).meet(1, 2, 9)
	one, two = s.line(9, 1), s.dial(9, 1)
	for range 12 {
		one.send(fetch(5, 9, 5)(s, 9, 1)).answer(served(5, 9))
		two.send(fetch(5, 9, 5)(s, 9, 1)).answer(served(5, 9))
		s.pass(oneSecond)
	}
	s.quiet("A11")

	// Two nodes are no twins.
	s = newStage(t).meet(1, 2, 3)
	for range 12 {
		a, b := s.ask(2, 1, fetch(5, 9, 5)), s.ask(3, 1, fetch(5, 9, 5))
		a.answer(served(5, 9))
		b.answer(served(5, 9))
		s.pass(oneSecond)
	}
	s.quiet("A11")
}

func TestAdvisory_NamesInTheLog(t *testing.T) { // museum M11
	s := newStage(t).meet(1, 2, 3)
	withKeys(s, 3)
	s.advises("A12", 3, "the voter set says that node 3 is at 127.0.0.1:7, the configuration says 127.0.0.1:19093")

	s = newStage(t).meet(1, 2, 3)
	withKeys(s, -1)
	s.quiet("A12")

	s = newStage(t) // listeners that the observer was not told of have no configuration
	s.unnamed = true
	s.meet(1, 2, 3)
	withKeys(s, 3)
	s.quiet("A12")

	// Where addresses are translated on the way, no voter is where the observer listens.
	s = newStage(t).meet(1, 2, 3)
	set := votersOf(s, 1, 2, 3)
	for i := range set.Voters {
		set.Voters[i].Endpoints = []wire.Endpoint{{Name: "CONTROLLER", Host: "10.0.0.5", Port: uint16(29091 + i)}}
	}
	s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, control(9, 5, set)))
	s.quiet("A12")

	// A name and an address may be the same machine's.
	s = newStage(t).meet(1, 2, 3)
	set = votersOf(s, 1, 2, 3)
	for i, host := range []string{"127.0.0.1", "controller-2.internal", "127.0.0.1"} {
		set.Voters[i].Endpoints = []wire.Endpoint{{Name: "CONTROLLER", Host: host, Port: uint16(19091 + i)}}
	}
	s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, control(9, 5, set)))
	s.quiet("A12")

	// One of several listeners is the one that is meant.
	s = newStage(t).meet(1, 2, 3)
	set = votersOf(s, 1, 2, 3)
	for i := range set.Voters {
		set.Voters[i].Endpoints = []wire.Endpoint{{Name: "INTERNAL", Host: "127.0.0.1", Port: uint16(9)}, {Name: "CONTROLLER", Host: "127.0.0.1", Port: uint16(19091 + i)}}
	}
	s.ask(2, 1, fetch(5, 9, 4)).answer(served(5, -1, control(9, 5, set)))
	s.quiet("A12")
}

// registers sends a controller's registration to another one, under the plain client id that Kafka uses for it.
func (s *stage) registers(id, to kraft.NodeID) *asked {
	raft := s.lines[[2]kraft.NodeID{id, to}]
	l := s.dial(id, to) // of its own
	s.lines[[2]kraft.NodeID{id, to}] = raft
	r := kmsg.NewPtrControllerRegistrationRequest()
	r.ControllerID, r.IncarnationID = int32(id), [16]byte{0x4b, byte(id), 0x99, 15: 3}
	l.correlation++
	l.observe(wire.Request, encodeRequest(r, l.correlation, id.String()), nil)
	return &asked{l, r, l.correlation}
}

func registered(code kraft.ErrorCode) response {
	return func(*stage, kraft.NodeID, kmsg.Request) kmsg.Response {
		r := kmsg.NewPtrControllerRegistrationResponse()
		r.ErrorCode = int16(code)
		return r
	}
}

func TestAdvisory_NeverRegistered(t *testing.T) { // museum M8
	wait := func(s *stage, seconds int) {
		for range seconds {
			s.ask(3, 1, fetch(5, 9, 5)).answer(served(5, 9))
			s.pass(oneSecond)
		}
	}
	s := newStage(t).meet(1, 2, 3)
	s.registers(2, 1).answer(registered(kraft.None))
	s.registers(3, 1)
	wait(s, 100)
	s.advises("A13", 3, "node 3 asked once to be registered, got no answer, and has not asked again for 1m30s")

	for name, play := range map[string]func(s *stage){
		"it is answered late": func(s *stage) {
			late := s.registers(3, 1)
			wait(s, 60)
			late.answer(registered(kraft.None))
			wait(s, 60)
		},
		"it asks again": func(s *stage) {
			s.registers(3, 1)
			wait(s, 60)
			s.registers(3, 1).answer(registered(kraft.None))
			wait(s, 60)
		},
		"it is refused, and asks again after a pause of a minute": func(s *stage) {
			s.registers(3, 1)
			wait(s, 5)
			s.registers(3, 1).answer(registered(kraft.NotController))
			wait(s, 70)
			s.registers(3, 1).answer(registered(kraft.None))
			wait(s, 30)
		},
		"its answer was lost, and the log has its record": func(s *stage) {
			s.registers(3, 1)
			s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9, data(9, 5, string([]byte{0x4b, 3, 0x99, 15: 3}))))
			wait(s, 100)
		},
		"its process ended": func(s *stage) {
			asked := s.registers(3, 1)
			s.stop(3)
			asked.line.close()
			for range 100 {
				s.ask(2, 1, fetch(5, 9, 5)).answer(served(5, 9))
				s.pass(oneSecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t).meet(1, 2, 3)
			s.registers(2, 1).answer(registered(kraft.None))
			play(s)
			s.quiet("A13")
		})
	}

	s = newStage(t).meet(1, 2, 3) // in a quorum where nobody is registered it tells of no fault of this node
	s.registers(3, 1)
	wait(s, 100)
	s.quiet("A13")
}

func TestAdvisory_FeatureNotSupported(t *testing.T) { // museum M2, M26
	offers := func(s *stage, from, to kraft.NodeID, version, most, level int16) {
		r := versions().(*kmsg.ApiVersionsResponse)
		r.Version = version
		for _, f := range []struct {
			name     string
			low, top int16
		}{{"kraft.version", 0, most}, {"metadata.version", 7, 33}} {
			if f.top == 0 || version < 4 && f.low == 0 {
				continue
			}
			x := kmsg.NewApiVersionsResponseSupportedFeature()
			x.Name, x.MinVersion, x.MaxVersion = f.name, f.low, f.top
			r.SupportedFeatures = append(r.SupportedFeatures, x)
		}
		r.FinalizedFeaturesEpoch = 20
		for name, level := range map[string]int16{"kraft.version": level, "metadata.version": 25} {
			if level == 0 {
				continue
			}
			x := kmsg.NewApiVersionsResponseFinalizedFeature()
			x.Name, x.MinVersionLevel, x.MaxVersionLevel = name, level, level
			r.FinalizedFeatures = append(r.FinalizedFeatures, x)
		}
		v := kmsg.NewPtrApiVersionsRequest()
		v.Version = version
		s.line(from, to).send(v).frame(r)
	}
	for _, tt := range []struct {
		name           string
		version        int16
		supports, uses int16
		says           string
	}{
		{"a level that is not supported", 4, 1, 2, "node 3 does not support what is finalized: kraft.version 2 (it supports 0 to 1)"},
		{"a feature that is not known", 4, 0, 1, "node 3 does not support what is finalized: kraft.version 1 (which it does not know)"},
		{"a level that is supported", 4, 1, 1, ""},
		{"more than is used", 4, 2, 1, ""},
		{"a feature that is not used", 4, 0, 0, ""},
		{"answers below v4 leave features out", 3, 1, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t).meet(1, 2, 3)
			offers(s, 3, 1, 4, 2, tt.uses)
			offers(s, 1, 3, tt.version, tt.supports, tt.uses)
			s.ask(3, 1, fetch(5, 9, 5)).answer(served(5, 9))
			s.ask(1, 3, begin(5)).answer(begun(kraft.None, 5, 1))
			if tt.says == "" {
				s.quiet("A14")
			} else {
				s.advises("A14", 3, tt.says)
			}
		})
	}
}

// What the setup advisories remember is bounded.
func TestAdvisory_SetupIsBounded(t *testing.T) {
	c := New(Options{})
	for i := range int32(3 * maxNodes) {
		c.advice.setup.asks(&kmsg.ControllerRegistrationRequest{ControllerID: i}, ref{})
	}
	if n := len(c.advice.setup.registers); n > maxNodes {
		t.Errorf("%d registrations", n)
	}
}
