package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestReadFrame_TakesOneFrame(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789"), 10_000)
	for _, x := range []struct {
		name   string
		stream []byte
		limit  int
		want   []byte
		err    error
	}{
		{"empty", []byte{0, 0, 0, 0, 9}, 10, []byte{}, nil},
		{"small", AppendFrame(nil, []byte("abc")), 10, []byte("abc"), nil},
		{"as large as allowed", AppendFrame(nil, large), len(large), large, nil},
		{"larger", AppendFrame(nil, large), len(large) - 1, nil, ErrMalformed},
		{"negative", []byte{0xff, 0xff, 0xff, 0xff}, 10, nil, ErrMalformed},
		{"nothing", nil, 10, nil, io.EOF},
		{"half a size", []byte{0, 0}, 10, nil, io.ErrUnexpectedEOF},
		{"no byte of it", []byte{0, 0, 0, 3}, 10, nil, io.ErrUnexpectedEOF},
		{"cut", AppendFrame(nil, large)[:50_000], len(large), nil, io.ErrUnexpectedEOF},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, reader := range []io.Reader{bytes.NewReader(x.stream), iotest.OneByteReader(bytes.NewReader(x.stream)), iotest.DataErrReader(bytes.NewReader(x.stream))} {
				for _, dst := range [][]byte{nil, make([]byte, 5, 100)} {
					frame, err := ReadFrame(reader, dst, x.limit)
					if !errors.Is(err, x.err) || !bytes.Equal(frame, x.want) || err == nil && frame == nil && x.want != nil && len(x.want) > 0 {
						t.Errorf("%d bytes, %v; want %d, %v", len(frame), err, len(x.want), x.err)
					}
					if s, ok := reader.(io.Seeker); !ok {
						break
					} else if _, err := s.Seek(0, io.SeekStart); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// TestReadFrame_BelievesNoSize has a frame claim much and bring little.
func TestReadFrame_BelievesNoSize(t *testing.T) {
	claims := append([]byte{6, 0, 0, 0}, make([]byte, 100)...)
	used := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = ReadFrame(bytes.NewReader(claims), nil, MaxFrameSize)
		}
	}).AllocedBytesPerOp()
	if used > 16<<10 {
		t.Errorf("%d bytes for a frame of which 100 came", used)
	}
}

func TestReadFrame_UsesTheStorageThatItIsGiven(t *testing.T) {
	dst := make([]byte, 0, 64)
	frame, err := ReadFrame(bytes.NewReader(AppendFrame(nil, []byte("abc"))), dst, 10)
	if err != nil || &frame[0] != &dst[:1][0] {
		t.Errorf("other storage, %v", err)
	}
}
