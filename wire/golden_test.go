package wire

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

// unhex reads hexadecimal text with blanks.
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	dirD1 = kraft.DirectoryID(bytes.Repeat([]byte{0x11}, 16))
	dirD2 = kraft.DirectoryID(bytes.Repeat([]byte{0x22}, 16))
)

// goldenTime is the timestamp in the golden vectors, ms.
const goldenTime = 1700000000000

func goldenVoters() Voters {
	return Voters{Voters: []Voter{
		{Key: kraft.ReplicaKey{ID: 1, DirectoryID: dirD1}, Endpoints: []Endpoint{{"CONTROLLER", "c1", 9093}}, MaxVersion: 1},
		{Key: kraft.ReplicaKey{ID: 2, DirectoryID: dirD2}, Endpoints: []Endpoint{{"CONTROLLER", "c2", 9093}}, MaxVersion: 1},
	}}
}

func goldenLeaderChange() LeaderChange {
	return LeaderChange{
		Leader:   1,
		Voters:   []kraft.ReplicaKey{{ID: 1}, {ID: 2}, {ID: 3}},
		Granting: []kraft.ReplicaKey{{ID: 1}, {ID: 2}},
	}
}

// The bytes below are what Kafka 4.2's own encoders write.
var goldenControls = []struct {
	name   string
	record ControlRecord
	value  string
	text   string
}{
	{
		"leader change", goldenLeaderChange(),
		`0000 00000001 04 00000001 00 00000002 00 00000003 00 03 00000001 00 00000002 00 00`,
		"LeaderChange leader 1, voters [1 2 3], granted by [1 2]",
	},
	{"kraft version", KRaftVersion{Level: 1}, `0000 0001 00`, "KRaftVersion 1"},
	{"snapshot header", SnapshotHeader{Timestamp: goldenTime}, `0000 0000018bcfe56800 00`, "SnapshotHeader last timestamp 1700000000000"},
	{"snapshot footer", SnapshotFooter{}, `0000 00`, "SnapshotFooter"},
	{
		"voters", goldenVoters(), `0000 03
		00000001 11111111111111111111111111111111 02 0b434f4e54524f4c4c4552 036331 2385 00 0000 0001 00 00
		00000002 22222222222222222222222222222222 02 0b434f4e54524f4c4c4552 036332 2385 00 0000 0001 00 00
		00`,
		"KRaftVoters 1/EREREREREREREREREREREQ at CONTROLLER://c1:9093 (kraft.version 0..1), " +
			"2/IiIiIiIiIiIiIiIiIiIiIg at CONTROLLER://c2:9093 (kraft.version 0..1)",
	},
}

func TestControl_GoldenBytes(t *testing.T) {
	for _, tt := range goldenControls {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.value)
			if got := tt.record.AppendValue(nil); !bytes.Equal(got, want) {
				t.Errorf("encoded %x, want %x", got, want)
			}
			record, err := DecodeControl(AppendControlKey(nil, tt.record.Type()), want)
			if err != nil {
				t.Fatal(err)
			}
			if record.String() != tt.text {
				t.Errorf("decoded %q, want %q", record, tt.text)
			}
			if again := record.AppendValue(nil); !bytes.Equal(again, want) {
				t.Errorf("encoded again %x, want %x", again, want)
			}
		})
	}
}

func control(base kraft.Offset, epoch kraft.Epoch) Batch {
	b := NewBatch(base, epoch, goldenTime)
	b.Attributes = AttrControl
	return b
}

var goldenBatches = []struct {
	name    string
	head    Batch
	records []Record
	bytes   string
}{
	{"leader change at offset 0, epoch 1", control(0, 1), []Record{NewControl(goldenLeaderChange())}, `
		00000000000000000000005e00000001021735ab2b0020000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff00000001
		580000000800000002440000000000010400000001000000000200000000030003000000010000000002000000`},
	{
		"first batch of a 0-0 checkpoint", control(0, 0),
		[]Record{NewControl(SnapshotHeader{Timestamp: goldenTime}), NewControl(KRaftVersion{Level: 1}), NewControl(goldenVoters())},
		`
		0000000000000000000000c00000000002643a70c50020000000020000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff00000003
		2a00000008000000031600000000018bcfe568000000
		1e00000208000000050a000000010000
		ce010000040800000006b8010000030000000111111111111111111111111111111111020b434f4e54524f4c4c45520363312385000000000100000000000222222222222222222222222222222222020b434f4e54524f4c4c45520363322385000000000100000000`,
	},
	{"its footer", control(3, 0), []Record{NewControl(SnapshotFooter{})}, `
		00000000000000030000003f00000000028f6608e60020000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff00000001
		1a00000008000000040600000000`},
	{"data", NewBatch(7, 1, goldenTime), []Record{{Value: []byte("\x01\x0c\x00\x11metadata.version\x00\x1d\x00")}}, `
		00000000000000070000004f0000000102e590a55a0000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff00000001
		3a000000012e 010c00116d657461646174612e76657273696f6e001d00 00`},
}

func TestBatch_GoldenBytes(t *testing.T) {
	for _, tt := range goldenBatches {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.bytes)
			if got := AppendBatch(nil, tt.head, tt.records...); !bytes.Equal(got, want) {
				t.Errorf("encoded\n%x, want\n%x", got, want)
			}
			batch, rest, err := NextBatch(want)
			if err != nil || len(rest) != 0 {
				t.Fatalf("rest %d, err %v", len(rest), err)
			}
			if !batch.CRCValid() {
				t.Error("the checksum is not taken for valid")
			}
			i := 0
			err = batch.Each(func(r Record) error {
				if !bytes.Equal(r.Key, tt.records[i].Key) || !bytes.Equal(r.Value, tt.records[i].Value) {
					t.Errorf("record %d: key %x value %x", i, r.Key, r.Value)
				}
				if want := tt.head.BaseOffset + kraft.Offset(i); r.Offset != want || r.Timestamp != goldenTime {
					t.Errorf("record %d: offset %d at %d, want %d at %d", i, r.Offset, r.Timestamp, want, goldenTime)
				}
				i++
				return nil
			})
			if err != nil || i != len(tt.records) {
				t.Errorf("%d records, err %v; want %d", i, err, len(tt.records))
			}
		})
	}
}
