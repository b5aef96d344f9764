package secure_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/internal/secure/securetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// listen starts a guarded listener that echoes, and collects what it refuses.
func listen(t *testing.T, config secure.Config, options secure.ListenOptions) (address string, peers chan secure.Principal, refused chan error) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	peers, refused = make(chan secure.Principal, 16), make(chan error, 16)
	options.Refused = func(err error) { refused <- err }
	l := secure.Listen(tcp, config, options)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			peers <- conn.(*secure.Conn).Peer
			_, _ = io.Copy(conn, io.LimitReader(conn, 4))
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return tcp.Addr().String(), peers, refused
}

type parties struct {
	ca, stranger *securetest.CA
}

func (p parties) identity(t *testing.T, ca *securetest.CA, name string, hosts ...string) *tls.Certificate {
	t.Helper()
	chain, key := ca.Issue(name, hosts...)
	c, err := secure.ParseIdentity(chain, key, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (p parties) tls(t *testing.T, name string, hosts ...string) secure.TLS {
	t.Helper()
	roots, err := secure.ParseRoots(p.ca.Certificate())
	if err != nil {
		t.Fatal(err)
	}
	return secure.TLS{Certificate: p.identity(t, p.ca, name, hosts...), Roots: roots, ClientAuth: tls.RequireAndVerifyClientCert}
}

func TestConnection_EachProtocol(t *testing.T) {
	p := parties{securetest.NewCA(t, "ours"), securetest.NewCA(t, "theirs")}
	good := secure.SASL{Username: "node", Password: "secret", Users: map[string]secure.Password{"node": "secret", "admin": "other"}}
	for _, protocol := range secure.Protocols {
		server := secure.Config{Protocol: protocol, TLS: p.tls(t, "server", "127.0.0.1"), SASL: good}
		address, peers, refused := listen(t, server, secure.ListenOptions{})
		for _, tt := range []struct {
			name   string
			change func(c *secure.Config)
			only   func(secure.Protocol) bool
			says   string // nothing: it works
		}{
			{name: "as it should be", change: func(*secure.Config) {}},
			{name: "wrong password", change: func(c *secure.Config) { c.SASL.Password = "guess" }, only: secure.Protocol.SASL, says: "refused user \"node\" by SASL_AUTHENTICATION_FAILED"},
			{name: "unknown user", change: func(c *secure.Config) { c.SASL.Username = "x" }, only: secure.Protocol.SASL, says: "authentication failed"},
			{name: "no client certificate", change: func(c *secure.Config) { c.TLS.Certificate = nil }, only: secure.Protocol.TLS, says: "certificate required"},
			{name: "untrusted client certificate", change: func(c *secure.Config) { c.TLS.Certificate = p.identity(t, p.stranger, "x") }, only: secure.Protocol.TLS, says: "unknown certificate authority"},
			{name: "untrusted server", change: func(c *secure.Config) {
				c.TLS.Roots, _ = secure.ParseRoots(p.stranger.Certificate())
			}, only: secure.Protocol.TLS, says: "unknown authority"},
			{name: "untrusted server of any name", change: func(c *secure.Config) {
				c.TLS.Roots, _ = secure.ParseRoots(p.stranger.Certificate())
				c.TLS.AnyHostName = true
			}, only: secure.Protocol.TLS, says: "unknown authority"},
		} {
			if tt.only != nil && !tt.only(protocol) {
				continue
			}
			t.Run(protocol.String()+"/"+tt.name, func(t *testing.T) {
				client := server
				tt.change(&client)
				err := echo(deadline(t), &client, address)
				switch {
				case tt.says == "" && err != nil:
					t.Fatal(err)
				case tt.says == "":
					want := secure.Anonymous
					if protocol.SASL() {
						want = "User:node"
					} else if protocol.TLS() {
						want = "User:CN=server,O=understudy"
					}
					if got := <-peers; got != want {
						t.Errorf("the peer is %s, want %s", got, want)
					}
				case err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), address):
					t.Errorf("%v", err)
				default:
					if err := <-refused; !strings.Contains(err.Error(), "connection from 127.0.0.1:") || strings.Contains(err.Error(), "guess") {
						t.Errorf("refused: %v", err)
					}
				}
			})
		}
	}
}

// echo sends four bytes and wants them back. Under TLS 1.3 a server's refusal arrives only then.
func echo(ctx context.Context, c *secure.Config, address string) error {
	conn, err := c.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	at, _ := ctx.Deadline()
	_ = conn.SetDeadline(at)
	if _, err := conn.Write([]byte("ping")); err != nil {
		return errors.Join(errors.New(address), err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "ping" {
		return errors.Join(errors.New(address), err)
	}
	return nil
}

func TestDial_NameOfTheCertificate(t *testing.T) {
	p := parties{ca: securetest.NewCA(t, "ours")}
	server := secure.Config{Protocol: secure.SSL, TLS: p.tls(t, "server", "elsewhere.example")}
	address, _, _ := listen(t, server, secure.ListenOptions{})
	client := server
	if err := echo(deadline(t), &client, address); err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("a certificate for another name: %v", err)
	}
	client.TLS.AnyHostName = true
	if err := echo(deadline(t), &client, address); err != nil {
		t.Error(err)
	}
}

func TestDial_WrongKindOfListener(t *testing.T) {
	p := parties{ca: securetest.NewCA(t, "ours")}
	config := secure.Config{TLS: p.tls(t, "server", "127.0.0.1"), SASL: secure.SASL{Username: "a", Password: "b"}}
	for _, tt := range []struct {
		server, client secure.Protocol
		says           string
	}{
		{secure.SSL, secure.SASLPlaintext, "may be one for TLS"},
		{secure.SASLPlaintext, secure.SSL, "one for TLS"},
		{secure.SASLPlaintext, secure.SASLSSL, "one for TLS"},
	} {
		t.Run(tt.client.String()+" at "+tt.server.String(), func(t *testing.T) {
			config.Protocol = tt.server
			address, _, _ := listen(t, config, secure.ListenOptions{})
			config.Protocol = tt.client
			if _, err := config.Dial(deadline(t), address); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestListener_SurvivesHostilePeers: each of them is refused, and an honest one gets through beside them.
func TestListener_SurvivesHostilePeers(t *testing.T) {
	p := parties{ca: securetest.NewCA(t, "ours")}
	frame := func(payload ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
	}
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Mechanism = "GSSAPI"
	versions := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 1)
	for _, protocol := range []secure.Protocol{secure.SSL, secure.SASLPlaintext, secure.SASLSSL} {
		config := secure.Config{
			Protocol: protocol, TLS: p.tls(t, "server", "127.0.0.1"),
			SASL: secure.SASL{Username: "a", Password: "b", Users: map[string]secure.Password{"a": "b"}},
		}
		address, _, refused := listen(t, config, secure.ListenOptions{})
		for name, bytes := range map[string][]byte{
			"says nothing":       nil,
			"half a size":        {0, 0},
			"huge size":          {0x7f, 0xff, 0xff, 0xff, 1},
			"negative size":      {0xff, 0xff, 0xff, 0xff},
			"empty frame":        frame(),
			"garbage":            bytes.Repeat([]byte{0xa5}, 300),
			"frame of garbage":   frame(bytes.Repeat([]byte{0xa5}, 300)...),
			"claims and waits":   {0, 7, 0, 0, 1, 2, 3},
			"an HTTP request":    []byte("GET / HTTP/1.1\r\n\r\n"),
			"Fetch before login": frame(0, 1, 0, 17, 0, 0, 0, 1, 0xff, 0xff, 0),
			"another mechanism":  kmsg.NewRequestFormatter().AppendRequest(nil, handshake, 1),
			"ApiVersions only":   append(append(append([]byte{}, versions...), versions...), versions...),
		} {
			t.Run(protocol.String()+"/"+name, func(t *testing.T) {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if _, err := conn.Write(bytes); err != nil {
					t.Fatal(err)
				}
				if err := echo(deadline(t), &config, address); err != nil {
					t.Errorf("an honest peer beside it: %v", err)
				}
				_ = conn.Close() // those that wait for more go away
				select {
				case err := <-refused:
					if !strings.Contains(err.Error(), "connection from 127.0.0.1:") {
						t.Error(err)
					}
				case <-deadline(t).Done():
					t.Error("it was not refused in time")
				}
			})
		}
	}
}

// TestListener_WaitsForNoPeer: one that says nothing, or too little, is refused when its time is over.
func TestListener_WaitsForNoPeer(t *testing.T) {
	p := parties{ca: securetest.NewCA(t, "ours")}
	for _, protocol := range []secure.Protocol{secure.SSL, secure.SASLPlaintext, secure.SASLSSL} {
		address, _, refused := listen(t, secure.Config{Protocol: protocol, TLS: p.tls(t, "server", "127.0.0.1")},
			secure.ListenOptions{HandshakeTimeout: 20 * time.Millisecond})
		for _, text := range []string{"", "\x00\x00\x00\x09abc"} {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_, _ = conn.Write([]byte(text))
			select {
			case err := <-refused:
				if protocol == secure.SASLPlaintext && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v, %q: %v", protocol, text, err)
				}
			case <-deadline(t).Done():
				t.Fatalf("%v, %q: it was not refused in time", protocol, text)
			}
		}
	}
}

func TestClose_EndsHandshakes(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := secure.Listen(tcp, secure.Config{Protocol: secure.SASLPlaintext}, secure.ListenOptions{Handshakes: 1})
	for range 3 {
		conn, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	_ = l.Close()
	if _, err := l.Accept(); err == nil {
		t.Error("a closed listener accepts")
	}
}

func TestPassword_IsNotPrinted(t *testing.T) {
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		b.WriteString(sprintf(verb, secure.SASL{Username: "u", Password: "hush", Users: map[string]secure.Password{"u": "hush"}}))
	}
	if strings.Contains(b.String(), "hush") {
		t.Error(b.String())
	}
}
