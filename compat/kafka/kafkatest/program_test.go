package kafkatest

import (
	"net"
	"testing"
)

func TestListening_TellsWhoListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	if !listening(t, address) {
		t.Errorf("nobody listens on %s", address)
	}
	conn, err := net.Dial("tcp", address) // an end of a connection is no listener
	if err != nil {
		t.Fatal(err)
	}
	if listening(t, conn.LocalAddr().String()) {
		t.Errorf("a connection is taken for a listener")
	}
	_ = conn.Close()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
}
