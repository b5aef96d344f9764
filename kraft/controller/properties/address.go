package properties

import (
	"regexp"
	"strconv"

	"github.com/understudy-kafka/understudy/kraft"
)

var (
	listenerForm = regexp.MustCompile(`^(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)$`)
	addressForm  = regexp.MustCompile(`^(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)$`)
)

// anyHost stands for all addresses of a machine: one can listen there but not be reached there.
const anyHost = "0.0.0.0"

// parseAddress reads HOST:PORT, with an IPv6 address in brackets (Kafka: Utils.getHost and getPort). An empty host is one.
func parseAddress(text string) (kraft.Address, bool) {
	m := addressForm.FindStringSubmatch(text)
	if m == nil {
		return kraft.Address{}, false
	}
	port, err := strconv.ParseUint(m[2], 10, 16)
	return kraft.Address{Host: m[1], Port: uint16(port)}, err == nil
}

// ParseAddress reads HOST:PORT as a bootstrap server is given.
func ParseAddress(text string) (kraft.Address, bool) {
	a, ok := parseAddress(text)
	return a, ok && a.Host != ""
}
