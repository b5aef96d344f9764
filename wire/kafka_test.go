package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var kafkaLibs = flag.String("kafka-libs", "", "directory with Kafka's jars: put new bodies through Kafka's own codec (with -update: keep them)")

// randomBody encodes random content along a schema, as Kafka would: the naive twin of a walk.
func (s *schema) randomBody(r *rand.Rand, version int16) []byte {
	return randomStruct(r, nil, s.fields, version, s.flexible.has(version))
}

func randomStruct(r *rand.Rand, dst []byte, fields []field, version int16, flexible bool) []byte {
	var tags [][]byte
	for i := range fields {
		f := &fields[i]
		switch {
		case !f.in.has(version):
		case flexible && f.tagged.has(version):
			content := randomField(r, nil, f, version, flexible)
			if r.IntN(2) == 0 && !bytes.Equal(content, f.appendDefault(nil, version)) {
				tag := appendUvarint(appendUvarint(nil, int(f.tag)), len(content))
				tags = append(tags, append(tag, content...))
			}
		default:
			dst = randomField(r, dst, f, version, flexible)
		}
	}
	if !flexible {
		return dst
	}
	if r.IntN(10) == 0 {
		tags = append(tags, []byte{100, 2, 0xab, 0xcd})
	}
	dst = appendUvarint(dst, len(tags))
	for _, tag := range tags {
		dst = append(dst, tag...)
	}
	return dst
}

func randomField(r *rand.Rand, dst []byte, f *field, version int16, flexible bool) []byte {
	if !f.array {
		return randomElement(r, dst, f, version, flexible)
	}
	n := r.IntN(4)
	if n == 0 && f.null.has(version) && r.IntN(2) == 0 {
		n = -1
	}
	if flexible {
		dst = appendUvarint(dst, n+1)
	} else {
		dst = appendInt32(dst, int32(n))
	}
	for range n {
		dst = randomElement(r, dst, f, version, flexible)
	}
	return dst
}

func randomElement(r *rand.Rand, dst []byte, f *field, version int16, flexible bool) []byte {
	switch f.kind {
	case kindStruct:
		return randomStruct(r, dst, f.fields, version, flexible)
	case kindString, kindBytes, kindRecords:
		content := []byte(fmt.Sprintf("%x", randomBytes(r, 40)))
		n := len(content)
		if f.null.has(version) && r.IntN(4) == 0 {
			n, content = -1, nil
		}
		switch {
		case flexible:
			dst = appendUvarint(dst, n+1)
		case f.kind == kindString:
			dst = appendInt16(dst, int16(n))
		default:
			dst = appendInt32(dst, int32(n))
		}
		return append(dst, content...)
	case kindBool:
		return append(dst, byte(r.IntN(2)))
	case kindFloat64:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(float64(r.IntN(1000))/8))
	default:
		b := make([]byte, fixedSize[f.kind])
		if r.IntN(3) == 0 {
			for i := range b {
				b[i] = byte(r.Uint32())
			}
		} else {
			b[len(b)-1] = byte(r.IntN(100))
		}
		return append(dst, b...)
	}
}

// body is what goes into Kafka's codec, and what came out.
type body struct {
	kind   string
	schema *schema
	ver    int16
	bytes  []byte
	answer string
}

func (b *body) String() string {
	return fmt.Sprintf("%s %d %d %x", b.kind, b.schema.key, b.ver, b.bytes)
}

var schemaKinds = map[string][]schema{"request": requestSchemas, "response": responseSchemas, "control": controlSchemas, "metadata": metadataSchemas}

// drawBodies makes n bodies of each message and version as they should be, and n damaged.
func drawBodies(r *rand.Rand, n int) (all []body) {
	for _, kind := range []string{"request", "response", "control", "metadata"} {
		for i := range schemaKinds[kind] {
			s := &schemaKinds[kind][i]
			for v := s.valid.from; v < s.valid.end; v++ {
				for range n {
					whole := s.randomBody(r, v)
					all = append(all, body{kind: kind, schema: s, ver: v, bytes: whole}, body{kind: kind, schema: s, ver: v, bytes: mutate(r, whole)})
				}
			}
		}
	}
	return all
}

func throughKafka(t *testing.T, all []body) {
	t.Helper()
	var in bytes.Buffer
	for i := range all {
		fmt.Fprintln(&in, &all[i])
	}
	cmd := exec.Command("java", "-cp", *kafkaLibs+"/*", filepath.Join("testdata", "kafka", "Codec.java"))
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(all) {
		t.Fatalf("%d answers to %d bodies", len(lines), len(all))
	}
	for i := range all {
		all[i].answer = lines[i]
	}
}

const kafkaAnswers = "testdata/kafka/codec-4.4.0.txt.zst"

func keepBodies(t *testing.T, all []body) {
	t.Helper()
	var text bytes.Buffer
	for i := range all {
		fmt.Fprintf(&text, "%s\n%s\n", &all[i], all[i].answer)
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kafkaAnswers, w.EncodeAll(text.Bytes(), nil), 0o644); err != nil {
		t.Fatal(err)
	}
}

func keptBodies(t *testing.T) (all []body) {
	t.Helper()
	raw, err := os.ReadFile(kafkaAnswers)
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	lines := bufio.NewScanner(d)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var b body
		var key int16
		var text string
		fields := strings.Split(lines.Text(), " ")
		if _, err := fmt.Sscan(fields[1]+" "+fields[2], &key, &b.ver); err != nil {
			t.Fatal(err)
		}
		b.kind, text = fields[0], fields[3]
		list := schemaKinds[b.kind]
		for i := range list {
			if list[i].key == key {
				b.schema = &list[i]
			}
		}
		if b.bytes, err = hex.DecodeString(text); err != nil || b.schema == nil || !lines.Scan() {
			t.Fatal(lines.Text(), err)
		}
		b.answer = lines.Text()
		all = append(all, b)
	}
	return all
}

// TestKafka_AgreesOnEveryMessage compares with what Kafka 4.4.0's own codec said about bodies of each message and version,
// sound and damaged: what it refuses, what it reads (as JSON), and what it would have written.
func TestKafka_AgreesOnEveryMessage(t *testing.T) {
	var all []body
	if *kafkaLibs != "" {
		n := 20
		if *update {
			n = 3
		}
		all = drawBodies(random(t), n)
		throughKafka(t, all)
		if *update {
			keepBodies(t, all)
		}
	} else {
		all = keptBodies(t)
	}
	refused, differ := 0, 0
	for i := range all {
		b := &all[i]
		found := canonical(b.schema, b.ver, b.bytes)
		refusal := false
		for _, f := range found {
			refusal = refusal || f.Refused
		}
		if theirs := strings.HasPrefix(b.answer, "error "); theirs || refusal {
			refused++
			if theirs != refusal {
				t.Errorf("%s %s v%d %x\nKafka: %s\nhere:  %v", b.kind, b.schema.name, b.ver, b.bytes, b.answer, found)
			}
			continue
		}
		rest, again, text := cutAnswer(t, b.answer)
		same := rest == "0" && again == hex.EncodeToString(b.bytes)
		if !same {
			differ++
		}
		if same != (len(found) == 0) {
			t.Errorf("%s %s v%d %x\nKafka writes %s, %s bytes left\nhere:  %v", b.kind, b.schema.name, b.ver, b.bytes, again, rest, found)
		}
		if len(found) > 0 {
			continue // the two show damage differently: a default written out, text that is not UTF-8
		}
		w := walk{style: asJSON, secrets: true}
		w.run(b.schema, b.ver, b.bytes)
		if ours, theirs := plainJSON(t, w.dst), plainJSON(t, []byte(text)); !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s %s v%d %x\nKafka: %s\nhere:  %s", b.kind, b.schema.name, b.ver, b.bytes, text, w.dst)
		}
	}
	if len(all) < 500 || refused < len(all)/20 || differ < len(all)/40 {
		t.Errorf("%d bodies, %d refused, %d written otherwise: the sample is lopsided", len(all), refused, differ)
	}
}

func cutAnswer(t *testing.T, answer string) (rest, again, text string) {
	t.Helper()
	rest, answer, _ = strings.Cut(answer, " ")
	again, text, ok := strings.Cut(answer, " ")
	if !ok {
		t.Fatal(answer)
	}
	return rest, again, text
}

// plainJSON drops what the two show differently on purpose: records, and tags that Kafka does not know.
func plainJSON(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return plain(v)
}

func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"records", "unalignedRecords", "unknownTags"} {
			delete(v, name)
		}
		for name := range v {
			v[name] = plain(v[name])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return v
		}
		f, _ := v.Float64()
		if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return json.Number(fmt.Sprint(int64(f)))
		}
		return f
	}
	return v
}
