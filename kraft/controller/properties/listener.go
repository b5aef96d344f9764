package properties

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
)

// Listener is where a node can be reached.
type Listener struct {
	Name     string // in upper case
	Protocol secure.Protocol
	kraft.Address
}

const (
	listenersName       = "listeners"
	advertisedName      = "advertised.listeners"
	controllerNamesName = "controller.listener.names"
	protocolMapName     = "listener.security.protocol.map"
)

// protocols is the security protocol of each listener name. Only without a map of their own, and only where nothing is encrypted or
// authenticated, are controller listeners PLAINTEXT by themselves (Kafka: AbstractKafkaConfig.effectiveListenerSecurityProtocolMap).
func (s *source) protocols(controllerNames []string) map[string]secure.Protocol {
	all := map[string]secure.Protocol{}
	given, ok := s.lookup(protocolMapName)
	if !ok {
		safe := false
		for _, p := range secure.Protocols {
			all[p.String()] = p
			safe = safe || p != secure.Plaintext && (slices.Contains(controllerNames, p.String()) || s.listensAt(p))
		}
		for _, name := range controllerNames {
			if _, known := all[name]; !known && !safe {
				all[name] = secure.Plaintext // as it is written: one in lower case helps no listener, whose name is in upper case
			}
		}
		return all
	}
	for _, pair := range split(given) {
		at := strings.LastIndexByte(pair, ':') // Kafka: Csv.parseCsvMap
		if at < 0 {
			s.refuse(protocolMapName, "has the entry %q: want LISTENER:PROTOCOL", pair)
			return all
		}
		p, err := secure.ParseProtocol(strings.TrimSpace(pair[at+1:]))
		if err != nil {
			s.refuse(protocolMapName, "has the entry %q: %v", pair, err)
		}
		all[strings.ToUpper(strings.TrimSpace(pair[:at]))] = p
	}
	return all
}

// listensAt tells whether a listener has the name of a protocol.
func (s *source) listensAt(p secure.Protocol) bool {
	for _, text := range s.list(listenersName) {
		if name, _, _ := strings.Cut(text, ":"); strings.EqualFold(name, p.String()) {
			return true
		}
	}
	return false
}

// listeners reads NAME://HOST:PORT,…; nil if the property is not set. An empty host is the wildcard address.
func (s *source) listeners(property string, protocols map[string]secure.Protocol, distinctPorts bool, fallback ...string) (all []Listener) {
	for _, text := range s.names(property, fallback...) {
		m := listenerForm.FindStringSubmatch(text)
		if m == nil {
			s.refuse(property, "has the entry %q: want LISTENER://HOST:PORT", text)
			return nil
		}
		l := Listener{Name: strings.ToUpper(m[1])}
		port, err := strconv.ParseUint(m[3], 10, 16)
		if err != nil {
			s.refuse(property, "has the entry %q: %s is no port", text, m[3])
		}
		l.Address = kraft.Address{Host: m[2], Port: uint16(port)}
		var known bool
		if l.Protocol, known = protocols[l.Name]; !known {
			s.refuse(property, "has the listener %s, to which %s gives no security protocol", l.Name, protocolMapName)
		}
		for _, other := range all {
			switch {
			case other.Name == l.Name:
				s.refuse(property, "has two listeners with the name %s", l.Name)
			case distinctPorts && l.Port != 0 && other.Port == l.Port && !twoStacks(l.Host, other.Host):
				s.refuse(property, "has two listeners at port %d", l.Port)
			}
		}
		all = append(all, l)
	}
	return all
}

// twoStacks: an IPv4 and an IPv6 address may share a port.
func twoStacks(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.Is4() != y.Is4()
}

func find(all []Listener, name string) (Listener, bool) {
	for _, l := range all {
		if l.Name == name {
			return l, true
		}
	}
	return Listener{}, false
}

// advertise is where others reach a controller listener: advertised.listeners, else listeners. A first listener that names no host
// is advertised as controller.quorum.voters has this node (KAFKA-20380).
func (n *Node) advertise(advertised []Listener) (all []Listener) {
	for i, name := range n.ControllerNames {
		l, ok := find(advertised, name)
		if !ok {
			if l, ok = find(n.Listeners, name); !ok {
				continue
			}
			if l.Host == "" || l.Host == anyHost {
				l.Host = "" // the machine's own name, which the caller knows
				if v, ok := n.Quorum.Voter(n.ID); ok && i == 0 {
					l.Address = v.Address
				}
			}
		}
		all = append(all, l)
	}
	return all
}
