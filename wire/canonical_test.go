package wire

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestCanonical_RealFramesHaveNoFinding(t *testing.T) {
	for _, c := range captures(t) {
		if found := Canonical(c.header.Key, c.header.Version, c.dir, c.body); len(found) > 0 {
			t.Errorf("%s: %s %s v%d: %v", c.source, c.dir, Name(c.header.Key), c.header.Version, found)
		}
	}
}

func TestCanonical_RealRecordsHaveNoFinding(t *testing.T) {
	controls, records := 0, map[string]int{}
	eachCapturedRecord(t, func(b *Batch, r Record) {
		if b.Control() {
			controls++
			if found := CanonicalControl(r.Key, r.Value); len(found) > 0 {
				t.Errorf("offset %d: %v", r.Offset, found)
			}
			return
		}
		m, err := DecodeMetadata(r.Value)
		if err != nil {
			t.Fatalf("offset %d: %v", r.Offset, err)
		}
		if found := m.Canonical(); len(found) > 0 {
			t.Errorf("offset %d: %s: %v", r.Offset, &m, found)
		}
		records[m.Name]++
	})
	if controls < 5 || len(records) < 8 {
		t.Errorf("only %d control records and %v", controls, records)
	}
}

// eachCapturedRecord visits all records in the captured Fetch answers.
func eachCapturedRecord(t *testing.T, visit func(*Batch, Record)) {
	t.Helper()
	var f FetchResponse
	for _, c := range captures(t) {
		if c.header.Key != KeyFetch || c.dir != Response {
			continue
		}
		if err := f.Parse(c.header.Version, c.body); err != nil {
			t.Fatal(err)
		}
		for rest := f.Records; len(rest) > 0; {
			b, next, err := NextBatch(rest)
			if err != nil {
				t.Fatal(err)
			}
			rest = next
			if !b.CRCValid() {
				t.Errorf("batch %s: checksum", &b)
			}
			if err := b.Each(func(r Record) error { visit(&b, r); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// randomMessage is the body of a random message of one of the keys that have a file of their own.
func randomMessage(r *rand.Rand) (s *schema, version int16, dir Direction, body []byte) {
	dir = Direction(r.IntN(2))
	list := requestSchemas
	if dir == Response {
		list = responseSchemas
	}
	s = &list[r.IntN(len(list))]
	version = s.valid.from + int16(r.IntN(int(s.valid.end-s.valid.from)))
	var m interface{ AppendTo([]byte) []byte }
	if dir == Request {
		req := kmsg.RequestForKey(s.key)
		req.SetVersion(version)
		m = req
	} else {
		resp := kmsg.ResponseForKey(s.key)
		resp.SetVersion(version)
		m = resp
	}
	fill(r, reflect.ValueOf(m).Elem(), true)
	return s, version, dir, m.AppendTo(nil)
}

// kmsgOutcome says whether kmsg decodes a body, and encodes it to the same bytes.
func kmsgOutcome(key, version int16, dir Direction, body []byte) (decodes, same bool) {
	var d Decoder
	if dir == Request {
		m, err := d.Request(key, version, body)
		return err == nil, err == nil && bytes.Equal(m.AppendTo(nil), body)
	}
	m, err := d.Response(key, version, body)
	return err == nil, err == nil && bytes.Equal(m.AppendTo(nil), body)
}

// TestCanonical_AgreesWithKmsg holds the tables against kmsg: what one takes for well encoded the other encodes to the
// same bytes. kmsg alone overlooks tags of another version and text that is not UTF-8.
func TestCanonical_AgreesWithKmsg(t *testing.T) {
	r := random(t)
	n := 60000
	if testing.Short() {
		n = 6000
	}
	same, differ := 0, 0
	for i := range n {
		s, version, dir, body := randomMessage(r)
		if i%2 == 1 {
			body = mutate(r, body)
		}
		found := canonical(s, responseOnly(dir, s.key, version, body), body)
		lenient := false
		for _, f := range found {
			lenient = lenient || f.Kind == FindTagVersion || f.Kind == FindUTF8
		}
		if lenient || s.key == KeyAPIVersions && dir == Response {
			continue
		}
		decodes, roundTrip := kmsgOutcome(s.key, version, dir, body)
		if roundTrip != (len(found) == 0) {
			t.Fatalf("%s v%d %x\nfound %v; kmsg decodes %v, encodes to the same bytes %v", s.name, version, body, found, decodes, roundTrip)
		}
		if roundTrip {
			same++
		} else {
			differ++
		}
	}
	if same < n/5 || differ < n/20 {
		t.Errorf("%d well encoded and %d others: the sample is lopsided", same, differ)
	}
}

func responseOnly(dir Direction, key, version int16, body []byte) int16 {
	if dir == Response {
		return responseVersion(key, version, body)
	}
	return version
}

func TestCanonical_NamesTheDefect(t *testing.T) {
	_, v18 := goldenFetch(t, goldenFetchV18)
	_, v17 := goldenFetch(t, goldenFetchV17)
	replace := func(b []byte, at int, cut int, with ...byte) []byte {
		return append(append(bytes.Clone(b[:at]), with...), b[at+cut:]...)
	}
	const partitionTags = fetchRequestFixed
	for _, tt := range []struct {
		name    string
		version int16
		body    []byte
		want    string
		refused bool
	}{
		{"trailing bytes", 17, append(bytes.Clone(v17), 1, 2), "byte 134: trailing bytes: 2 bytes", false},
		{"cut", 17, v17[:len(v17)-1], "byte 133: malformed at tags", true},
		{"long varint", 17, replace(v17, 21, 1, 0x82, 0x00), "byte 21: varint longer than need be at topics: 2 in 2 bytes", false},
		{
			"default written out", 18, replace(v18, partitionTags+19, 10, 1, 8, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
			"byte 90: default written out at highWatermark", false,
		},
		{"tag of a later version", 17, v18, "byte 90: tag of another version at highWatermark: tag 1 in version 17", true},
		{"null where it may not be", 17, replace(v17, 21, 66, 0), "byte 21: null where it may not be at topics", true},
		{"version", 19, v18, "byte 0: version not known: Fetch v19", false},
		{
			"tag too long", 17, replace(v17, partitionTags+2, 1, 0x11),
			"byte 72: size of a tag at replicaDirectoryId: size 17, content of 16", false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := Canonical(KeyFetch, tt.version, Request, tt.body)
			if len(found) == 0 {
				t.Fatalf("no finding, want %q", tt.want)
			}
			if found[0].String() != tt.want || found[0].Refused != tt.refused {
				t.Errorf("found %q (refused %v), want %q (refused %v)", found[0], found[0].Refused, tt.want, tt.refused)
			}
		})
	}
}

func TestCanonical_TagOrderAndBool(t *testing.T) {
	vote := kmsg.NewVoteRequest()
	vote.Version = 2
	vote.Topics = []kmsg.VoteRequestTopic{{Topic: "t", Partitions: make([]kmsg.VoteRequestTopicPartition, 1)}}
	body := vote.AppendTo(nil)
	tags := append(bytes.Clone(body[:len(body)-1]), 2, 9, 1, 'x', 7, 0)
	if got := Canonical(KeyVote, 2, Request, tags); len(got) != 1 || got[0].Kind != FindTagOrder {
		t.Errorf("unknown tags 9 and 7: %v", got)
	}
	preVote := len(body) - 4
	body[preVote] = 2
	if got := Canonical(KeyVote, 2, Request, body); len(got) != 1 || got[0].Kind != FindBool || got[0].Offset != preVote {
		t.Errorf("pre-vote 2: %v", got)
	}
}

func TestCanonical_OtherKeysGoThroughKmsg(t *testing.T) {
	m := kmsg.NewCreateTopicsRequest()
	m.Version = 7
	m.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: 3}}
	body := m.AppendTo(nil)
	key := m.Key()
	for _, tt := range []struct {
		name string
		body []byte
		want []FindingKind
	}{
		{"as written", body, nil},
		{"trailing", append(bytes.Clone(body), 0), []FindingKind{FindTrailing}},
		{"cut", body[:len(body)-1], []FindingKind{FindMalformed}},
		{"long varint", append([]byte{0x82, 0}, body[1:]...), []FindingKind{FindDiffers}},
	} {
		found := Canonical(key, 7, Request, tt.body)
		if len(found) != len(tt.want) || len(found) > 0 && found[0].Kind != tt.want[0] {
			t.Errorf("%s: %v, want %v", tt.name, found, tt.want)
		}
	}
	if found := Canonical(500, 0, Request, nil); len(found) != 1 || found[0].Kind != FindVersion {
		t.Errorf("unknown key: %v", found)
	}
}

func TestCanonicalControl_NamesTheDefect(t *testing.T) {
	key := AppendControlKey(nil, TypeLeaderChange)
	value := goldenLeaderChange().AppendValue(nil)
	for _, tt := range []struct {
		name       string
		key, value []byte
		want       string
	}{
		{"trailing", key, append(bytes.Clone(value), 0), "byte 34: trailing bytes: 1 bytes"},
		{"cut", key, value[:8], "byte 6: malformed at voters"},
		{"version", key, []byte{0, 7}, "byte 0: version not known: LeaderChange version 7"},
		{"type", AppendControlKey(nil, 1), []byte{0, 0, 0}, "byte 0: version not known: control type 1 version 0"},
		{"key", key[:3], value, "byte 0: malformed: control record key of 3 bytes: malformed"},
	} {
		found := CanonicalControl(tt.key, tt.value)
		if len(found) != 1 || found[0].String() != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, found, tt.want)
		}
	}
}

func TestCanonical_LooksIntoControlRecords(t *testing.T) {
	sound := NewControl(goldenLeaderChange())
	trailing := NewControl(goldenLeaderChange())
	trailing.Value = append(trailing.Value, 0)
	withRecords := func(change func(*Batch)) []byte {
		b, _, err := NextBatch(AppendBatch(nil, control(7, 3), sound))
		if err != nil {
			t.Fatal(err)
		}
		change(&b)
		return AppendRawBatch(nil, b)
	}
	for _, tt := range []struct {
		name    string
		records []byte
		want    string
	}{
		{"sound", AppendBatch(nil, control(7, 3), sound), ""},
		{
			"bytes behind the value", AppendBatch(nil, control(7, 3), trailing),
			"byte 64: control record: batch at offset 7, record at offset 7: byte 34: trailing bytes: 1 bytes",
		},
		{
			"length as a long varint", withRecords(func(b *Batch) { b.Records = append([]byte{b.Records[0] | 0x80, 0}, b.Records[1:]...) }),
			"byte 64: control record: batch at offset 7: records are written otherwise",
		},
		{
			"one record too few", withRecords(func(b *Batch) { b.Count = 2 }),
			"byte 64: control record: batch at offset 7: record 1 of 2: malformed",
		},
		{"cut batch, which is legal", AppendBatch(nil, control(7, 3), trailing)[:80], ""},
	} {
		m := fetched(func(_ *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition) {
			p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
			p.RecordBatches = tt.records
		})
		found := Canonical(KeyFetch, 17, Response, m.AppendTo(nil))
		if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || found[0].String() != tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, found, tt.want)
		}
	}
}

func TestCanonical_DoesNotAllocateForAFetch(t *testing.T) {
	version, request, response := fetchPair(t)
	if n := testing.AllocsPerRun(100, func() {
		if len(Canonical(KeyFetch, version, Request, request))+len(Canonical(KeyFetch, version, Response, response)) > 0 {
			t.Fatal("not sound")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
