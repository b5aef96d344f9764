package properties

import (
	"slices"

	"github.com/understudy-kafka/understudy/internal/secure"
)

// check refuses what Kafka refuses of properties that are fine each by itself (Kafka: KafkaConfig.validateValues).
func (s *source) check(n *Node, named []string, protocols map[string]secure.Protocol, advertised []Listener) {
	if len(n.ControllerNames) == 0 {
		s.refuse(controllerNamesName, "is not set: it names the listeners of the controllers")
		return
	}
	_, isVoter := n.Quorum.Voter(n.ID)
	static := len(n.Quorum.Voters) > 0
	switch {
	case n.Controller && static && !isVoter:
		s.refuse(votersName, "does not name node %v, which is a controller", n.ID)
	case !n.Controller && isVoter:
		s.refuse(votersName, "names node %v, which is no controller", n.ID)
	case !n.Controller && n.Quorum.AutoJoin:
		s.refuse(autoJoinName, "is for controllers only")
	}
	for i, name := range n.ControllerNames {
		_, bound := find(n.Listeners, named[i]) // Kafka compares what is written with the listener's name in upper case
		_, known := protocols[name]
		switch {
		case n.Controller && !bound:
			s.refuse(controllerNamesName, "names %s, which is none of %s", name, listenersName)
		case !n.Controller && bound:
			s.refuse(controllerNamesName, "names %s, which is one of %s of a node that is no controller", name, listenersName)
		case !known:
			s.refuse(controllerNamesName, "names %s, to which %s gives no security protocol", name, protocolMapName)
		}
	}
	for _, l := range append(slices.Clone(n.Advertised), advertised...) {
		if l.Host == anyHost {
			s.refuse(advertisedName, "has %s at %s, where others cannot reach it", l.Name, anyHost)
		}
	}
	s.checkBrokerListeners(n, advertised)
}

func (s *source) checkBrokerListeners(n *Node, advertised []Listener) {
	if len(advertised) == 0 {
		advertised = n.Listeners
	}
	brokers := 0
	for _, l := range advertised {
		if slices.Contains(n.ControllerNames, l.Name) {
			continue
		}
		brokers++
		if _, bound := find(n.Listeners, l.Name); !bound && n.Broker {
			s.refuse(advertisedName, "has the listener %s, which is none of %s", l.Name, listenersName)
		}
	}
	for _, l := range n.Listeners {
		if !n.Broker && !slices.Contains(n.ControllerNames, l.Name) {
			s.refuse(listenersName, "has %s, which is none of %s of a node that is only a controller", l.Name, controllerNamesName)
		}
	}
	if n.Broker && brokers == 0 {
		s.refuse(advertisedName, "leaves this broker without a listener for clients")
	}
}
