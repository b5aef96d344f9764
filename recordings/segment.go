package recordings

import (
	"encoding/binary"
	"net/netip"
)

// shownPort is the listener's port in the synthetic TCP headers. Wireshark takes 9092 for Kafka, and only
// that; the real port is in the name of the interface.
const shownPort = 9092

// maxPayload is what one synthetic TCP segment carries: an IP packet ends at 65,535 bytes.
const maxPayload = 60_000

const (
	tcpFin = 1
	tcpSyn = 2
	tcpRst = 4
	tcpPsh = 8
	tcpAck = 16
)

// tcpHead is the IP and TCP header of one direction of a connection, but for the fields that change.
type tcpHead struct {
	bytes []byte
	v6    bool
	sum   uint32 // of the IPv4 header without its length and checksum
}

// shownPair is what the synthetic headers say of a connection's client and server. Addresses that are not known become
// ones of documentation. Listeners of one host differ by their ports, which are not shown; where this makes two
// connections that are open alike, the client's port is changed too.
func shownPair(c *Conn, taken func([2]netip.AddrPort) bool) [2]netip.AddrPort {
	client, server := shownAddress(c.Client.Addr(), 1), shownAddress(c.Server.Addr(), 2)
	if client.Is4() != server.Is4() {
		client, server = netip.AddrFrom16(client.As16()), netip.AddrFrom16(server.As16())
	}
	pair := [2]netip.AddrPort{netip.AddrPortFrom(client, c.Client.Port()), netip.AddrPortFrom(server, shownPort)}
	for port := uint16(65535); taken(pair) && port > 1024; port-- {
		pair[0] = netip.AddrPortFrom(client, port)
	}
	return pair
}

func shownAddress(a netip.Addr, last byte) netip.Addr {
	if !a.IsValid() {
		return netip.AddrFrom4([4]byte{192, 0, 2, last}) // TEST-NET-1, RFC 5737
	}
	return a.Unmap().WithZone("")
}

func newHead(src, dst netip.AddrPort) tcpHead {
	h := tcpHead{v6: src.Addr().Is6()}
	if h.v6 {
		h.bytes = append(h.bytes, 0x60, 0, 0, 0, 0, 0, 6, 64)
	} else {
		h.bytes = append(h.bytes, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0)
	}
	h.bytes = append(h.bytes, src.Addr().AsSlice()...)
	h.bytes = append(h.bytes, dst.Addr().AsSlice()...)
	if !h.v6 {
		for i := 0; i < 20; i += 2 {
			h.sum += uint32(binary.BigEndian.Uint16(h.bytes[i:]))
		}
	}
	h.bytes = binary.BigEndian.AppendUint16(h.bytes, src.Port())
	h.bytes = binary.BigEndian.AppendUint16(h.bytes, dst.Port())
	h.bytes = append(h.bytes, make([]byte, 16)...)
	h.bytes[len(h.bytes)-8] = 5 << 4                            // header length
	binary.BigEndian.PutUint16(h.bytes[len(h.bytes)-6:], 65535) // window
	h.bytes = h.bytes[:len(h.bytes):len(h.bytes)]
	return h
}

// append writes the headers of a segment that carries size bytes.
func (h *tcpHead) append(b []byte, seq, ack uint32, flags byte, size int) []byte {
	at := len(b)
	b = append(b, h.bytes...)
	head := b[at:]
	if h.v6 {
		binary.BigEndian.PutUint16(head[4:], uint16(20+size))
	} else {
		n := uint32(40 + size)
		sum := h.sum + n
		sum = sum&0xffff + sum>>16
		sum += sum >> 16
		binary.BigEndian.PutUint16(head[2:], uint16(n))
		binary.BigEndian.PutUint16(head[10:], ^uint16(sum))
	}
	tcp := head[len(head)-20:]
	binary.BigEndian.PutUint32(tcp[4:], seq)
	binary.BigEndian.PutUint32(tcp[8:], ack)
	tcp[13] = flags
	return b
}
