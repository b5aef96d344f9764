package storage_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/understudy-kafka/understudy/kraft/storage"
)

// FuzzOpen gives any bytes for the segment, the snapshot and the small files. Open may refuse; what it opens must go on, and open again
// with the same content.
func FuzzOpen(f *testing.F) {
	good := memory()
	must(f, filled(f, good, storage.Options{}).Close())
	files := good.Files()
	f.Add(files[firstLog], []byte("0\n1\n1 0\n"), []byte(`{"leaderId":1,"leaderEpoch":5,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`), uint8(0))
	f.Add(files[firstLog][:100], []byte("0\n0\n"), []byte{}, uint8(1))
	f.Add(append(data(0, 1, 1, 5000), data(1, 1, 2, 5000)...), []byte{}, []byte(`{"data_version":0}`), uint8(2))
	f.Fuzz(func(t *testing.T, log, epochs, state []byte, which uint8) {
		fsys := memory()
		name := firstLog
		if which&1 != 0 {
			name = logDir + "/00000000000000000005.log"
			fsys.Put(logDir+"/00000000000000000005-0000000001.checkpoint", log)
		}
		fsys.Put(name, log)
		if which&2 != 0 {
			fsys.Put(logDir+"/leader-epoch-checkpoint", epochs)
		}
		if len(state) > 0 {
			fsys.Put(logDir+"/quorum-state", state)
		}
		l, err := storage.Open(fsys, logDir, storage.Options{CutDamaged: which&4 != 0})
		if err != nil {
			return
		}
		last, _ := l.Epochs.Last()
		must(t, l.Append(data(l.End, 2, last+1, 10)), l.Flush())
		want := l.View().String()
		if _, err := l.Read(nil, l.Start, l.End, 1<<20); err != nil {
			t.Fatal(err)
		}
		if again := open(t, fsys.Crash(nil), storage.Options{}); again.View().String() != want {
			t.Errorf("%v, want %s", again.View(), want)
		}
	})
}

// FuzzProperties: what is read is read again from a file that escapes every character of it, and is no longer than the text.
func FuzzProperties(f *testing.F) {
	f.Add("a=1\\\n b\n#c\nd\\u0041=2")
	f.Add("key with\\ space : value\n\n!no\nempty")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := storage.ParseProperties(text)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		var escaped strings.Builder
		size := 0
		for key, value := range got {
			escaped.WriteString(escape(key) + "=" + escape(value) + "\n")
			size += len(key) + len(value)
		}
		if size > 3*len(text) {
			t.Fatalf("%d bytes of %d", size, len(text))
		}
		if again, err := storage.ParseProperties(escaped.String()); err != nil || !maps.Equal(got, again) {
			t.Fatalf("%q is read as %q, and from %q as %q, %v", text, got, escaped.String(), again, err)
		}
	})
}

// escape writes each character as Java would let one write it.
func escape(text string) string {
	var b strings.Builder
	for _, c := range text {
		if c > 0xffff {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "\\u%04x", c)
		}
	}
	return b.String()
}
