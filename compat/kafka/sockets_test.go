package kafka

import (
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
