package recordings

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/internal/need"
	"github.com/understudy-kafka/understudy/wire"
)

// These tests ask Wireshark's own reader. They need tshark, so they run with the tests of real Kafka.

// tshark runs tshark on a file and returns its lines.
func tshark(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command(need.For(t, "tshark"), args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

func skipWithoutTshark(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs tshark: runs with make test-kafka")
	}
}

// TestTshark_ReadsRecordingsOfKafka compares what tshark says of recordings with what it says of the captures that
// they were made of: the same frames, the same messages, and no more malformed ones. (Of versions that it
// does not know it calls some malformed in the capture too.)
func TestTshark_ReadsRecordingsOfKafka(t *testing.T) {
	skipWithoutTshark(t)
	for _, tt := range quorums {
		t.Run(tt.name, func(t *testing.T) {
			in, err := OpenAny(nil, quorumCapture(tt.name))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			list, err := readAll(in)
			if err != nil {
				t.Fatal(err)
			}
			ports := []string{"-d", "tcp.port==19091,kafka", "-d", "tcp.port==19092,kafka", "-d", "tcp.port==19093,kafka"}
			messages := []string{"-Y", "kafka", "-T", "fields", "-e", "kafka.len", "-e", "kafka.correlation_id", "-e", "kafka.api_key"}
			malformed := []string{"-Y", "_ws.malformed"}
			original := append([]string{"-r", quorumCapture(tt.name)}, ports...)
			want := tshark(t, append(original, messages...)...)
			if len(want) != tt.frames {
				t.Fatalf("tshark sees %d messages in the capture, want %d", len(want), tt.frames)
			}
			wantMalformed := len(tshark(t, append(original, malformed...)...))
			for _, include := range []bool{true, false} {
				base := tempBase(t)
				writeAll(t, base, Options{IncludeRecords: include, ChunkSize: 4000}, list)
				file := []string{"-r", segmentName(base, 1)}
				if got := tshark(t, append(file, messages...)...); strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("include records %v: %d messages, want %d, or others", include, len(got), len(want))
				}
				if got := tshark(t, append(file, malformed...)...); len(got) != wantMalformed {
					t.Errorf("include records %v: %d malformed, %d in the capture", include, len(got), wantMalformed)
				}
				faults := "tcp.analysis.retransmission || ip.checksum.status == 0"
				if tt.gaps == "[]" {
					faults += " || tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment"
				}
				if got := tshark(t, append(file, "-o", "ip.check_checksum:TRUE", "-Y", faults)...); len(got) > 0 {
					t.Errorf("include records %v: below Kafka tshark finds fault with\n%s", include, strings.Join(got, "\n"))
				}
				recorded, _ := mustRead(t, base)
				checkNumbers(t, file, recorded)
			}
		})
	}
}

// checkNumbers compares the numbers of observations with those that tshark gives to the packets with our comments.
func checkNumbers(t *testing.T, file []string, list []Observation) {
	t.Helper()
	lines := tshark(t, append(file, "-Y", "frame.comment", "-T", "fields", "-e", "frame.number")...)
	for i, o := range list {
		if i >= len(lines) || lines[i] != strconv.FormatUint(o.Number, 10) {
			t.Fatalf("observation %d has number %d, tshark gives another", i, o.Number)
		}
	}
}

// TestTshark_SeesNothingMalformedInVersionsOfKafkaThatItKnows writes what a redacted recording changes in versions
// that tshark 4.0 dissects down to the records, with gaps, faults and frames of many segments between them.
func TestTshark_SeesNothingMalformedInVersionsOfKafkaThatItKnows(t *testing.T) {
	skipWithoutTshark(t)
	s := newStory(1)
	id := int32(0)
	exchange := func(key, version int16, request, response []byte) {
		s.frame(wire.Request, requestFrame(key, version, id, request))
		s.frame(wire.Response, responseFrame(key, version, id, response))
		id++
	}
	var records []byte
	for range 3 {
		records = append(records, append(controlBatch(), secretBatch()...)...)
	}
	fetch := make([]byte, 4+4+4+4+1+4+4+4+4+2) // v11 with no topics and an empty rack
	exchange(wire.KeyFetch, 11, fetch, fetchAnswer(11, records))
	big := wire.AppendBatch(nil, wire.NewBatch(9, 1, 0), wire.Record{Value: make([]byte, 150_000)})
	exchange(wire.KeyFetch, 11, fetch, fetchAnswer(11, append(records, big...)))
	exchange(wire.KeyIncrementalAlterConfigs, 0, []byte("\x00\x00\x00\x01\x02\x00\x01t\x00\x00\x00\x01\x00\x01c\x00\x00\x06secret\x00"), []byte{0, 0, 0, 0, 0, 0, 0, 0})
	dropped := s.frame(wire.Request, nil)
	dropped.Fault = &Fault{Rule: "drop", Sent: requestFrame(wire.KeyFetch, 11, id, fetch)}
	s.add(Observation{Kind: KindGap, Dir: wire.Response, Gap: &Gap{Reason: "tap overflow", Bytes: 700, Frames: 2}})
	exchange(wire.KeyFetch, 11, fetch, fetchAnswer(11, records))
	s.add(Observation{Kind: KindClose})
	for _, include := range []bool{true, false} {
		base := tempBase(t)
		writeAll(t, base, Options{IncludeRecords: include}, s.list)
		file := []string{"-r", segmentName(base, 1)}
		if got := tshark(t, append(file, "-Y", "_ws.malformed")...); len(got) > 0 {
			t.Errorf("include records %v: malformed\n%s", include, strings.Join(got, "\n"))
		}
		if got := tshark(t, append(file, "-Y", "kafka.api_key == 1 && kafka.batch_crc", "-T", "fields", "-e", "kafka.batch_size")...); len(got) != 3 {
			t.Errorf("include records %v: record batches in %d messages, want 3", include, len(got))
		}
		if got := tshark(t, append(file, "-Y", "frame.comment contains \"gap\" || frame.comment contains \"fault drop\"")...); len(got) != 2 {
			t.Errorf("include records %v: %d comments about gap and fault, want 2", include, len(got))
		}
	}
}

// TestTshark_ConvertsCapturesOfKafkaForUs reads captures that Wireshark's own editcap has written.
func TestTshark_ConvertsCapturesOfKafkaForUs(t *testing.T) {
	skipWithoutTshark(t)
	editcap := filepath.Join(filepath.Dir(need.For(t, "tshark")), "editcap")
	if _, err := os.Stat(editcap); errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s is missing; it comes with tshark: %s", editcap, need.InstallCommand("wireshark-common"))
	}
	original, err := OpenAny(nil, quorumCapture(quorums[0].name))
	if err != nil {
		t.Fatal(err)
	}
	defer original.Close()
	want, err := readAll(original)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"pcapng", "nsecpcap", "pcap"} {
		path := filepath.Join(t.TempDir(), format)
		if out, err := exec.Command(editcap, "-F", format, quorumCapture(quorums[0].name), path).CombinedOutput(); err != nil {
			t.Fatalf("editcap: %v\n%s", err, out)
		}
		in, err := OpenAny(nil, path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(in)
		if err != nil || !same(got, want) || len(in.Damage()) > 0 {
			t.Errorf("%s: other observations, damage %v, %v", format, in.Damage(), err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}
