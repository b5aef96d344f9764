package recordings

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/understudy-kafka/understudy/wire"
)

// parseInfo reads the info of a section header block.
func parseInfo(b []byte) (info Info, ok bool) {
	raw := sectionInfo(b)
	return info, raw != nil && json.Unmarshal(raw, &info) == nil
}

// sectionInfo finds the machine fields of a section header block, or nil if it is not one of this program.
func sectionInfo(b []byte) []byte {
	if len(b) < 32 || binary.LittleEndian.Uint32(b) != blockSection || binary.LittleEndian.Uint32(b[8:]) != byteOrderMagic {
		return nil
	}
	return customOption(b[24:min(len(b), int(binary.LittleEndian.Uint32(b[4:])))])
}

// customOption finds the machine fields among options.
func customOption(b []byte) []byte {
	for len(b) >= 4 {
		code, n := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
		if code == optEnd || 4+n > len(b) {
			return nil
		}
		if code == optCustom && n >= 4 && binary.LittleEndian.Uint32(b[4:]) == enterpriseNumber {
			return b[8 : 4+n]
		}
		b = b[min(4+padded(n), len(b)):]
	}
	return nil
}

// packet reads an enhanced packet block. It reports whether o is complete.
func (r *Reader) packet(b []byte, o *Observation) (bool, error) {
	if len(b) < 32 {
		return false, errMeta
	}
	size := int(binary.LittleEndian.Uint32(b[20:]))
	if size < 0 || padded(size) > len(b)-32 {
		return false, fmt.Errorf("packet of %d bytes in a block of %d", size, len(b))
	}
	r.number++
	fields := customOption(b[28+padded(size) : len(b)-4])
	if fields == nil {
		r.pass()
		return false, nil // shown to people only
	}
	payload, ok := tcpPayload(b[28 : 28+size])
	if len(fields) < 2 || fields[0] != metaVersion || !ok {
		r.pass()
		return false, errMeta
	}
	part, fields := fields[1], fields[2:]
	if part&partNumbered != 0 && len(fields) >= 8 {
		r.place(binary.LittleEndian.Uint64(fields))
		fields = fields[8:]
	}
	if r.pass() {
		return false, nil
	}
	if part&partFirst != 0 {
		r.at, r.first = packetInstant(b), r.number
		if r.open {
			r.open = false
			r.damage(errMeta)
		}
		if part&partMore == 0 { // nearly always
			return r.observation(o, payload, fields)
		}
		r.open = true
		r.payload, r.meta = r.payload[:0], r.meta[:0]
	}
	if !r.open {
		return false, errMeta
	}
	r.payload, r.meta = append(r.payload, payload...), append(r.meta, fields...)
	if len(r.payload) > wire.MaxFrameSize+4 || len(r.meta) > 2*wire.MaxFrameSize {
		return false, errMeta
	}
	if part&partMore != 0 {
		return false, nil
	}
	r.open = false
	return r.observation(o, r.payload, r.meta)
}

// pass takes back the count of a block that was counted before.
func (r *Reader) pass() bool {
	if r.passed {
		r.number--
	}
	return r.passed
}

// packetInstant is the timestamp of an enhanced packet block.
func packetInstant(b []byte) int64 {
	return int64(uint64(binary.LittleEndian.Uint32(b[12:]))<<32 | uint64(binary.LittleEndian.Uint32(b[16:])))
}

// tcpPayload is what a synthetic packet carries.
func tcpPayload(b []byte) ([]byte, bool) {
	switch {
	case len(b) >= 40 && b[0] == 0x45:
		return b[40:], true
	case len(b) >= 60 && b[0]>>4 == 6:
		return b[60:], true
	}
	return nil, false
}

// observation makes an observation of payload and machine fields.
func (r *Reader) observation(o *Observation, payload, fields []byte) (bool, error) {
	f := metaReader{b: fields}
	m := f.head()
	conn := r.last
	if conn == nil || conn.ID != m.conn {
		conn = r.conns[m.conn]
	}
	isNew := false
	if m.flags&metaConn != 0 {
		described := f.conn(m.conn, m.flags&metaMidway != 0)
		if conn == nil {
			conn, isNew = described, true
		}
	}
	if conn == nil || f.bad {
		return false, errMeta
	}
	*o = Observation{
		Kind: m.kind, Conn: conn, Number: r.first, Dir: m.dir,
		At: wire.Stamp{Seen: r.at, Forwarded: r.at + m.forwarded}, Reset: m.flags&metaReset != 0,
	}
	switch m.kind {
	case KindFrame:
		r.frame(o, &m, &f, payload)
	case KindGap:
		r.gap = Gap{Reason: string(f.blob()), Bytes: f.varint(), Frames: f.varint(), Fatal: m.flags&metaFatal != 0}
		o.Gap = &r.gap
	case KindOpen, KindClose:
	}
	if f.bad {
		return false, errMeta
	}
	r.last = conn
	if isNew || r.broken {
		r.enqueue(o, isNew)
	}
	if m.kind == KindClose {
		delete(r.conns, conn.ID)
		r.last = nil
	}
	return true, nil
}

func (r *Reader) frame(o *Observation, m *meta, f *metaReader, payload []byte) {
	o.Seq = f.uvarint()
	o.Frame.Size = f.length(wire.MaxFrameSize)
	kept := f.length(o.Frame.Size)
	o.Frame.Cut = m.flags&metaCut != 0
	f.varint() // correlation id: for others
	switch {
	case kept < o.Frame.Size && !o.Frame.Cut:
		f.bad = true
		return
	case len(payload) == 0 && o.Frame.Size == 0: // not delivered
	case len(payload) != 4+kept:
		f.bad = true
		return
	default:
		o.Frame.Bytes = payload[4:]
	}
	if m.flags&metaWithheld != 0 {
		r.withheld = f.withheld(r.withheld, kept)
		o.Withheld = r.withheld
	}
	if m.flags&metaFault == 0 {
		return
	}
	r.fault = Fault{Rule: string(f.blob()), Delivered: m.flags&metaDelivered != 0}
	if m.flags&metaSent != 0 {
		r.fault.Sent = f.blob()
	}
	if m.flags&metaSentWithheld != 0 {
		r.hidden = f.withheld(r.hidden, len(r.fault.Sent))
		r.fault.Withheld = r.hidden
	}
	o.Fault = &r.fault
}
