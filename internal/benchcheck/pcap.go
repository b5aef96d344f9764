package main

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// pcapWriter writes observations as a classic capture of the loopback interface: one packet for each frame, the
// handshake and the end of each connection.
type pcapWriter struct {
	out     *bufio.Writer
	seq     map[uint64]*[2]uint32 // of each connection, by direction
	packets int
}

func newPcapWriter(out io.Writer) (*pcapWriter, error) {
	w := &pcapWriter{out: bufio.NewWriterSize(out, 1<<20), seq: map[uint64]*[2]uint32{}}
	head := []byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0}
	_, err := w.out.Write(head)
	return w, err
}

const (
	flagFIN = 1
	flagSYN = 2
	flagPSH = 8
	flagACK = 16
)

func (w *pcapWriter) write(o *recordings.Observation) error {
	switch o.Kind {
	case recordings.KindOpen:
		w.seq[o.Conn.ID] = &[2]uint32{1000, 2000}
		if err := w.packet(o, wire.Request, flagSYN, nil); err != nil {
			return err
		}
		return w.packet(o, wire.Response, flagSYN|flagACK, nil)
	case recordings.KindFrame:
		payload := binary.BigEndian.AppendUint32(nil, uint32(len(o.Frame.Bytes)))
		return w.packet(o, o.Dir, flagPSH|flagACK, append(payload, o.Frame.Bytes...))
	case recordings.KindClose:
		if err := w.packet(o, wire.Request, flagFIN|flagACK, nil); err != nil {
			return err
		}
		err := w.packet(o, wire.Response, flagFIN|flagACK, nil)
		delete(w.seq, o.Conn.ID)
		return err
	case recordings.KindGap:
	}
	return nil
}

// segment is the most that one packet carries on the loopback interface.
const segment = 65483

func (w *pcapWriter) packet(o *recordings.Observation, dir wire.Direction, flags byte, payload []byte) error {
	for first := true; first || len(payload) > 0; first = false {
		n := min(len(payload), segment)
		if err := w.segment(o, dir, flags, payload[:n]); err != nil {
			return err
		}
		payload = payload[n:]
	}
	return nil
}

func (w *pcapWriter) segment(o *recordings.Observation, dir wire.Direction, flags byte, payload []byte) error {
	from, to := o.Conn.Client, o.Conn.Server
	if dir == wire.Response {
		from, to = to, from
	}
	seq := w.seq[o.Conn.ID]
	if seq == nil {
		seq = &[2]uint32{1000, 2000}
		w.seq[o.Conn.ID] = seq
	}
	size := 14 + 20 + 20 + len(payload)
	b := make([]byte, 0, 16+54)
	b = binary.LittleEndian.AppendUint32(b, uint32(o.At.Seen/1e9))
	b = binary.LittleEndian.AppendUint32(b, uint32(o.At.Seen%1e9/1000))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = append(b, make([]byte, 12)...)
	b = append(b, 8, 0, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(size-14))
	b = append(b, 0, 0, 0x40, 0, 64, 6, 0, 0)
	a, z := from.Addr().As4(), to.Addr().As4()
	b = append(append(b, a[:]...), z[:]...)
	b = binary.BigEndian.AppendUint16(b, from.Port())
	b = binary.BigEndian.AppendUint16(b, to.Port())
	b = binary.BigEndian.AppendUint32(b, seq[dir])
	ack := seq[1-dir]
	if flags&flagACK == 0 {
		ack = 0
	}
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0)
	seq[dir] += uint32(len(payload))
	if flags&(flagSYN|flagFIN) != 0 {
		seq[dir]++
	}
	w.packets++
	if _, err := w.out.Write(b); err != nil {
		return err
	}
	_, err := w.out.Write(payload)
	return err
}
