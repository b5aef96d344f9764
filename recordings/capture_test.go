package recordings

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/wire"
)

// links puts IP packets into frames of each link type.
var links = []struct {
	name string
	link uint32
	wrap func(ip []byte) []byte
}{
	{"Ethernet", linkEthernet, ethernet},
	{"Ethernet with VLAN", linkEthernet, func(ip []byte) []byte {
		return slices.Concat(make([]byte, 12), []byte{0x81, 0, 0, 5}, etherType(ip), ip)
	}},
	{"Ethernet with two VLANs", linkEthernet, func(ip []byte) []byte {
		return slices.Concat(make([]byte, 12), []byte{0x88, 0xA8, 0, 5, 0x81, 0, 0, 6}, etherType(ip), ip)
	}},
	{"Ethernet padded", linkEthernet, func(ip []byte) []byte { return append(ethernet(ip), make([]byte, 9)...) }},
	{"BSD loopback", linkNull, func(ip []byte) []byte { return append([]byte{2, 0, 0, 0}, ip...) }},
	{"OpenBSD loopback", linkLoop, func(ip []byte) []byte { return append([]byte{0, 0, 0, 2}, ip...) }},
	{"Linux any", linkSLL, func(ip []byte) []byte { return slices.Concat(make([]byte, 14), etherType(ip), ip) }},
	{"Linux any v2", linkSLL2, func(ip []byte) []byte { return slices.Concat(etherType(ip), make([]byte, 18), ip) }},
	{"raw", linkRaw, func(ip []byte) []byte { return ip }},
	{"raw BSD", linkRawBSD, func(ip []byte) []byte { return ip }},
	{"raw OpenBSD", linkRawOpen, func(ip []byte) []byte { return ip }},
}

func TestCapture_EachLinkTypeAndAddressFamily(t *testing.T) {
	rng := testRand(t)
	for _, family := range []struct{ name, client, server string }{
		{"IPv4", "10.0.0.2:41000", "10.0.0.1:9093"},
		{"IPv6", "[2001:db8::2]:41000", "[2001:db8::1]:9093"},
	} {
		for _, l := range links {
			t.Run(family.name+" "+l.name, func(t *testing.T) {
				k := newTalk()
				k.client, k.server = netip.MustParseAddrPort(family.client), netip.MustParseAddrPort(family.server)
				k.open().exchanges(5, rng).close()
				list, c := imported(t, k.classic(t, binary.LittleEndian, false, l.link, l.wrap))
				h := sortOut(list)
				if err := sameFrames(h.frames, k.frames); err != nil || len(h.gaps) > 0 || len(c.Damage()) > 0 {
					t.Errorf("%v, %d gaps, damage %v", err, len(h.gaps), c.Damage())
				}
				want := Conn{ID: 1, Node: noNode, Endpoint: family.server, Client: k.client, Server: k.server}
				if len(h.opens) != 1 || *h.opens[0].Conn != want || len(h.closes) != 1 || h.closes[0].Reset {
					t.Errorf("opens %v, closes %v", h.opens, h.closes)
				}
			})
		}
	}
}

// classic writes pcap of either byte order and resolution, independent of gopacket.
func (k *talk) classic(t testing.TB, order binary.AppendByteOrder, nanos bool, link uint32, wrap func([]byte) []byte) []byte {
	t.Helper()
	magic, unit := uint32(magicMicros), int64(1000)
	if nanos {
		magic, unit = magicNanos, 1
	}
	b := pcapHead(order, magic, link)
	for _, p := range k.packets {
		data := wrap(k.ip(t, p))
		b = pcapRecord(order, b, p.at, unit, data, len(data))
	}
	return b
}

// blocks writes pcapng of either byte order. A block kind is one of the three that carry packets.
func (k *talk) blocks(t testing.TB, order binary.AppendByteOrder, kind uint32, options []byte, ticks func(time.Time) uint64) []byte {
	t.Helper()
	b := block(order, nil, blockSection, slices.Concat(order.AppendUint32(nil, byteOrderMagic),
		order.AppendUint16(nil, 1), order.AppendUint16(nil, 0), bytes.Repeat([]byte{0xff}, 8)))
	b = block(order, b, blockInterface, slices.Concat(order.AppendUint16(nil, linkRaw), make([]byte, 6), options))
	b = block(order, b, 0x0BAD, []byte{1, 2, 3, 4}) // a block that is to be passed over
	for _, p := range k.packets {
		data := k.ip(t, p)
		size := order.AppendUint32(nil, uint32(len(data)))
		padded := slices.Concat(data, make([]byte, -len(data)&3))
		if kind == blockSimple {
			b = block(order, b, kind, slices.Concat(size, padded))
			continue
		}
		at := ticks(p.at)
		b = block(order, b, kind, slices.Concat(make([]byte, 4), order.AppendUint32(nil, uint32(at>>32)), order.AppendUint32(nil, uint32(at)), size, size, padded))
	}
	return b
}

func block(order binary.AppendByteOrder, b []byte, kind uint32, body []byte) []byte {
	n := uint32(12 + len(body))
	b = order.AppendUint32(order.AppendUint32(b, kind), n)
	return order.AppendUint32(append(b, body...), n)
}

func TestCapture_EachFileFormat(t *testing.T) {
	raw := func(ip []byte) []byte { return ip }
	nanos := func(at time.Time) uint64 { return uint64(at.UnixNano()) }
	micros := func(at time.Time) uint64 { return uint64(at.UnixMicro()) }
	for _, tt := range []struct {
		name   string
		file   func(k *talk) []byte
		noTime bool
	}{
		{"pcap, microseconds", func(k *talk) []byte { return k.classic(t, binary.LittleEndian, false, linkRaw, raw) }, false},
		{"pcap, microseconds, big-endian", func(k *talk) []byte { return k.classic(t, binary.BigEndian, false, linkRaw, raw) }, false},
		{"pcap, nanoseconds", func(k *talk) []byte { return k.classic(t, binary.LittleEndian, true, linkRaw, raw) }, false},
		{"pcap, nanoseconds, big-endian", func(k *talk) []byte { return k.classic(t, binary.BigEndian, true, linkRaw, raw) }, false},
		{"pcapng, default resolution", func(k *talk) []byte { return k.blocks(t, binary.LittleEndian, blockPacket, nil, micros) }, false},
		{"pcapng, big-endian", func(k *talk) []byte { return k.blocks(t, binary.BigEndian, blockPacket, nil, micros) }, false},
		{"pcapng, nanoseconds", func(k *talk) []byte {
			return k.blocks(t, binary.LittleEndian, blockPacket, []byte{9, 0, 1, 0, 9, 0, 0, 0}, nanos)
		}, false},
		{"pcapng, powers of two", func(k *talk) []byte {
			return k.blocks(t, binary.LittleEndian, blockPacket, []byte{9, 0, 1, 0, 0x80 | 30, 0, 0, 0}, func(at time.Time) uint64 {
				return uint64(at.Unix())<<30 + uint64(at.Nanosecond())<<30/1e9 + 1
			})
		}, false},
		{"pcapng, offset of 1000 s", func(k *talk) []byte {
			return k.blocks(t, binary.LittleEndian, blockPacket, []byte{14, 0, 8, 0, 0xE8, 3, 0, 0, 0, 0, 0, 0}, func(at time.Time) uint64 {
				return micros(at.Add(-1000 * time.Second))
			})
		}, false},
		{"pcapng, obsolete packet blocks", func(k *talk) []byte { return k.blocks(t, binary.LittleEndian, blockPacketOld, nil, micros) }, false},
		{"pcapng, simple packet blocks", func(k *talk) []byte { return k.blocks(t, binary.LittleEndian, blockSimple, nil, micros) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newTalk().open().exchanges(4, testRand(t)).close()
			list, c := imported(t, tt.file(k))
			h := sortOut(list)
			if err := sameFrames(h.frames, k.frames); err != nil || len(h.gaps) > 0 || len(c.Damage()) > 0 {
				t.Errorf("%v, %d gaps, damage %v", err, len(h.gaps), c.Damage())
			}
			if len(h.opens) != 1 || len(h.closes) != 1 {
				t.Fatalf("%d opens, %d closes", len(h.opens), len(h.closes))
			}
			if first := k.packets[0].at.UnixNano(); !tt.noTime && h.opens[0].At.Seen != first {
				t.Errorf("opened at %d, want %d", h.opens[0].At.Seen, first)
			}
			if n := h.closes[0].Number; n != uint64(len(k.packets)-1) {
				t.Errorf("closed by packet %d, want %d", n, len(k.packets)-1)
			}
		})
	}
}

// TestCapture_RetransmittedAndReorderedSegmentsChangeNothing repeats segments, wholly and in part, and lets packets
// overtake each other.
func TestCapture_RetransmittedAndReorderedSegmentsChangeNothing(t *testing.T) {
	rng := testRand(t)
	for range 100 {
		k := newTalk().open().exchanges(1+rng.IntN(10), rng).close()
		want := k.frames
		var packets []talkPacket
		for i, p := range k.packets {
			packets = append(packets, p)
			if j := rng.IntN(i + 1); rng.IntN(3) == 0 && len(k.packets[j].payload) > 0 { // an old one again, with what follows or cut
				old := k.packets[j]
				old.at = p.at
				if j+1 <= i && k.packets[j+1].dir == old.dir && k.packets[j+1].seq == old.seq+uint32(len(old.payload)) {
					old.payload = slices.Concat(old.payload, k.packets[j+1].payload)
				}
				from := rng.IntN(len(old.payload))
				to := from + 1 + rng.IntN(len(old.payload)-from)
				old.seq += uint32(from)
				old.payload = old.payload[from:to]
				packets = append(packets, old)
			}
		}
		place := make(map[int]int)
		order := make([]int, len(packets))
		for i := range packets {
			order[i], place[i] = i, i
			if i >= 3 && i < len(packets)-3 { // the handshake and the end stay in their places
				place[i] = min(i+rng.IntN(6), len(packets)-4)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return place[a] - place[b] })
		moved := make([]talkPacket, 0, len(packets))
		for _, i := range order {
			moved = append(moved, packets[i])
		}
		packets = moved
		list, _ := imported(t, k.pcap(t, packets))
		h := sortOut(list)
		if err := sameFrames(h.frames, want); err != nil || len(h.gaps) > 0 {
			t.Fatalf("%v, %d gaps", err, len(h.gaps))
		}
		if len(h.opens) != 1 || len(h.closes) != 1 {
			t.Fatalf("%d opens, %d closes", len(h.opens), len(h.closes))
		}
	}
}

// TestCapture_LateSegmentsOfAnEndedConnectionOpenNone repeats a request behind the end of its connection, and then uses
// the ports again without a SYN in the capture.
func TestCapture_LateSegmentsOfAnEndedConnectionOpenNone(t *testing.T) {
	k := newTalk().open()
	k.send(wire.Request, requestFrame(wire.KeyFetch, 17, k.count, make([]byte, 100)), 1448)
	k.send(wire.Response, responseFrame(wire.KeyFetch, 17, k.count, make([]byte, 100)), 1448)
	k.close()
	late := k.packets[3]
	again := late
	again.seq = k.next[wire.Request] + 1000
	for _, tc := range []struct {
		name  string
		more  talkPacket
		opens int
	}{{"repeated", late, 1}, {"new", again, 2}} {
		t.Run(tc.name, func(t *testing.T) {
			list, _ := imported(t, k.pcap(t, append(slices.Clone(k.packets), tc.more)))
			h := sortOut(list)
			if len(h.opens) != tc.opens {
				t.Errorf("%d connections, want %d", len(h.opens), tc.opens)
			}
		})
	}
}

// TestCapture_ASynThatComesLateBelongsToItsConnection puts the first request before the handshake.
func TestCapture_ASynThatComesLateBelongsToItsConnection(t *testing.T) {
	k := newTalk().open()
	k.send(wire.Request, requestFrame(wire.KeyFetch, 17, k.count, make([]byte, 100)), 1448)
	k.send(wire.Response, responseFrame(wire.KeyFetch, 17, k.count, make([]byte, 100)), 1448)
	k.close()
	first := k.packets[3]
	packets := append([]talkPacket{first}, slices.Delete(slices.Clone(k.packets), 3, 4)...)
	list, _ := imported(t, k.pcap(t, packets))
	h := sortOut(list)
	if len(h.opens) != 1 || len(h.frames) != 2 || len(h.gaps) > 0 {
		t.Errorf("%d connections, %d frames, %d gaps, want 1, 2, 0", len(h.opens), len(h.frames), len(h.gaps))
	}
}

// TestCapture_LostSegmentsBecomeGaps takes segments out. Frames that are not touched must be there in order, nothing
// may be invented, and gaps tell of the rest. What was said behind a hole until it was given up is lost with it: it
// would come after what other connections have said since.
func TestCapture_LostSegmentsBecomeGaps(t *testing.T) {
	rng := testRand(t)
	for range 100 {
		k := newTalk().open().exchanges(10, rng).close()
		lost := 3 + rng.IntN(len(k.packets)-6)
		if len(k.packets[lost].payload) == 0 {
			continue
		}
		packets := slices.Delete(slices.Clone(k.packets), lost, lost+1)
		list, _ := imported(t, k.pcap(t, packets))
		h := sortOut(list)
		dir := k.packets[lost].dir
		if err := subsequence(h.frames, k.frames); err != nil {
			t.Fatalf("without packet %d: %v", lost+1, err)
		}
		missing := len(k.frames) - len(h.frames)
		if missing < 1 || missing > 8 {
			t.Errorf("without packet %d: %d of %d frames are missing", lost+1, missing, len(k.frames))
		}
		if len(h.gaps) == 0 || h.gaps[0].Dir != dir || h.gaps[0].Gap.Reason != "lost segments" || h.gaps[0].Gap.Bytes < int64(len(k.packets[lost].payload)) {
			t.Errorf("without packet %d of %d bytes: gaps %v", lost+1, len(k.packets[lost].payload), describeGaps(h.gaps))
		}
	}
}

func describeGaps(list []Observation) (s []string) {
	for _, o := range list {
		s = append(s, brief(o))
	}
	return s
}

// subsequence checks that frames are some of all, in their order, in each direction.
func subsequence(frames, all []talkFrame) error {
	for _, dir := range []wire.Direction{wire.Request, wire.Response} {
		rest := ofDirection(all, dir)
		for _, f := range ofDirection(frames, dir) {
			i := slices.IndexFunc(rest, func(b []byte) bool { return bytes.Equal(b, f) })
			if i < 0 {
				return errors.New("a " + dir.String() + " that was not sent, or not in this order")
			}
			rest = rest[i+1:]
		}
	}
	return nil
}

// TestCapture_BegunMidwayFindsTheFirstWholeFrame begins the capture at each packet.
func TestCapture_BegunMidwayFindsTheFirstWholeFrame(t *testing.T) {
	rng := testRand(t)
	k := newTalk().open().exchanges(8, rng).close()
	for from := 3; from < len(k.packets)-4; from++ {
		list, _ := imported(t, k.pcap(t, k.packets[from:]))
		h := sortOut(list)
		if err := subsequence(h.frames, k.frames); err != nil {
			t.Fatalf("from packet %d: %v", from+1, err)
		}
		// Everything from the first request that begins in the capture is there.
		var want []talkFrame
		at, within := 0, false
		for i, p := range k.packets {
			if len(p.payload) == 0 {
				continue
			}
			if i >= from && p.dir == wire.Request && !within {
				want = k.frames[at:]
				break
			}
			if within = !ends(k, i); !within {
				at++
			}
		}
		if err := sameFrames(h.frames, want); err != nil {
			t.Errorf("from packet %d: %v", from+1, err)
		}
		if len(want) > 0 && (len(h.opens) != 1 || !h.opens[0].Conn.Midway || h.opens[0].Conn.Server != k.server) {
			t.Errorf("from packet %d: opens %v", from+1, h.opens)
		}
	}
}

// ends reports whether packet i ends a frame: what follows it is the acknowledgement.
func ends(k *talk, i int) bool { return len(k.packets[i+1].payload) == 0 }

func TestCapture_CutPacketsBecomeGaps(t *testing.T) {
	k := newTalk().open().exchanges(6, testRand(t)).close()
	file, cut := pcapHead(binary.LittleEndian, magicMicros, linkEthernet), 0
	for _, p := range k.packets {
		b := ethernet(k.ip(t, p))
		n := min(len(b), 150)
		if n < len(b) {
			cut++
		}
		file = pcapRecord(binary.LittleEndian, file, p.at, 1000, b[:n], len(b))
	}
	list, _ := imported(t, file)
	h := sortOut(list)
	if err := subsequence(h.frames, k.frames); err != nil {
		t.Error(err)
	}
	if cut > 0 && (len(h.gaps) == 0 || !strings.Contains(h.gaps[0].Gap.Reason, "cut its packets")) {
		t.Errorf("%d packets cut, gaps %v", cut, describeGaps(h.gaps))
	}
	if len(h.closes) != 1 {
		t.Errorf("%d closes", len(h.closes))
	}
}

func TestCapture_PortsUsedAgainAreAnotherConnection(t *testing.T) {
	rng := testRand(t)
	for _, tt := range []struct {
		name  string
		end   func(k *talk)
		reset bool
	}{
		{"after a close", func(k *talk) { k.close() }, false},
		{"after a reset", func(k *talk) { k.packet(wire.Response, tcpRst|tcpAck, nil) }, true},
		{"without an end", func(*talk) {}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newTalk().open().exchanges(3, rng)
			tt.end(k)
			k.next = [2]uint32{5_000, 6_000}
			k.open().exchanges(3, rng).close()
			list, _ := imported(t, k.pcap(t, k.packets))
			h := sortOut(list)
			if err := sameFrames(h.frames, k.frames); err != nil || len(h.gaps) > 0 {
				t.Errorf("%v, gaps %v", err, describeGaps(h.gaps))
			}
			if len(h.opens) != 2 || len(h.closes) != 2 || h.opens[0].Conn == h.opens[1].Conn || h.closes[0].Reset != tt.reset {
				t.Errorf("opens %v, closes %v", h.opens, h.closes)
			}
		})
	}
}

func TestCapture_WhatIsNotKafkaIsNamed(t *testing.T) {
	for _, tt := range []struct {
		name, payload, reason string
		fatal                 bool
	}{
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS", true},
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", "undecodable", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newTalk().open()
			k.packet(wire.Request, tcpAck|tcpPsh, []byte(tt.payload))
			k.packet(wire.Response, tcpAck|tcpPsh, []byte(tt.payload))
			k.close()
			list, _ := imported(t, k.pcap(t, k.packets))
			h := sortOut(list)
			if len(h.frames) > 0 || len(h.gaps) < 2 || len(h.closes) != 1 {
				t.Fatalf("%d frames, gaps %v", len(h.frames), describeGaps(h.gaps))
			}
			if g := h.gaps[0].Gap; !strings.Contains(g.Reason, tt.reason) || g.Fatal != tt.fatal {
				t.Errorf("gap %+v", g)
			}
		})
	}
}

func TestCapture_ForeignPacketsAreNoConnection(t *testing.T) {
	k := newTalk()
	file := pcapHead(binary.LittleEndian, magicMicros, linkEthernet)
	udp := k.ip(t, talkPacket{at: k.at})
	udp[9] = 17
	fragment := k.ip(t, talkPacket{at: k.at, payload: []byte("x")})
	fragment[6] = 0x20
	for _, b := range [][]byte{
		nil,
		{1},
		make([]byte, 13), ethernet(udp), ethernet(fragment), ethernet(k.ip(t, talkPacket{at: k.at})[:30]),
		append(make([]byte, 12), 8, 6, 0, 1), // ARP
		ethernet([]byte{0x45, 0}), ethernet([]byte{0x60, 0}), append(make([]byte, 12), 0x81, 0, 0),
	} {
		file = pcapRecord(binary.LittleEndian, file, k.at, 1000, b, len(b))
	}
	list, c := imported(t, file)
	if len(list) > 0 || len(c.Damage()) > 0 {
		t.Errorf("%d observations, damage %v", len(list), c.Damage())
	}
}

func TestCapture_UnknownLinkTypeIsTold(t *testing.T) {
	k := newTalk().open()
	_, c := imported(t, k.classic(t, binary.LittleEndian, false, 147, func(ip []byte) []byte { return ip }))
	if d := c.Damage(); len(d) != 1 || !strings.Contains(d[0].Error(), "link type 147") {
		t.Errorf("damage %v", d)
	}
}

// TestCapture_CutAnywhereReadsWhatIsWhole cuts captures of both formats at each byte.
func TestCapture_CutAnywhereReadsWhatIsWhole(t *testing.T) {
	k := newTalk().open()
	k.send(wire.Request, requestFrame(wire.KeyVote, 2, 0, voteBody), 20)
	k.send(wire.Response, responseFrame(wire.KeyVote, 2, 0, voteBody), 100)
	k.close()
	for name, file := range map[string][]byte{
		"pcap":   k.pcap(t, k.packets),
		"pcapng": k.blocks(t, binary.LittleEndian, blockPacket, nil, func(at time.Time) uint64 { return uint64(at.UnixMicro()) }),
	} {
		whole, _ := imported(t, file)
		for cut := range file {
			c, err := NewCapture(bytes.NewReader(file[:cut]), name)
			if err != nil {
				if cut >= 24 {
					t.Fatalf("%s cut at %d: %v", name, cut, err)
				}
				continue
			}
			list, err := readAll(c)
			if err != nil {
				t.Fatalf("%s cut at %d: %v", name, cut, err)
			}
			frames := sortOut(list).frames
			if err := subsequence(frames, sortOut(whole).frames); err != nil || !slices.EqualFunc(frames, k.frames[:len(frames)], func(a, b talkFrame) bool { return bytes.Equal(a.bytes, b.bytes) }) {
				t.Fatalf("%s cut at %d: %v", name, cut, err)
			}
			if d := c.Damage(); len(d) > 1 || len(d) == 1 && (!errors.Is(d[0], ErrCut) || d[0].Offset > int64(cut)) {
				t.Fatalf("%s cut at %d: damage %v", name, cut, d)
			}
		}
	}
}

func TestCapture_PacketsSeenTwiceCountOnce(t *testing.T) {
	k := newTalk().open().exchanges(10, testRand(t)).close()
	var twice []talkPacket
	for _, p := range k.packets { // as on the "any" device, where a packet leaves one interface and comes in at another
		twice = append(twice, p, p)
	}
	list, _ := imported(t, k.pcap(t, twice))
	h := sortOut(list)
	if err := sameFrames(h.frames, k.frames); err != nil || len(h.gaps) > 0 || len(h.opens) != 1 || len(h.closes) != 1 {
		t.Errorf("%v, gaps %v, %d opens, %d closes", err, describeGaps(h.gaps), len(h.opens), len(h.closes))
	}
}

func TestCapture_IPv6ExtensionHeadersArePassedOver(t *testing.T) {
	k := newTalk()
	k.client, k.server = netip.MustParseAddrPort("[2001:db8::2]:41000"), netip.MustParseAddrPort("[2001:db8::1]:9093")
	k.open().exchanges(3, testRand(t)).close()
	file := k.classic(t, binary.LittleEndian, false, linkRaw, func(ip []byte) []byte {
		extended := slices.Concat(ip[:40], []byte{60, 0, 1, 4, 0, 0, 0, 0}, []byte{6, 0, 1, 4, 0, 0, 0, 0}, ip[40:])
		extended[6] = 0 // hop-by-hop options, then destination options
		binary.BigEndian.PutUint16(extended[4:], uint16(len(extended)-40))
		return extended
	})
	list, _ := imported(t, file)
	if err := sameFrames(sortOut(list).frames, k.frames); err != nil {
		t.Error(err)
	}
}

func TestCapture_ConnectionsAtOnceAreBounded(t *testing.T) {
	file := pcapHead(binary.LittleEndian, magicMicros, linkRaw)
	var first *talk
	for port := range uint16(50) {
		k := newTalk()
		k.client = netip.AddrPortFrom(k.client.Addr(), 20_000+port)
		k.at = k.at.Add(time.Duration(port) * time.Second)
		k.open().send(wire.Request, requestFrame(wire.KeyVote, 2, 0, voteBody), 1000)
		for _, p := range k.packets {
			ip := k.ip(t, p)
			file = pcapRecord(binary.LittleEndian, file, p.at, 1000, ip, len(ip))
		}
		if first == nil {
			first = k
		}
	}
	c, err := NewCapture(bytes.NewReader(file), "capture")
	if err != nil {
		t.Fatal(err)
	}
	c.limit = 8
	list, err := readAll(c)
	if err != nil {
		t.Fatal(err)
	}
	h := sortOut(list)
	if len(h.frames) != 50 || len(h.closes) < 42 || h.closes[0].Conn.Client != first.client || len(c.flows) > 16 {
		t.Errorf("%d frames, %d closes, %d flows left", len(h.frames), len(h.closes), len(c.flows)/2)
	}
	if d := c.Damage(); len(d) == 0 || !strings.Contains(d[0].Error(), "more than 8 connections at once") {
		t.Errorf("damage %v", d)
	}
}

// TestCapture_AnAnswerComesAfterItsRequestOrTheGapInItsPlace loses segments of requests, and lets answers overtake them.
func TestCapture_AnAnswerComesAfterItsRequestOrTheGapInItsPlace(t *testing.T) {
	rng := testRand(t)
	for range 100 {
		k := newTalk().open().exchanges(10, rng).close()
		packets := slices.Clone(k.packets)
		lost := 3 + rng.IntN(len(packets)-6)
		if p := packets[lost]; p.dir == wire.Request && rng.IntN(2) == 0 {
			packets = slices.Delete(packets, lost, lost+1)
		} else {
			packets[lost], packets[lost+1] = packets[lost+1], p
		}
		list, _ := imported(t, k.pcap(t, packets))
		open, told := map[int32]bool{}, false
		for _, o := range list {
			switch {
			case o.Kind == KindGap:
				told = told || o.Dir == wire.Request
			case o.Kind != KindFrame:
			case o.Dir == wire.Request:
				h, _, err := wire.ParseRequestHeader(o.Frame.Bytes)
				if err != nil {
					t.Fatal(err)
				}
				open[h.CorrelationID] = true
			default:
				if id := int32(binary.BigEndian.Uint32(o.Frame.Bytes)); !open[id] && !told {
					t.Fatalf("without or behind packet %d: the answer %d comes before request and gap", lost+1, id)
				}
			}
		}
	}
}

// TestCapture_ABeginThatIsMissingIsTold: the first answers may be among what is missing.
func TestCapture_ABeginThatIsMissingIsTold(t *testing.T) {
	k := newTalk().open().exchanges(5, testRand(t)).close()
	var packets []talkPacket
	answers := 0
	for i, p := range k.packets {
		if p.dir == wire.Response && len(p.payload) > 0 {
			answers++
		}
		if i == 1 || p.dir == wire.Response && answers < 2 { // the server's SYN, and the first segment of its answers
			continue
		}
		packets = append(packets, p)
	}
	list, _ := imported(t, k.pcap(t, packets))
	h := sortOut(list)
	if len(h.gaps) == 0 || h.gaps[0].Dir != wire.Response {
		t.Fatalf("gaps %v", describeGaps(h.gaps))
	}
	for _, o := range list {
		if o.Kind == KindFrame && o.Dir == wire.Response && o.Number < h.gaps[0].Number {
			t.Fatal("an answer comes before the gap")
		}
	}
}
