package recordings

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/understudy-kafka/understudy/wire"
)

// secret stands for every password, salt, token and configuration value below.
const secret = "s3cr3t-0f-the-qu0rum"

const testVersion = 0

func secretBatch() []byte {
	return wire.AppendBatch(nil, wire.NewBatch(5, 1, 0),
		wire.Record{Value: []byte("\x01\x0b\x00" + secret)}, wire.Record{Value: []byte("salt " + secret)})
}

func controlBatch() []byte {
	head := wire.NewBatch(0, 1, 0)
	head.Attributes = wire.AttrControl
	return wire.AppendBatch(nil, head, wire.Record{Key: wire.AppendControlKey(nil, wire.TypeLeaderChange), Value: []byte{0, 0}})
}

// fetchAnswer is the body of a Fetch response with these records.
func fetchAnswer(version int16, records []byte) []byte {
	r := kmsg.NewPtrFetchResponse()
	r.SetVersion(version)
	topic, p := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches = records
	topic.TopicID = wire.MetadataTopicID
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, p)
	r.Topics = append(r.Topics, topic)
	return r.AppendTo(nil)
}

func snapshotAnswer(position int64, chunk []byte) []byte {
	r := kmsg.NewPtrFetchSnapshotResponse()
	r.SetVersion(1)
	topic, p := kmsg.NewFetchSnapshotResponseTopic(), kmsg.NewFetchSnapshotResponseTopicPartition()
	topic.Topic = "__cluster_metadata"
	p.Size, p.Position, p.Bytes = 1<<20, position, chunk
	topic.Partitions = append(topic.Partitions, p)
	r.Topics = append(r.Topics, topic)
	return r.AppendTo(nil)
}

// secretStory holds every message that is known to carry secrets, and some that nobody knows.
func secretStory() *story {
	s := newStory(1)
	id := int32(0)
	exchange := func(key, version int16, request, response []byte) {
		s.frame(wire.Request, requestFrame(key, version, id, request))
		s.frame(wire.Response, responseFrame(key, version, id, response))
		id++
	}
	text := []byte("\x00\x00\x00\x00" + secret)
	sasl := kmsg.NewPtrSASLAuthenticateRequest()
	sasl.SetVersion(2)
	sasl.SASLAuthBytes = []byte("\x00admin\x00" + secret)
	exchange(wire.KeySaslHandshake, 1, append([]byte{0, 5}, "PLAIN"...), []byte{0, 0, 0, 0, 0, 0})
	exchange(wire.KeySaslAuthenticate, 2, sasl.AppendTo(nil), append([]byte{0, 58}, text...))
	configs := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource, config := kmsg.NewIncrementalAlterConfigsRequestResource(), kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = "ssl.keystore.password", kmsg.StringPtr(secret)
	resource.Configs = append(resource.Configs, config)
	configs.Resources = append(configs.Resources, resource)
	configs.SetVersion(1)
	exchange(wire.KeyIncrementalAlterConfigs, 1, configs.AppendTo(nil), text)
	scram := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	upsert := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	upsert.Name, upsert.Salt, upsert.SaltedPassword = "alice", []byte("salt "+secret), []byte(secret)
	scram.Upsertions = append(scram.Upsertions, upsert)
	exchange(wire.KeyAlterUserScramCredentials, 0, scram.AppendTo(nil), []byte{0, 0, 0, 0, 1, 0})
	for _, inside := range [][]byte{
		requestFrame(wire.KeyIncrementalAlterConfigs, 1, 7, configs.AppendTo(nil)),
		requestFrame(wire.KeyAlterUserScramCredentials, 0, 7, scram.AppendTo(nil)),
		requestFrame(19, 7, 7, text), requestFrame(wire.KeyEnvelope, 0, 7, text), []byte(secret)[:9],
		{},
	} {
		envelope := kmsg.NewPtrEnvelopeRequest()
		envelope.RequestData, envelope.ClientHostAddress = inside, []byte{127, 0, 0, 1}
		envelope.UnknownTags.Set(9, []byte(secret))
		answer := kmsg.NewPtrEnvelopeResponse()
		answer.ResponseData = []byte(secret)
		exchange(wire.KeyEnvelope, 0, append(envelope.AppendTo(nil), secret...), answer.AppendTo(nil))
	}
	for _, key := range []int16{0, 19, 32, 33, 38, 39, 40, 41, wire.KeyAlterUserScramCredentials, wire.KeyEnvelope, 72, 95, 120, 999} {
		exchange(key, testVersion, text, text)
	}
	records := append(append(controlBatch(), secretBatch()...), secretBatch()...)
	exchange(wire.KeyFetch, 17, nil, fetchAnswer(17, records))
	exchange(wire.KeyFetch, 11, nil, fetchAnswer(11, records))
	exchange(wire.KeyFetch, 17, nil, fetchAnswer(17, records[:len(records)-3]))  // the last batch is cut off
	exchange(wire.KeyFetch, 17, nil, append(fetchAnswer(17, nil)[:20], text...)) // undecodable
	exchange(wire.KeyFetch, 99, nil, text)
	exchange(wire.KeyFetchSnapshot, 1, nil, snapshotAnswer(0, records))
	exchange(wire.KeyFetchSnapshot, 1, nil, snapshotAnswer(int64(len(records)), append([]byte(secret), records...)))
	s.frame(wire.Response, responseFrame(wire.KeyFetch, 17, 12345, text)) // its request was not seen
	s.frame(wire.Request, []byte(secret)[:9])                             // no header
	mutated := s.frame(wire.Request, requestFrame(wire.KeyIncrementalAlterConfigs, 1, id, text))
	mutated.Fault = &Fault{Rule: "mutate", Sent: requestFrame(wire.KeyIncrementalAlterConfigs, 1, id, text), Delivered: true}
	dropped := s.frame(wire.Response, nil)
	dropped.Fault = &Fault{Rule: "drop", Sent: responseFrame(wire.KeyIncrementalAlterConfigs, 1, id, text)}
	id++
	s.frame(wire.Request, requestFrame(wire.KeyFetch, 17, id, nil))
	cut := s.frame(wire.Response, responseFrame(wire.KeyFetch, 17, id, fetchAnswer(17, records)[:150]))
	cut.Frame.Size, cut.Frame.Cut = 9<<20, true
	id++
	exchange(wire.KeySaslHandshake, 0, append([]byte{0, 5}, "PLAIN"...), []byte{0, 0, 0, 0, 0, 0})
	s.frame(wire.Request, []byte("\x00admin\x00"+secret))
	s.frame(wire.Response, []byte(secret))
	s.frame(wire.Request, []byte(secret+secret))
	exchange(wire.KeyVote, 2, voteBody, []byte{0, 0, 0, 0})
	return s
}

func TestRedaction_NoSecretReachesTheFile(t *testing.T) {
	list := secretStory().list
	for _, include := range []bool{false, true} {
		base := tempBase(t)
		writeAll(t, base, Options{IncludeRecords: include}, list)
		plain := inflated(t, segmentName(base, 1))
		if found := bytes.Contains(plain, []byte(secret)); found != include {
			at := bytes.Index(plain, []byte(secret))
			t.Errorf("include records %v: secret found %v, behind %q", include, found, plain[max(at-200, 0):max(at, 0)])
		}
		// Parts of it could be left by a wrong offset.
		if !include && bytes.Contains(plain, []byte("the-qu0rum")) {
			t.Error("a part of the secret is in the redacted recording")
		}
	}
}

func TestRedaction_KeepsSizesHeadersAndDigests(t *testing.T) {
	want := secretStory().list
	base := tempBase(t)
	writeAll(t, base, Options{}, want)
	got, _ := mustRead(t, base)
	if len(got) != len(want) {
		t.Fatalf("%d observations, want %d", len(got), len(want))
	}
	records := 0
	for i, o := range got {
		original := want[i].Frame.Bytes
		if o.Frame.Size != want[i].Frame.Size || len(o.Frame.Bytes) != len(original) {
			t.Fatalf("observation %d: size %d of %d, want %d of %d", i, len(o.Frame.Bytes), o.Frame.Size, len(original), want[i].Frame.Size)
		}
		at := 0
		for _, w := range o.Withheld {
			if w.Start < at || w.End <= w.Start {
				t.Fatalf("observation %d: withheld %d to %d behind %d", i, w.Start, w.End, at)
			}
			if !bytes.Equal(o.Frame.Bytes[at:w.Start], original[at:w.Start]) {
				t.Errorf("observation %d: changed where nothing is withheld", i)
			}
			if w.SHA256 != [32]byte{} {
				records++
				if w.SHA256 != sha256.Sum256(original[w.Start:w.End]) {
					t.Errorf("observation %d: wrong digest", i)
				}
			}
			at = w.End
		}
		if !bytes.Equal(o.Frame.Bytes[at:], original[at:]) {
			t.Errorf("observation %d: changed behind what is withheld", i)
		}
	}
	if records != 9 {
		t.Errorf("%d withheld parts have a digest, want the 8 batches and a chunk of a snapshot", records)
	}
	if last := got[len(got)-1]; len(last.Withheld) > 0 {
		t.Error("the vote behind the SASL exchange without headers is withheld")
	}
}

// TestRedaction_SaysWhatWasSaid compares what people read of a redacted recording with what they read of a full one.
func TestRedaction_SaysWhatWasSaid(t *testing.T) {
	list := secretStory().list
	bases := [2]string{tempBase(t), tempBase(t)}
	writeAll(t, bases[0], Options{}, list)
	writeAll(t, bases[1], Options{IncludeRecords: true}, list)
	redacted, _ := mustRead(t, bases[0])
	full, _ := mustRead(t, bases[1])
	said := map[string]bool{}
	var d describer
	for i := range full {
		a, b := &full[i], &redacted[i]
		if a.Kind != KindFrame || a.Fault != nil || a.Dir != wire.Request {
			continue
		}
		h, body, err := wire.ParseRequestHeader(a.Frame.Bytes)
		if err != nil || h.Key != wire.KeyIncrementalAlterConfigs && h.Key != wire.KeyAlterUserScramCredentials && h.Key != wire.KeyEnvelope {
			continue
		}
		_, hidden, err := wire.ParseRequestHeader(b.Frame.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		want := string(d.decoder.AppendRequestLine(nil, h, body))
		if got := string(d.decoder.AppendRequestLine(nil, h, hidden)); got != want && !strings.Contains(want, "undecodable") && !strings.Contains(want, "readable") {
			t.Errorf("redacted: %s\nfull:     %s", got, want)
		}
		said[want] = true
	}
	for line := range said {
		t.Log(line)
	}
	if len(said) < 7 {
		t.Errorf("only %d messages were compared", len(said))
	}
}

func TestRedaction_FetchAnswerIsStillWellFormed(t *testing.T) {
	records := append(append(controlBatch(), secretBatch()...), controlBatch()...)
	frame := responseFrame(wire.KeyFetch, 17, 0, fetchAnswer(17, records))
	var r redactor
	list := r.response(nil, frame, wire.KeyFetch, 17)
	if len(list) != 1 || !list[0].CRCValid {
		t.Fatalf("withheld %+v, want the records of one batch with a valid CRC", list)
	}
	var f wire.FetchResponse
	if err := f.Parse(17, frame[5:]); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for rest := f.Records; len(rest) > 0; {
		batch, next, err := wire.NextBatch(rest)
		if err != nil {
			t.Fatal(err)
		}
		count := int32(0)
		if err := batch.Each(func(record wire.Record) error {
			count++
			if !batch.Control() && (record.Key != nil || len(bytes.Trim(record.Value, "\x00")) > 0 || record.OffsetDelta != count-1) {
				return fmt.Errorf("record %d: key %q, value %q, offset delta %d", count, record.Key, record.Value, record.OffsetDelta)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, fmt.Sprintf("control %v, crc %v, %d", batch.Control(), batch.CRCValid(), count))
		rest = next
	}
	if want := "[control true, crc true, 1 control false, crc false, 2 control true, crc true, 1]"; fmt.Sprint(kinds) != want {
		t.Errorf("batches %v, want %s", kinds, want)
	}
}

// TestRedaction_FillerFitsAnyRecords replaces the records of batches of every shape.
func TestRedaction_FillerFitsAnyRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(60, 70), rapid.IntRange(8190, 8194)).Draw(t, "count")
		var list []wire.Record
		for i := range count {
			r := wire.Record{OffsetDelta: int32(i)}
			if i == count-1 || rapid.IntRange(0, 9).Draw(t, "full") == 0 {
				n := rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(8100, 8300)).Draw(t, "value")
				r.Value = bytes.Repeat([]byte("x"), n)
			}
			list = append(list, r)
		}
		b := wire.AppendBatch(nil, wire.NewBatch(0, 0, 0), list...)
		fillRecords(b[wire.BatchOverhead:], count)
		batch, _, err := wire.NextBatch(b)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		if err := batch.Each(func(wire.Record) error { n++; return nil }); err != nil || n != count {
			t.Fatalf("%d of %d records, %v", n, count, err)
		}
		if bytes.Contains(b[wire.BatchOverhead:], []byte("xxxx")) {
			t.Fatal("the original shows through")
		}
	})
}

// TestRedaction_FillerWithoutRoom leaves zeros where a batch lies about its count.
func TestRedaction_FillerWithoutRoom(t *testing.T) {
	for _, count := range []int{-1, 0, 4, 1 << 30} {
		b := make([]byte, 20)
		fillRecords(b, count)
		if !bytes.Equal(b, make([]byte, 20)) {
			t.Errorf("count %d: % x", count, b)
		}
	}
}
