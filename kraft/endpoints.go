package kraft

import (
	"slices"
	"strconv"
	"strings"
)

// Address is where a listener can be reached.
type Address struct {
	Host string
	Port uint16
}

func (a Address) String() string { return a.Host + ":" + strconv.Itoa(int(a.Port)) }

// Endpoint is one listener of a node. Name is in upper case (Kafka: ListenerName.normalised).
type Endpoint struct {
	Name string
	Address
}

// Endpoints are the listeners of a node in ascending order of their names (Kafka: Endpoints). The value is
// immutable and may be shared.
type Endpoints struct{ list []Endpoint }

// NewEndpoints normalises and orders the given listeners. Of two with the same name the later one counts.
func NewEndpoints(list ...Endpoint) Endpoints {
	if len(list) == 0 {
		return Endpoints{}
	}
	kept := make([]Endpoint, 0, len(list))
	for _, e := range list {
		e.Name = strings.ToUpper(e.Name)
		at, found := slices.BinarySearchFunc(kept, e, compareEndpointNames)
		if found {
			kept[at] = e
			continue
		}
		kept = slices.Insert(kept, at, e)
	}
	return Endpoints{list: kept}
}

func compareEndpointNames(a, b Endpoint) int { return strings.Compare(a.Name, b.Name) }

// Len is the number of listeners. More listeners are better knowledge of a leader (KAFKA-16927).
func (e Endpoints) Len() int { return len(e.list) }

// At is the listener at the given position of the order by name.
func (e Endpoints) At(i int) Endpoint { return e.list[i] }

// Address finds the listener with the given normalised name.
func (e Endpoints) Address(name string) (Address, bool) {
	for i := range e.list {
		if e.list[i].Name == name {
			return e.list[i].Address, true
		}
	}
	return Address{}, false
}

// Equal reports whether both hold the same listeners at the same addresses.
func (e Endpoints) Equal(o Endpoints) bool { return slices.Equal(e.list, o.list) }

func (e Endpoints) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, p := range e.list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.Name + "=" + p.Host + ":" + strconv.Itoa(int(p.Port)))
	}
	b.WriteByte(']')
	return b.String()
}
