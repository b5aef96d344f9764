package recordings

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/wire"
)

// benchTraffic is a quorum at work: the frames of a real capture, over and over, and in the same proportions.
func benchTraffic(b *testing.B) []Observation {
	b.Helper()
	in, err := OpenAny(nil, quorumCapture(quorums[0].name))
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	list, err := readAll(in)
	if err != nil {
		b.Fatal(err)
	}
	frames := list[:0]
	for _, o := range list {
		if o.Kind == KindFrame {
			frames = append(frames, o)
		}
	}
	return frames
}

func BenchmarkWriter(b *testing.B) {
	frames := benchTraffic(b)
	for _, tt := range []struct {
		name string
		opts Options
	}{
		{"redacted", Options{}},
		{"everything", Options{IncludeRecords: true}},
		{"pipe", Options{Pipe: true}},
		{"redacted, caller's part of background", Options{Background: true, Backlog: 1 << 30}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			w, err := NewWriter(io.Discard, tt.opts)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			at, begun := int64(0), cpuTime(b)
			for i := range b.N {
				o := frames[i%len(frames)]
				at += 50_000
				o.At = wire.Stamp{Seen: at, Forwarded: at + 9000}
				if err := w.Write(&o); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			perFrame(b, begun)
			if n := w.Stats().Written.Load(); n != int64(b.N) {
				b.Fatalf("%d frames of %d were written", n, b.N)
			}
			b.ReportMetric(float64(w.Stats().Bytes.Load())/float64(b.N), "B-stored/frame")
		})
	}
}

// BenchmarkReader reads a recording that lies in memory.
func BenchmarkReader(b *testing.B) {
	frames := benchTraffic(b)
	for _, tt := range []struct {
		name string
		opts Options
	}{{"zstd", Options{}}, {"pipe", Options{Pipe: true}}} {
		b.Run(tt.name, func(b *testing.B) {
			var file bytes.Buffer
			w, err := NewWriter(&file, tt.opts)
			if err != nil {
				b.Fatal(err)
			}
			const size = 200_000
			for i := range size {
				o := frames[i%len(frames)]
				o.At.Seen = int64(i) * 50_000
				if err := w.Write(&o); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			begun := cpuTime(b)
			for n := 0; n < b.N; {
				r, err := NewReader(bytes.NewReader(file.Bytes()), "bench")
				if err != nil {
					b.Fatal(err)
				}
				n += count(b, r, b.N-n)
			}
			perFrame(b, begun)
		})
	}
}

// cpuTime is what this process has used of the processors. On a machine that is shared it tells more than the clock.
func cpuTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// perFrame reports the processor time of each frame since begun.
func perFrame(b *testing.B, begun time.Duration) {
	used := cpuTime(b) - begun
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/frame")
	b.ReportMetric(float64(b.N)/used.Seconds()/1e6, "M-frames/cpu-s")
}

func count(b *testing.B, src Source, most int) (n int) {
	var o Observation
	for n < most {
		if err := src.Next(&o); errors.Is(err, io.EOF) {
			return n
		} else if err != nil {
			b.Fatal(err)
		}
		if o.Kind == KindFrame {
			n++
		}
	}
	return n
}

// BenchmarkCapture imports a capture that lies in memory: 16 connections, in order.
func BenchmarkCapture(b *testing.B) {
	file := pcapHead(binary.LittleEndian, magicMicros, linkEthernet)
	talks := make([]*talk, 16)
	for i := range talks {
		k := newTalk().open()
		for id := range int32(500) {
			k.send(wire.Request, requestFrame(wire.KeyFetch, 17, id, make([]byte, 100)), 1400)
			k.send(wire.Response, responseFrame(wire.KeyFetch, 17, id, make([]byte, 70)), 1400)
		}
		talks[i] = k
	}
	for p := range talks[0].packets {
		for i, k := range talks {
			ip := k.ip(b, k.packets[p])
			port := ip[20+2*int(k.packets[p].dir):]
			binary.BigEndian.PutUint16(port, uint16(41_000+i))
			file = pcapRecord(binary.LittleEndian, file, k.packets[p].at.Add(time.Duration(i)), 1000, ethernet(ip), 14+len(ip))
		}
	}
	b.SetBytes(int64(len(file)) / (16 * 1000))
	b.ReportAllocs()
	b.ResetTimer()
	begun := cpuTime(b)
	for n := 0; n < b.N; {
		c, err := NewCapture(bytes.NewReader(file), "bench")
		if err != nil {
			b.Fatal(err)
		}
		n += count(b, c, b.N-n)
	}
	perFrame(b, begun)
}
