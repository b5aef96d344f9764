package recordings

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

func TestStored_AnyDecoderReadsWhatWasStoredAndSeesWhatWasChanged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 255, 64 << 10, maxZstdBlock, maxZstdBlock + 1, 3*maxZstdBlock + 7} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(rng.Uint32())
		}
		frame := appendStored([]byte("before"), content)[6:]
		got, err := frameDecoder().DecodeAll(frame, nil)
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%d bytes: %d are read, %v", size, len(got), err)
		}
		frame[len(frame)-5] ^= 1 // the last byte of the content, or the header of the empty block
		if _, err := frameDecoder().DecodeAll(frame, nil); err == nil {
			t.Errorf("%d bytes: a changed frame is read", size)
		}
	}
}

// zstdFrame is a frame of a recording.
type zstdFrame struct {
	size    int
	content []byte
}

func (f zstdFrame) stored() bool    { return f.size > len(f.content) }
func (f zstdFrame) described() bool { return bytes.Contains(f.content, []byte("Fetch v")) }

func zstdFramesOf(t *testing.T, recording []byte) (list []zstdFrame) {
	t.Helper()
	z := newZstdFrames(bytes.NewReader(recording))
	for {
		n, skippable, err := z.frame()
		if n == 0 {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if !skippable {
			content, err := frameDecoder().DecodeAll(z.buf[:n], nil)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, zstdFrame{n, content})
		}
		z.use(n)
	}
}

// atRest are frames of a real quorum, at times that every sets.
func atRest(t *testing.T, n int, from int64, every time.Duration) (list []Observation) {
	t.Helper()
	in, err := OpenAny(nil, quorumCapture(quorums[0].name))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	all, err := readAll(in)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; len(list) < n; i++ {
		o := all[i%len(all)]
		if o.Kind != KindFrame {
			continue
		}
		o.At.Seen = from + int64(len(list))*int64(every)
		o.At.Forwarded = o.At.Seen + 1000
		list = append(list, o)
	}
	return list
}

// TestWriter_InHasteChunksAreStoredWithoutComments: while chunks fill in no time, and no longer.
func TestWriter_InHasteChunksAreStoredWithoutComments(t *testing.T) {
	const haste = 10 * time.Millisecond
	fast := atRest(t, 3000, 1e9, time.Microsecond)
	slow := atRest(t, 3000, 2e9, time.Millisecond)
	record := func(haste time.Duration) (frames []zstdFrame, got []Observation) {
		var out bytes.Buffer
		w, err := NewWriter(&out, Options{Haste: haste})
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]Observation{fast, slow} {
			for i := range list {
				if err := w.Write(&list[i]); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Tick(list[len(list)-1].At.Seen + 1e9); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := wiresharkReads(out.Bytes()); err != nil {
			t.Error(err)
		}
		r, err := NewReader(bytes.NewReader(out.Bytes()), "test")
		if err != nil {
			t.Fatal(err)
		}
		if got, err = readAll(r); err != nil || len(r.Damage()) > 0 {
			t.Fatal(err, r.Damage())
		}
		return zstdFramesOf(t, out.Bytes()), got
	}
	count := func(frames []zstdFrame) (stored, silent, described int) {
		for _, f := range frames[1 : len(frames)-1] { // between header and trailer
			switch {
			case f.stored():
				stored++
				if !f.described() {
					silent++
				}
			case f.described():
				described++
			}
		}
		return stored, silent, described
	}
	usual, want := record(0)
	hasty, got := record(haste)
	if stored, _, described := count(usual); stored > 0 || described != len(usual)-2 {
		t.Errorf("without haste %d of %d chunks are stored, %d described", stored, len(usual)-2, described)
	}
	// The first chunk was described before it was known how fast it fills; the one that a pause ends is compressed.
	stored, silent, described := count(hasty)
	if stored < 5 || silent != stored-1 || stored+described+1 != len(hasty)-2 {
		t.Errorf("in haste %d of %d chunks are stored, %d of them not described; %d others are described", stored, len(hasty)-2, silent, described)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("what is read back differs: %d observations and %d", len(got), len(want))
	}
}

// TestWriter_InHasteLargeFramesAreCompressed: they come in chunks of few blocks.
func TestWriter_InHasteLargeFramesAreCompressed(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{Haste: time.Second, IncludeRecords: true})
	if err != nil {
		t.Fatal(err)
	}
	o := atRest(t, 1, 1e9, 0)[0]
	o.Frame.Bytes = append(o.Frame.Bytes, make([]byte, 30<<10)...)
	o.Frame.Size = len(o.Frame.Bytes)
	for range 50 {
		if err := w.Write(&o); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 50<<10 {
		t.Errorf("50 frames of 30 KiB of zeros take %d bytes", out.Len())
	}
}

// TestWriter_InHasteASlowDiskGetsCompressedChunks: what is behind at the disk would only become more.
func TestWriter_InHasteASlowDiskGetsCompressedChunks(t *testing.T) {
	list := atRest(t, 4000, 1e9, time.Microsecond)
	disk := &gatedDisk{smallDisk: smallDisk{room: 1 << 30}, gate: make(chan struct{})}
	t.Chdir(t.TempDir())
	breaths := 0 // the writer's goroutine alone counts, until it has ended
	w := writerOn(t, disk, Options{Background: true, Backlog: 3200 << 10, Haste: time.Second, Breath: func() { breaths++ }})
	for i := range list {
		if err := w.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	close(disk.gate)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	frames := zstdFramesOf(t, disk.bytes)
	stored := 0
	for _, f := range frames[1 : len(frames)-1] {
		if f.stored() {
			stored++
		}
	}
	// An eighth of the backlog is six chunks.
	if total := len(frames) - 2; total < 15 || stored < 3 || stored > 8 || breaths < total {
		t.Errorf("%d of %d chunks are stored, %d breaths", stored, total, breaths)
	}
}
