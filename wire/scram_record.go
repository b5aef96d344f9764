package wire

import "encoding/binary"

// ScramCredential is what a UserScramCredential record says: how to check a password without knowing it (RFC 5802).
type ScramCredential struct {
	User       string
	Mechanism  int8 // 1: SCRAM-SHA-256, 2: SCRAM-SHA-512
	Salt       []byte
	StoredKey  []byte
	ServerKey  []byte
	Iterations int32
}

// Record is the value of the metadata record.
func (c *ScramCredential) Record() []byte {
	b := []byte{metadataFrameVersion, 11, 0}
	b = append(appendUvarint(b, len(c.User)+1), c.User...)
	b = append(b, byte(c.Mechanism))
	for _, bytes := range [][]byte{c.Salt, c.StoredKey, c.ServerKey} {
		b = append(appendUvarint(b, len(bytes)+1), bytes...)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(c.Iterations)), 0)
}
