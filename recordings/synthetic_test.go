package recordings

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/understudy-kafka/understudy/wire"
)

// talk is a TCP connection for a synthetic capture, made packet by packet.
type talk struct {
	client, server netip.AddrPort
	next           [2]uint32 // by wire.Direction
	at             time.Time
	packets        []talkPacket
	frames         []talkFrame // in order of their last byte
	count          int32
}

type talkPacket struct {
	at       time.Time
	dir      wire.Direction
	seq, ack uint32
	flags    byte
	payload  []byte
}

type talkFrame struct {
	dir   wire.Direction
	bytes []byte
}

func newTalk() *talk {
	return &talk{
		client: netip.MustParseAddrPort("10.0.0.2:41000"), server: netip.MustParseAddrPort("10.0.0.1:9093"),
		next: [2]uint32{0xffffff00, 77}, at: time.Unix(1_700_000_000, 123_456_000), // sequence numbers wrap soon
		count: 0x01020304, // an id that bytes between other ids are not taken for, however small the segments
	}
}

func (k *talk) packet(dir wire.Direction, flags byte, payload []byte) {
	k.at = k.at.Add(50 * time.Microsecond)
	k.packets = append(k.packets, talkPacket{k.at, dir, k.next[dir], k.next[1-dir], flags, payload})
	k.next[dir] += uint32(len(payload))
	if flags&(tcpSyn|tcpFin) != 0 {
		k.next[dir]++
	}
}

func (k *talk) open() *talk {
	k.packet(wire.Request, tcpSyn, nil)
	k.packet(wire.Response, tcpSyn|tcpAck, nil)
	k.packet(wire.Request, tcpAck, nil)
	return k
}

func (k *talk) close() *talk {
	k.packet(wire.Request, tcpFin|tcpAck, nil)
	k.packet(wire.Response, tcpFin|tcpAck, nil)
	k.packet(wire.Request, tcpAck, nil)
	return k
}

// send adds a frame in segments of at most mss bytes, and the peer's acknowledgement.
func (k *talk) send(dir wire.Direction, frame []byte, mss int) {
	k.frames = append(k.frames, talkFrame{dir, frame})
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
	for len(b) > 0 {
		n := min(len(b), mss)
		k.packet(dir, tcpAck|tcpPsh, b[:n])
		b = b[n:]
	}
	k.packet(1-dir, tcpAck, nil)
}

// exchanges adds n requests with their responses, whose sizes and segments come from rng.
func (k *talk) exchanges(n int, rng *rand.Rand) *talk {
	for range n {
		body := func() []byte {
			b := make([]byte, 20+rng.IntN(600))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			return b
		}
		k.send(wire.Request, requestFrame(wire.KeyFetch, 17, k.count, body()), 1+rng.IntN(400))
		k.send(wire.Response, responseFrame(wire.KeyFetch, 17, k.count, body()), 1+rng.IntN(400))
		k.count++
	}
	return k
}

// ip makes the IP packet of a segment with gopacket.
func (k *talk) ip(t testing.TB, p talkPacket) []byte {
	t.Helper()
	src, dst := k.client, k.server
	if p.dir == wire.Response {
		src, dst = dst, src
	}
	tcp := &layers.TCP{
		SrcPort: layers.TCPPort(src.Port()), DstPort: layers.TCPPort(dst.Port()), Seq: p.seq, Ack: p.ack, Window: 512,
		SYN: p.flags&tcpSyn != 0, ACK: p.flags&tcpAck != 0, FIN: p.flags&tcpFin != 0, RST: p.flags&tcpRst != 0, PSH: p.flags&tcpPsh != 0,
		Options: []layers.TCPOption{{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop}},
	}
	var network gopacket.SerializableLayer
	if src.Addr().Is4() {
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: net.IP(src.Addr().AsSlice()), DstIP: net.IP(dst.Addr().AsSlice())}
		network = ip
		if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
	} else {
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: net.IP(src.Addr().AsSlice()), DstIP: net.IP(dst.Addr().AsSlice())}
		network = ip
		if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
	}
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		network, tcp, gopacket.Payload(p.payload)); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(buf.Bytes())
}

// pcap makes a classic capture with Ethernet frames.
func (k *talk) pcap(t testing.TB, packets []talkPacket) []byte {
	t.Helper()
	b := pcapHead(binary.LittleEndian, magicMicros, linkEthernet)
	for _, p := range packets {
		data := ethernet(k.ip(t, p))
		b = pcapRecord(binary.LittleEndian, b, p.at, 1000, data, len(data))
	}
	return b
}

func pcapHead(order binary.AppendByteOrder, magic, link uint32) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = order.AppendUint32(b, 262144)
	return order.AppendUint32(b, link)
}

// pcapRecord appends a packet of size bytes, of which data is there.
func pcapRecord(order binary.AppendByteOrder, b []byte, at time.Time, unit int64, data []byte, size int) []byte {
	b = order.AppendUint32(b, uint32(at.Unix()))
	b = order.AppendUint32(b, uint32(int64(at.Nanosecond())/unit))
	b = order.AppendUint32(b, uint32(len(data)))
	b = order.AppendUint32(b, uint32(size))
	return append(b, data...)
}

func ethernet(ip []byte) []byte {
	return append(append(make([]byte, 12), etherType(ip)...), ip...)
}

func etherType(ip []byte) []byte {
	if ip[0]>>4 == 6 {
		return []byte{0x86, 0xDD}
	}
	return []byte{8, 0}
}

// imported reads a capture.
func imported(t testing.TB, capture []byte) (list []Observation, c *Capture) {
	t.Helper()
	c, err := NewCapture(bytes.NewReader(capture), "capture")
	if err != nil {
		t.Fatal(err)
	}
	list, err = readAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return list, c
}

// heard sorts observations by what a test asks about.
type heard struct {
	frames []talkFrame
	gaps   []Observation
	opens  []Observation
	closes []Observation
}

func sortOut(list []Observation) (h heard) {
	for _, o := range list {
		switch o.Kind {
		case KindFrame:
			h.frames = append(h.frames, talkFrame{o.Dir, o.Frame.Bytes})
		case KindGap:
			h.gaps = append(h.gaps, o)
		case KindOpen:
			h.opens = append(h.opens, o)
		case KindClose:
			h.closes = append(h.closes, o)
		}
	}
	return h
}

// sameFrames compares frames of each direction in order.
func sameFrames(got, want []talkFrame) error {
	for _, dir := range []wire.Direction{wire.Request, wire.Response} {
		g, w := ofDirection(got, dir), ofDirection(want, dir)
		if len(g) != len(w) {
			return fmt.Errorf("%d %ss, want %d", len(g), dir, len(w))
		}
		for i := range w {
			if !bytes.Equal(g[i], w[i]) {
				return fmt.Errorf("%s %d differs", dir, i)
			}
		}
	}
	return nil
}

func ofDirection(frames []talkFrame, dir wire.Direction) (list [][]byte) {
	for _, f := range frames {
		if f.dir == dir {
			list = append(list, f.bytes)
		}
	}
	return list
}

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 draws one")

func testRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d (repeat with -seed %d)", seed, seed)
	return rand.New(rand.NewPCG(seed, 1))
}
