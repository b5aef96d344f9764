package kafka

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"testing"
)

func TestParseSockets_ReadsBothTables(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:4E20 0900007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 0000000000000000FFFF00000100007F:4E21 0000000000000000FFFF00000100007F:C351 06 00000000:00000000 03:00001770 00000000 0 0 0 3
`
	got, err := parseSockets(table)
	want := []socket{
		{netip.MustParseAddrPort("127.0.0.1:20000"), netip.MustParseAddrPort("127.0.0.9:50000"), true},
		{netip.MustParseAddrPort("127.0.0.1:20001"), netip.MustParseAddrPort("127.0.0.1:50001"), false},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := parseSockets("0: xyz 00000000:0000 01"); err == nil {
		t.Error("garbage was accepted")
	}
}

func TestReadSockets_SeesAConnectionOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the socket table is Linux's")
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := socket{netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(c.RemoteAddr().String()), true}
	all, err := readSockets()
	if err != nil || !slices.Contains(all, want) {
		t.Errorf("%v is not among %v, %v", want, all, err)
	}
}

// A connection to a controller's real port from the proxy's address is counted, one from anywhere else is named, even
// when it is closed before the table is read.
func TestWatchBypass_NamesWhatGoesAroundTheProxy(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the socket table is Linux's")
	}
	for _, c := range []struct {
		name, from string
		around     bool
	}{{"through the proxy", DialFrom, false}, {"around it", "127.0.0.1", true}} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.from)}}
			conn, err := dialer.Dial("tcp4", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
			this := conn.LocalAddr().String() + " -> " + conn.RemoteAddr().String() + " (controller 1)"
			q := &Quorum{members: []*member{{Node: Node{ID: 1, Controller: true, Listener: l.Addr().String()}}}}
			ended, end := context.WithCancel(t.Context())
			end() // it reads at least once
			b, err := q.WatchBypass(ended)
			if err != nil || slices.Contains(b.Around, this) != c.around || !c.around && b.Proxied == 0 {
				t.Errorf("%+v, %v after %s", b, err, this)
			}
		})
	}
}
