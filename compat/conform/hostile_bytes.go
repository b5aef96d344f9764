package conform

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
)

const bytesSource = "Kafka: NetworkReceive, SocketServer.Processor (a connection's trouble is its own)"

// byteAttacks are about what is no frame at all.
func byteAttacks() (all []Attack) {
	add := func(name, says string, strike func(*striker) error) {
		all = append(all, Attack{Case: Case{ID: "bytes/" + name, Says: says, Does: says, Source: bytesSource}, strike: strike})
	}
	thrown := func(bytes ...byte) func(*striker) error {
		return func(s *striker) error { return s.throw(bytes, false) }
	}
	add("http", "a request of HTTP comes", func(s *striker) error { return s.throw([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), true) })
	add("tls", "a ClientHello of TLS comes", thrown(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3))
	add("telnet", "a line of text comes", func(s *striker) error { return s.throw([]byte("help\r\n"), false) })
	add("ones", "a kilobyte of 0xff comes", func(s *striker) error { return s.throw(filled(1024, 0xff), true) })
	add("random", "forty connections bring random bytes", func(s *striker) error {
		for range s.times(40) {
			if err := s.throw(s.noise(1+s.random.IntN(2000)), false); err != nil {
				return err
			}
		}
		return nil
	})
	for _, x := range []struct {
		name string
		size uint32
	}{{"minus-one", 1<<32 - 1}, {"lowest", 1 << 31}, {"highest", 1<<31 - 1}, {"above-the-limit", 100<<20 + 1}} {
		add("size/"+x.name, "a frame's size is one that no frame has", func(s *striker) error {
			return s.throw(binary.BigEndian.AppendUint32(nil, x.size), true)
		})
	}
	add("size/zero", "a frame is empty", func(s *striker) error { return s.throw(filled(4, 0), true) })
	add("size/zeros", "a thousand frames are empty", func(s *striker) error { return s.throw(filled(4000, 0), true) })
	add("size/claims-much", "a frame claims sixteen megabytes and stays away", func(s *striker) error {
		return s.throw(append(binary.BigEndian.AppendUint32(nil, 16<<20), 0, 1), false)
	})
	add("cut/everywhere", "connections end within a frame, at each of its bytes", func(s *striker) error { return s.cut((*net.TCPConn).CloseWrite) })
	add("cut/reset", "connections are reset within a frame, at each of its bytes", func(s *striker) error {
		return s.cut(func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) })
	})
	return all
}

// connectionAttacks are about connections that do not behave.
func connectionAttacks() (all []Attack) {
	add := func(name, says string, strike func(*striker) error) {
		all = append(all, Attack{Case: Case{ID: "connections/" + name, Says: says, Does: says, Source: bytesSource}, strike: strike})
	}
	add("idle", "a hundred connections say nothing", func(s *striker) error {
		return s.each(100, func(net.Conn) error { return nil })
	})
	add("churn", "two hundred connections come and go", func(s *striker) error {
		return s.each(200, func(c net.Conn) error { return c.Close() })
	})
	add("half-a-size", "fifty connections stop within the size of their first frame", func(s *striker) error {
		return s.each(50, func(c net.Conn) error { return wrote(c, []byte{0, 0}) })
	})
	add("half-a-frame", "fifty connections stop within their first frame", func(s *striker) error {
		frame := harmlessFrame()
		return s.each(50, func(c net.Conn) error { return wrote(c, frame[:len(frame)-3]) })
	})
	add("slow-writer", "a connection brings a byte now and then", func(s *striker) error {
		conn, err := s.dial()
		if err != nil {
			return err
		}
		for _, b := range harmlessFrame()[:30] {
			if err := wrote(conn, []byte{b}); err != nil {
				return err
			}
			time.Sleep(5 * time.Millisecond)
		}
		return nil
	})
	add("slow-reader", "ten connections ask a thousand times and read no answer", func(s *striker) error {
		var many []byte
		for range 1000 {
			many = append(many, harmlessFrame()...)
		}
		return s.each(10, func(c net.Conn) error {
			_ = c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) // it may stop to read
			_, _ = c.Write(many)
			return nil
		})
	})
	add("asks-and-goes", "a hundred connections ask and do not wait for the answer", func(s *striker) error {
		return s.each(100, func(c net.Conn) error { return errors.Join(wrote(c, harmlessFrame()), c.Close()) })
	})
	add("half-closed", "a connection asks, and says that it will ask no more", func(s *striker) error {
		return s.each(1, func(c net.Conn) error {
			if err := wrote(c, harmlessFrame()); err != nil {
				return err
			}
			if half, ok := c.(interface{ CloseWrite() error }); ok { // TCP and TLS
				_ = half.CloseWrite()
			}
			if _, err := io.Copy(io.Discard, c); isTimeout(err) {
				return errSilence
			}
			return nil
		})
	})
	return all
}

// harmlessFrame asks for what every controller answers.
func harmlessFrame() []byte {
	step := harmless()
	req, _ := step.request(facts{})
	frame, _ := (&client{}).frame(req, header{})
	return frame
}

func filled(n int, b byte) []byte {
	list := make([]byte, n)
	for i := range list {
		list[i] = b
	}
	return list
}

// noise are n random bytes.
func (s *striker) noise(n int) []byte {
	list := make([]byte, n)
	for i := range list {
		list[i] = byte(s.random.Uint32())
	}
	return list
}

// wrote writes, and takes no offence at a target that ends the connection.
func wrote(c net.Conn, bytes []byte) error {
	if _, err := c.Write(bytes); isTimeout(err) {
		return err
	}
	return nil
}

// times is how many of n connections the target takes.
func (s *striker) times(n int) int {
	if s.o.most == 0 || n <= s.o.most {
		return n
	}
	s.spared = true
	return s.o.most
}

// each opens connections and does something with each.
func (s *striker) each(n int, do func(net.Conn) error) error {
	for range s.times(n) {
		conn, err := s.dial()
		if err != nil {
			return err
		}
		if err := do(conn); err != nil {
			return err
		}
	}
	return nil
}

// cut ends a connection behind each byte of a frame.
func (s *striker) cut(end func(*net.TCPConn) error) error {
	frame := harmlessFrame()
	for i := range frame {
		conn, err := s.dial()
		if err != nil {
			return err
		}
		if err := wrote(conn, frame[:i]); err != nil {
			return err
		}
		if t, ok := conn.(*net.TCPConn); ok {
			_ = end(t)
		} else {
			_ = conn.Close()
		}
	}
	return nil
}
