package recordings

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/understudy-kafka/understudy/wire"
)

// wiresharkReads reads zstd frames as Wireshark does: before each frame it looks at the first bytes of the buffer that
// the frame begins in. It returns the content.
func wiresharkReads(file []byte) ([]byte, error) {
	z := newZstdFrames(bytes.NewReader(file))
	var content []byte
	for {
		at := z.offset
		n, skippable, err := z.frame()
		if n == 0 {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
		if start := at - at%wiresharkBuffer; !bytes.HasPrefix(file[start:], zstdMagic) {
			return nil, fmt.Errorf("a frame begins at %d in a buffer that does not begin with a frame's magic", at)
		}
		if !skippable {
			if content, err = frameDecoder().DecodeAll(z.buf[:n], content); err != nil {
				return nil, err
			}
		}
		z.use(n)
	}
}

// zstdOf returns a zstd frame of at least the given size in all, and its content: the smallest there is, since not each
// size can be had.
func zstdOf(t *testing.T, size int) (frame, content []byte) {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	r := rand.NewChaCha8([32]byte{byte(size)})
	for n := max(0, size-64); n < size+64; n++ { // what cannot be compressed grows by the headers
		content = make([]byte, n)
		_, _ = r.Read(content)
		if frame = enc.EncodeAll(content, nil); len(frame) >= size {
			return frame, content
		}
	}
	t.Fatalf("no zstd frame has %d bytes", size)
	return nil, nil
}

// TestPlace_EveryFrameCanBeReadByWireshark tries frames of each critical size at each critical place.
func TestPlace_EveryFrameCanBeReadByWireshark(t *testing.T) {
	next, nextContent := zstdOf(t, 40)
	var sizes []int
	for _, around := range []int{wiresharkBuffer, 2 * wiresharkBuffer} {
		for d := -30; d <= 30; d++ {
			sizes = append(sizes, around+d)
		}
	}
	for _, size := range append(sizes, 20, 1000, 65536, 200000, 400000) {
		frame, content := zstdOf(t, size)
		for _, at := range []int{0, 9, 100, 50000, wiresharkBuffer - 48, wiresharkBuffer - 26, wiresharkBuffer - 9, wiresharkBuffer - 8} {
			var file []byte
			if at > 0 {
				file = append(file, emptyZstd...)
				if rest := at - len(emptyZstd); rest >= skippableHead {
					file = appendFilling(file, rest)
				}
			}
			before := len(file)
			file = append(file, place(nil, int64(before), frame)...)
			file = append(file, place(nil, int64(len(file)), next)...)
			got, err := wiresharkReads(file)
			if err != nil {
				t.Fatalf("a frame of %d bytes at %d: %v", size, before, err)
			}
			if want := append(bytes.Clone(content), nextContent...); !bytes.Equal(got, want) {
				t.Fatalf("a frame of %d bytes at %d: the content differs", size, before)
			}
		}
	}
}

func TestPlace_RandomFilesCanBeReadByWireshark(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	frames := map[int][2][]byte{}
	for _, size := range []int{20, 100, 3000, 20000, 66000, 131000, 140000, 300000} {
		frame, content := zstdOf(t, size)
		frames[size] = [2][]byte{frame, content}
	}
	sizes := []int{20, 20, 100, 100, 3000, 3000, 20000, 20000, 66000, 131000, 140000, 300000}
	for range 50 {
		var file, want []byte
		for range 60 {
			f := frames[sizes[r.IntN(len(sizes))]]
			file = append(file, place(nil, int64(len(file)), f[0])...)
			want = append(want, f[1]...)
		}
		if got, err := wiresharkReads(file); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestWiresharkReads_BrokenTwinIsSeen(t *testing.T) {
	frame, _ := zstdOf(t, 20000)
	var file []byte
	for range 10 { // as they come, without place
		file = append(file, frame...)
	}
	if _, err := wiresharkReads(file); err == nil {
		t.Error("frames that Wireshark cannot read passed")
	}
}

// TestTshark_ReadsKafkaRecordingsBeyondItsBuffer writes recordings of some megabytes, in small and large chunks.
func TestTshark_ReadsKafkaRecordingsBeyondItsBuffer(t *testing.T) {
	skipWithoutTshark(t)
	r := rand.New(rand.NewChaCha8([32]byte{1}))
	s := newStory(1)
	for i := range int32(300) {
		size := r.IntN(8000)
		if i%40 == 39 {
			size = 150_000 + r.IntN(300_000) // incompressible, so the chunk is larger than the buffer
		}
		body := make([]byte, size)
		for j := range body {
			body[j] = byte(r.Uint32())
		}
		s.frame(wire.Request, requestFrame(wire.KeyFetch, 11, i, make([]byte, 35)))
		s.frame(wire.Response, responseFrame(wire.KeyFetch, 11, i, body))
	}
	for _, chunk := range []int{2000, 64 << 10, 500_000} {
		base := tempBase(t)
		writeAll(t, base, Options{IncludeRecords: true, ChunkSize: chunk}, s.list)
		name := segmentName(base, 1)
		if info, err := os.Stat(name); err != nil || info.Size() < 10*wiresharkBuffer {
			t.Fatalf("want a file of many buffers: %v, %v", info, err)
		}
		lines := tshark(t, "-r", name, "-Y", "kafka", "-T", "fields", "-e", "kafka.len")
		if len(lines) != 600 {
			t.Errorf("chunks of %d: tshark reads %d messages, want 600", chunk, len(lines))
		}
	}
}
