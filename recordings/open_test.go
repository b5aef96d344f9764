package recordings

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// zstdWhole compresses as the zstd command does: everything in one frame, its size not stated.
func zstdWhole(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestOpenAny_KnowsFilesByContent(t *testing.T) {
	k := newTalk().open().exchanges(20, testRand(t)).close()
	capture := k.pcap(t, k.packets)
	base := tempBase(t)
	s := newStory(1).votes(30)
	big := s.frame(1, responseFrame(52, 2, 9, make([]byte, 300_000)))
	big.Frame.Bytes[200_000] = 1
	writeAll(t, base, Options{IncludeRecords: true, ChunkSize: 2000}, s.list)
	recording, err := os.ReadFile(segmentName(base, 1))
	if err != nil {
		t.Fatal(err)
	}
	plain := inflated(t, segmentName(base, 1))
	want, _ := mustRead(t, base)
	for _, tt := range []struct {
		name   string
		file   []byte
		frames int
	}{
		{"pcap", capture, 40},
		{"pcap in gzip", gzipped(t, capture), 40},
		{"pcap in zstd", zstdWhole(t, capture), 40},
		{"recording", recording, 61},
		{"recording, decompressed", plain, 61},
		{"recording, compressed again as one frame", zstdWhole(t, plain), 61},
		{"recording in gzip", gzipped(t, plain), 61},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, tt.file, 0o600); err != nil {
				t.Fatal(err)
			}
			for name, open := range map[string]func() (*Input, error){
				"file":         func() (*Input, error) { return OpenAny(nil, path) },
				"stdin":        func() (*Input, error) { return OpenAny(bytes.NewReader(tt.file), "-") },
				"slow stdin":   func() (*Input, error) { return OpenAny(iotest.HalfReader(bytes.NewReader(tt.file)), "-") },
				"slower stdin": func() (*Input, error) { return OpenAny(iotest.OneByteReader(bytes.NewReader(tt.file)), "-") },
			} {
				in, err := open()
				if err != nil {
					t.Fatal(err)
				}
				list, err := readAll(in)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(sortOut(list).frames); n != tt.frames || len(in.Damage()) != 0 {
					t.Errorf("%s: %d frames, want %d, damage %v", name, n, tt.frames, in.Damage())
				}
				if tt.frames == 61 && !same(list, want) {
					t.Errorf("%s: other observations", name)
				}
				if read, total := in.Progress(); name == "file" && (read != total || total != int64(len(tt.file))) {
					t.Errorf("progress %d of %d, want %d", read, total, len(tt.file))
				}
				if err := in.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestOpenAny_BadFilesAreNamed(t *testing.T) {
	dir := t.TempDir()
	k := newTalk().open()
	for _, tt := range []struct {
		name string
		file []byte
		want error
		text string
	}{
		{"empty", nil, ErrNotCapture, "neither a recording nor a capture"},
		{"short", []byte{0x0a, 0x0d}, ErrNotCapture, "neither"},
		{"text", []byte("hello, world, this is no capture"), ErrNotCapture, "neither"},
		{"gzip of text", gzipped(t, []byte("hello, world, this is no capture")), ErrNotCapture, "neither"},
		{"zstd of text", zstdWhole(t, []byte("hello, world, this is no capture")), ErrNotCapture, "neither"},
		{"cut gzip", gzipped(t, k.pcap(t, k.packets))[:15], nil, ""},
		{"damaged gzip", []byte{0x1f, 0x8b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, nil, "gzip"},
		{"damaged zstd", append(slices.Clone(zstdMagic), bytes.Repeat([]byte{0xff}, 50)...), nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(tt.name, " ", "-"))
			if err := os.WriteFile(path, tt.file, 0o600); err != nil {
				t.Fatal(err)
			}
			in, err := OpenAny(nil, path)
			if err == nil {
				_, err = readAll(in)
				if cerr := in.Close(); cerr != nil {
					t.Error(cerr)
				}
			}
			if err == nil || !strings.Contains(err.Error(), path) || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := OpenAny(nil, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none-000001") {
		t.Errorf("no file: %v", err)
	}
	if _, err := OpenAny(nil); err == nil {
		t.Error("no name at all is no error")
	}
}

func TestOpen_WantsSegmentsOfOneRecording(t *testing.T) {
	a, b := tempBase(t), tempBase(t)
	writeAll(t, a, Options{ChunkSize: 500, SegmentSize: 600}, newStory(1).votes(20).list)
	writeAll(t, b, Options{}, newStory(1).votes(20).list)
	if _, err := Open(a, b); !errors.Is(err, ErrNotRecording) {
		t.Errorf("two recordings: %v", err)
	}
	names := segmentsOf(a)
	whole, _ := mustRead(t, a)
	got, r := mustRead(t, names...)
	if !same(got, whole) || len(r.Damage()) > 0 || r.Info().Segment != len(names) {
		t.Errorf("segments by name: %d observations of %d, damage %v", len(got), len(whole), r.Damage())
	}
}

// failingReader returns an error of the disk after some bytes.
type failingReader struct {
	in  io.Reader
	err error
}

func (f *failingReader) Read(b []byte) (int, error) {
	n, err := f.in.Read(b)
	if err != nil {
		err = f.err
	}
	return n, err
}

func TestReader_DiskErrorIsNoEnd(t *testing.T) {
	base := tempBase(t)
	writeAll(t, base, Options{ChunkSize: 500}, newStory(1).votes(20).list)
	b, err := os.ReadFile(segmentName(base, 1))
	if err != nil {
		t.Fatal(err)
	}
	k := newTalk().open().exchanges(5, testRand(t))
	bad := errors.New("disk on fire")
	for name, file := range map[string][]byte{"recording": b[:len(b)*2/3], "capture": k.pcap(t, k.packets)[:900]} {
		in, err := OpenAny(&failingReader{bytes.NewReader(file), bad}, "-")
		if err != nil {
			t.Fatal(err)
		}
		list, err := readAll(in)
		if !errors.Is(err, bad) || !strings.Contains(err.Error(), "stdin") || !strings.Contains(err.Error(), "offset") {
			t.Errorf("%s: %v", name, err)
		}
		if len(list) == 0 {
			t.Errorf("%s: what came before the error is not there", name)
		}
	}
}
