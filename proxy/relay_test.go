package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

func TestRelay_RandomBytesPassUnchanged(t *testing.T) { passRandomBytes(t, 10_000_000, 4) }

// TestMatrix_RandomBytesPassUnchanged is the long form.
func TestMatrix_RandomBytesPassUnchanged(t *testing.T) {
	if os.Getenv("UNDERSTUDY_MATRIX") == "" {
		t.Skip("UNDERSTUDY_MATRIX is not set: the long run belongs to make test-matrix")
	}
	passRandomBytes(t, 100_000_000, 8)
}

// passRandomBytes sends about total bytes in all, both ways at once on some connections, written and read in pieces of any
// size. Half of the connections carry frames, which must be recorded as they are; the others carry noise.
func passRandomBytes(t *testing.T, total, conns int) {
	rng := seeded(t)
	up := newServer(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.TapMemory = 256 << 20 })
	var wait sync.WaitGroup
	want := map[netip.AddrPort][2][]byte{}
	for i := range conns {
		client := p.dial(1)
		server := up.accept()
		var sent [2][]byte
		for d, pair := range [2][2]*net.TCPConn{{client, server}, {server, client}} {
			n := total / conns / 2
			if i%2 == 0 {
				sent[d] = framesOf(rng, n)
			} else {
				sent[d] = noise(rng, n)
			}
			out, in, stream := pair[0], pair[1], sent[d]
			pieces := chunks(rng, stream, 100_000)
			readSize := 1 + rng.IntN(100_000)
			wait.Go(func() {
				for _, piece := range pieces {
					if _, err := out.Write(piece); err != nil {
						t.Errorf("write: %v", err)
						return
					}
				}
				_ = out.CloseWrite()
			})
			wait.Go(func() {
				got, err := readAll(in, readSize)
				if err != nil || !bytes.Equal(got, stream) {
					t.Errorf("%d bytes arrive of %d, or others: %v", len(got), len(stream), err)
				}
			})
		}
		if i%2 == 0 {
			want[addrPort(client.LocalAddr())] = sent
		}
	}
	wait.Wait()
	p.end()
	for _, o := range p.sink.kinds(recordings.KindGap) {
		if _, framed := want[o.Conn.Client]; framed {
			t.Errorf("a gap in a recorded stream: %+v", o.Gap)
		}
	}
	for addr, sent := range want {
		for d := range sent {
			var got []byte
			for _, o := range p.sink.kinds(recordings.KindFrame) {
				if o.Conn.Client == addr && o.Dir == wire.Direction(d) {
					got = append(binary.BigEndian.AppendUint32(got, uint32(o.Frame.Size)), o.Frame.Bytes...)
				}
			}
			if !bytes.Equal(got, sent[d]) {
				t.Errorf("%s %s: %d bytes recorded of %d, or others", addr, wire.Direction(d), len(got), len(sent[d]))
			}
		}
	}
}

func framesOf(rng *rand.Rand, n int) (stream []byte) {
	for len(stream) < n {
		more, _ := randomFrames(rng, 20, []int{100, 3000, 200_000}[rng.IntN(3)])
		stream = append(stream, more...)
	}
	return stream
}

func noise(rng *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, rng.Uint64())
	}
	return b[:n]
}

func readAll(in io.Reader, size int) (all []byte, err error) {
	buf := make([]byte, size)
	for {
		n, err := in.Read(buf)
		all = append(all, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

func TestRelay_PassesAHalfCloseOnAsAHalfClose(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), nil)
	client := p.dial(1)
	send(t, client, []byte("question"))
	_ = client.CloseWrite()
	server := up.accept()
	if got, err := io.ReadAll(server); err != nil || string(got) != "question" {
		t.Fatalf("the upstream reads %q, %v", got, err)
	}
	send(t, server, []byte("answer"))
	_ = server.Close()
	if got, err := io.ReadAll(client); err != nil || string(got) != "answer" {
		t.Fatalf("the client reads %q, %v", got, err)
	}
	eventually(t, "the connection is closed", func() bool { return p.Stats().Open == 0 })
	p.end()
	closes := p.sink.kinds(recordings.KindClose)
	if len(closes) != 1 || closes[0].Reset {
		t.Errorf("recorded as closed: %+v", closes)
	}
}

func TestRelay_PassesAResetOnAsAReset(t *testing.T) {
	for _, from := range []string{"client", "upstream"} {
		t.Run(from, func(t *testing.T) {
			up := newServer(t)
			p := startProxy(t, up.addr(), nil)
			client := p.dial(1)
			server := up.accept()
			send(t, client, request(18, 0, 1, "c", "")) // so that the connection is being relayed
			readFrame(t, server)
			broken, other := client, server
			if from == "upstream" {
				broken, other = server, client
			}
			_ = broken.SetLinger(0)
			_ = broken.Close()
			if _, err := other.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the other side reads %v, want a reset\n%s", err, p.logs)
			}
			p.end()
			closes := p.sink.kinds(recordings.KindClose)
			if len(closes) != 1 || !closes[0].Reset {
				t.Errorf("recorded as closed: %+v", closes)
			}
		})
	}
}

func TestRelay_ASlowReceiverHoldsTheSenderBack(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), nil)
	client := p.dial(1)
	server := up.accept()
	_ = client.SetWriteBuffer(64 << 10)
	_ = server.SetReadBuffer(64 << 10)
	stream := bytes.Repeat(framesOf(seeded(t), 1<<20), 24)
	written := make(chan int, 1)
	go func() {
		n, _ := client.Write(stream)
		_ = client.CloseWrite()
		written <- n
	}()
	// The receiver does not read: what is under way must stop growing, at what the kernel's buffers take.
	last, still := uint64(0), 0
	eventually(t, "the sender stops", func() bool {
		n := p.Stats().BytesRequest
		if n == last && n > 0 {
			still++
		} else {
			last, still = n, 0
		}
		return still > 100
	})
	if last > 16<<20 {
		t.Errorf("%d bytes taken from a sender whose receiver does not read", last)
	}
	select {
	case n := <-written:
		t.Fatalf("all %d bytes were taken", n)
	default:
	}
	// Another connection is not held up.
	second := p.dial(1)
	other := up.accept()
	send(t, second, request(18, 0, 1, "c", ""))
	readFrame(t, other)
	// And when the receiver reads again, everything arrives.
	if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, stream) {
		t.Errorf("%d bytes arrive of %d, or others: %v", len(got), len(stream), err)
	}
	<-written
}

func TestRelay_ASlowReceiverThatIsResetEndsTheSender(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), nil)
	client := p.dial(1)
	server := up.accept()
	failed := make(chan error, 1)
	go func() {
		_, err := client.Write(bytes.Repeat([]byte{0xff}, 24<<20))
		failed <- err
	}()
	eventually(t, "bytes are under way", func() bool { return p.Stats().BytesRequest > 1<<20 })
	_ = server.SetLinger(0)
	_ = server.Close()
	if err := <-failed; err == nil {
		t.Error("the sender never learns that its receiver is gone")
	}
}

func TestRelay_UpstreamDownClosesTheClientAtOnce(t *testing.T) {
	up := newServer(t)
	addr := up.addr()
	_ = up.ln.Close()
	p := startProxy(t, addr, nil)
	const tries = 30
	for range tries {
		client := p.dial(1)
		if n, err := client.Read(make([]byte, 1)); err == nil {
			t.Fatalf("read %d bytes from nowhere", n)
		}
	}
	p.end()
	if n := p.Stats().DialError; n != tries {
		t.Errorf("%d failed dials counted, want %d", n, tries)
	}
	text := p.logs.String()
	if !strings.Contains(text, "node 1 at "+addr) || !strings.Contains(text, "refused") {
		t.Errorf("the log does not name the peer and the reason:\n%s", text)
	}
	if lines := strings.Count(text, "\n"); lines > 3 || !strings.Contains(text, `"more":29`) {
		t.Errorf("%d lines for one repeated message:\n%s", lines, text)
	}
}

func TestRelay_UpstreamDyingWithinAFrameIsAGap(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), nil)
	client := p.dial(1)
	send(t, client, request(52, 0, 1, "raft-client-2", "vote"))
	server := up.accept()
	readFrame(t, server)
	send(t, server, response(1, "half of the answer")[:9])
	_ = server.Close()
	if got, err := io.ReadAll(client); err != nil || len(got) != 9 {
		t.Errorf("the client reads %d bytes, %v", len(got), err)
	}
	_ = client.Close()
	p.end()
	gaps := p.sink.kinds(recordings.KindGap)
	if len(gaps) != 1 || gaps[0].Dir != wire.Response || gaps[0].Gap.Bytes != 9 {
		t.Fatalf("gaps %+v", gaps)
	}
	if frames := p.sink.kinds(recordings.KindFrame); len(frames) != 1 {
		t.Errorf("%d frames recorded, want 1", len(frames))
	}
}

func TestRelay_GarbageIsForwardedUntouched(t *testing.T) {
	for name, garbage := range map[string][]byte{
		"text":           []byte("GET / HTTP/1.1\r\nHost: example\r\n\r\n"),
		"TLS":            {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03},
		"negative size":  {0xff, 0xff, 0xff, 0xfe, 1, 2, 3},
		"oversized":      binary.BigEndian.AppendUint32(nil, wire.MaxFrameSize+1),
		"frames, then":   append(request(18, 3, 1, "x", ""), 0x80, 0, 0, 0, 9, 9),
		"a size in part": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			up := newServer(t)
			p := startProxy(t, up.addr(), nil)
			client := p.dial(1)
			server := up.accept()
			send(t, client, garbage)
			got := make([]byte, len(garbage))
			if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, garbage) {
				t.Fatalf("the upstream reads % x, %v", got, err)
			}
			send(t, server, []byte("\xff\xff\xff\xff"))
			if _, err := io.ReadFull(client, make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
			_ = client.Close()
			_ = server.Close()
			p.end()
			gaps := p.sink.kinds(recordings.KindGap)
			if len(gaps) == 0 {
				t.Error("no gap says that something could not be read")
			}
			for _, g := range gaps {
				if name != "a size in part" && !g.Gap.Fatal {
					t.Errorf("gap %+v is not fatal", g.Gap)
				}
			}
		})
	}
}

func TestRelay_DialsFromTheAddressAsked(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), func(c *Config) { c.DialFrom = netip.MustParseAddr("127.0.0.9") })
	p.dial(1)
	if from := addrPort(up.accept().RemoteAddr()).Addr().String(); from != "127.0.0.9" {
		t.Errorf("dialled from %s", from)
	}
}

func TestRelay_TellsWhoTalksToWhom(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), nil)
	client := p.dial(1)
	server := up.accept()
	frame := request(1, 17, 7, "raft-client-2", "fetch")
	begin := time.Now().UnixNano()
	send(t, client, frame)
	readFrame(t, server)
	send(t, server, response(7, "fetched"))
	readFrame(t, client)
	_ = client.Close()
	_, _ = io.ReadAll(server)
	_ = server.Close()
	p.end()
	open := p.sink.kinds(recordings.KindOpen)
	if len(open) != 1 {
		t.Fatalf("%d connections recorded", len(open))
	}
	c := open[0].Conn
	if c.Node != 1 || c.Endpoint != p.Addr(1) || c.Client != addrPort(client.LocalAddr()) || c.Server != addrPort(client.RemoteAddr()) || c.Midway {
		t.Errorf("connection %+v", c)
	}
	frames := p.sink.kinds(recordings.KindFrame)
	if len(frames) != 2 || !bytes.Equal(frames[0].Frame.Bytes, frame[4:]) || frames[0].Dir != wire.Request || frames[1].Dir != wire.Response {
		t.Fatalf("frames %+v", frames)
	}
	for i, o := range frames {
		if o.At.Seen < begin || o.At.Forwarded < o.At.Seen || o.At.Forwarded > time.Now().UnixNano() || o.Seq != 0 || o.Conn != c {
			t.Errorf("frame %d: %+v", i, o)
		}
	}
	s := p.Stats()
	if s.FramesRequest != 1 || s.FramesResponse != 1 || s.Recorded != 2 || s.Requests[1] != 1 || s.Opened != 1 || s.Open != 0 ||
		s.BytesRequest != uint64(len(frame)) || s.LatencySum <= 0 {
		t.Errorf("stats %+v", s)
	}
	if !p.sink.shut {
		t.Error("the sink was not closed")
	}
}

// TestRelay_APausedSocketThatHungUpDoesNotSpin: both sides have ended, and what the client sent waits for a slow
// upstream. Epoll reports the client's socket all the time then, and the loop must not.
func TestRelay_APausedSocketThatHungUpDoesNotSpin(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), nil)
	client := p.dial(1)
	server := up.accept()
	_ = server.SetReadBuffer(16 << 10)
	_ = server.CloseWrite()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("the client reads %v, want the upstream's end", err)
	}
	// Little fits on the way to the upstream, and all the rest before the relay, so that the client's end arrives there.
	p.loop.post(func() {
		for r := range p.loop.relays {
			_ = unix.SetsockoptInt(r.ends[1].fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 16<<10)
			_ = unix.SetsockoptInt(r.ends[0].fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20)
		}
	})
	stream := framesOf(seeded(t), 250_000)
	send(t, client, stream)
	_ = client.CloseWrite()
	last, still := uint64(0), 0
	eventually(t, "the sender stops", func() bool {
		n := p.Stats().BytesRequest
		if n == last && n > 0 {
			still++
		} else {
			last, still = n, 0
		}
		return still > 50
	})
	if last >= uint64(len(stream)) {
		t.Fatal("everything has been read: the test shows nothing")
	}
	before := p.Stats().Waits
	pause := time.NewTimer(100 * time.Millisecond)
	<-pause.C
	if n := p.Stats().Waits - before; n > 100 {
		t.Errorf("%d waits while nothing happens", n)
	}
	if got, err := io.ReadAll(server); err != nil || !bytes.Equal(got, stream) {
		t.Errorf("%d bytes arrive of %d, or others: %v", len(got), len(stream), err)
	}
	eventually(t, "the connection is closed", func() bool { return p.Stats().Open == 0 })
}

// TestRelay_ASenderThatIsResetEndsItsSlowReceiver though the relay does not read from it at that time.
func TestRelay_ASenderThatIsResetEndsItsSlowReceiver(t *testing.T) {
	up := newServer(t)
	p := startProxy(t, up.addr(), nil)
	client := p.dial(1)
	server := up.accept()
	_ = server.SetReadBuffer(64 << 10)
	written := make(chan error, 1)
	go func() {
		_, err := client.Write(bytes.Repeat([]byte{0xff}, 24<<20))
		written <- err
	}()
	last, still := uint64(0), 0
	eventually(t, "the sender stops", func() bool {
		n := p.Stats().BytesRequest
		if n == last && n > 0 {
			still++
		} else {
			last, still = n, 0
		}
		return still > 50
	})
	_ = client.SetLinger(0)
	_ = client.Close()
	<-written
	if _, err := io.Copy(io.Discard, server); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the receiver reads to %v, want a reset", err)
	}
	eventually(t, "the connection is closed", func() bool { return p.Stats().Open == 0 })
}
