package kafka

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kernel's socket tables. Java's sockets are in the second even where they carry IPv4.
var socketTables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

// TCP states in the kernel's numbering.
const (
	established = "01"
	listening   = "0A"
)

// socket is one end of a TCP connection in the kernel's table.
type socket struct {
	local, remote netip.AddrPort
	established   bool
}

// Bypass is the answer to "did anything go around the proxy?".
type Bypass struct {
	Around   []string // connections to a controller's real port from elsewhere than DialFrom, each once
	Proxied  int      // distinct connections from DialFrom: none means that there was nothing to see
	Readings int
}

// WatchBypass reads the kernel's socket table until ctx ends. A closed connection stays in the table for a
// minute (TIME_WAIT), so short ones are seen too; only one that is reset between two readings is not.
func (q *Quorum) WatchBypass(ctx context.Context) (Bypass, error) {
	var b Bypass
	real, err := q.listeners()
	if err != nil {
		return b, err
	}
	proxied := map[[2]netip.AddrPort]bool{}
	from := netip.MustParseAddr(DialFrom)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		sockets, err := readSockets()
		if err != nil {
			return b, err
		}
		b.Readings++
		for _, s := range sockets {
			if real[s.local] != "" { // the server's end
				s.local, s.remote = s.remote, s.local
			}
			node := real[s.remote]
			switch {
			case node == "":
			case s.local.Addr() == from:
				proxied[[2]netip.AddrPort{s.local, s.remote}] = true
			default:
				if text := fmt.Sprintf("%s -> %s (controller %s)", s.local, s.remote, node); !slices.Contains(b.Around, text) {
					b.Around = append(b.Around, text)
				}
			}
		}
		b.Proxied = len(proxied)
		select {
		case <-ctx.Done():
			return b, nil
		case <-tick.C:
		}
	}
}

// listeners are the controllers' real addresses.
func (q *Quorum) listeners() (map[netip.AddrPort]string, error) {
	all := map[netip.AddrPort]string{}
	for _, m := range q.members {
		if m.Controller {
			address, err := netip.ParseAddrPort(m.Listener)
			if err != nil {
				return nil, err
			}
			all[address] = m.ID.String()
		}
	}
	return all, nil
}

// Connections lists the established connections to the controllers' real ports, as "CLIENT -> SERVER", sorted.
func (q *Quorum) Connections() ([]string, error) {
	real, err := q.listeners()
	if err != nil {
		return nil, err
	}
	sockets, err := readSockets()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, s := range sockets {
		if s.established && real[s.local] != "" {
			all = append(all, s.remote.String()+" -> "+s.local.String())
		}
	}
	slices.Sort(all)
	return all, nil
}

func readSockets() ([]socket, error) {
	var all []socket
	for _, table := range socketTables {
		text, err := os.ReadFile(table)
		if errors.Is(err, os.ErrNotExist) && strings.HasSuffix(table, "6") {
			continue // no IPv6 in this kernel
		}
		if err != nil {
			return nil, fmt.Errorf("the kernel's socket table: %w", err)
		}
		sockets, err := parseSockets(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
		all = append(all, sockets...)
	}
	return all, nil
}

func parseSockets(table string) ([]socket, error) {
	var all []socket
	for l := range strings.Lines(table) {
		f := strings.Fields(l)
		if len(f) < 4 || f[0] == "sl" || f[3] == listening {
			continue
		}
		local, err := parseKernelAddress(f[1])
		if err != nil {
			return nil, err
		}
		remote, err := parseKernelAddress(f[2])
		if err != nil {
			return nil, err
		}
		all = append(all, socket{local, remote, f[3] == established})
	}
	return all, nil
}

// parseKernelAddress reads "0100007F:1F90": 32-bit words in the machine's byte order (little-endian on all that Go
// and Kafka commonly run on), then the port.
func parseKernelAddress(text string) (netip.AddrPort, error) {
	address, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("address %q", text)
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("address %q", text)
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), nil
}
