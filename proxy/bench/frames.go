//go:build linux

package main

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// A Fetch v17 of a follower and the leader's answer without records, sizes included: what a quorum at rest
// exchanges all the time.
const (
	fetchRequestHex = `0000009e 0001 0011 00000008 000d726166742d636c69656e742d32 00
000001f4 00000000 00800000 00 00000000 ffffffff 02 00000000000000000000000000000001 02
00000000 00000005 0000000000000064 00000004 ffffffffffffffff 00000000 01 00 10 22222222222222222222222222222222
00 01 01 02 00 17 1741414141414141414141414141414141414141414151 01 0d 00000002 ffffffffffffffff 00`
	fetchResponseHex = `00000045 00000008 00 00000000 0000 00000000 02 00000000000000000000000000000001 02 00000000 0000
0000000000000064 0000000000000064 0000000000000000 01 ffffffff 01 00
00 00`
)

// fetchRequest and fetchResponse are templates; the correlation id lies at requestID and responseID.
var (
	fetchRequest  = frame(fetchRequestHex)
	fetchResponse = frame(fetchResponseHex)
)

const (
	requestID  = 8
	responseID = 4
)

func frame(text string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		panic(err)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
