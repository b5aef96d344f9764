package wire

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// dump prints a value with all its fields, for comparison.
func dump(v any) string { return fmt.Sprintf("%+v", v) }

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 draws one")

// random is a source of randomness whose seed the test prints, and takes back with -seed.
func random(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test -run '^%s$' -seed %d", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// fill sets all fields of a message at random, except versions and unknown tags; tags adds those too.
func fill(r *rand.Rand, v reflect.Value, tags bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), tags)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[kmsg.Tags]() {
			if tags && r.IntN(4) == 0 {
				set := v.Addr().Interface().(*kmsg.Tags)
				for range 1 + r.IntN(3) {
					set.Set(100+r.Uint32N(1000), randomBytes(r, 12))
				}
			}
			return
		}
		if d, ok := v.Addr().Interface().(interface{ Default() }); ok {
			d.Default()
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Version" {
				fill(r, v.Field(i), tags)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(randomBytes(r, 200))
			return
		}
		n := r.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i), tags)
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(r.Uint64() & 0xff)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%x", randomBytes(r, 80)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> (64 - v.Type().Bits()))
		if r.IntN(3) > 0 {
			v.SetInt(int64(r.IntN(100)) - 3)
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()))
	case reflect.Float64:
		v.SetFloat(r.Float64())
	default:
		panic("fill: " + v.Kind().String())
	}
}

func randomBytes(r *rand.Rand, limit int) []byte {
	b := make([]byte, r.IntN(limit))
	for i := range b {
		b[i] = byte(r.Uint64())
	}
	return b
}

// mutate changes a few bytes, cuts, or lengthens.
func mutate(r *rand.Rand, b []byte) []byte {
	b = append([]byte(nil), b...)
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			return b
		}
		switch r.IntN(5) {
		case 0:
			b = b[:r.IntN(len(b)+1)]
		case 1:
			b = append(b, randomBytes(r, 8)...)
		case 2:
			b[r.IntN(len(b))] = byte(r.IntN(4))
		default:
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	}
	return b
}

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of what people read; -update writes it anew.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("%s:%d differs (go test -update writes it anew)\ngot  %q\nwant %q", path, i+1,
				gotLines[min(i, len(gotLines)-1)], wantLines[min(i, len(wantLines)-1)])
		}
	}
}
