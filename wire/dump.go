package wire

import (
	"strconv"
	"strings"
)

// The lines here are those of Kafka's DumpLogSegments 4.4 with --cluster-metadata-decoder, so that the two can be compared as text.

// AppendBatchLine appends the line of a batch that stands at the position of its file.
func AppendBatchLine(dst []byte, b *Batch, position int64) []byte {
	last := int64(-1)
	if b.BaseSequence >= 0 {
		last = int64(b.BaseSequence) + int64(b.LastOffsetDelta)
	}
	for _, f := range [...]struct {
		name  string
		value int64
	}{
		{"baseOffset: ", int64(b.BaseOffset)},
		{" lastOffset: ", int64(b.LastOffset())},
		{" count: ", int64(b.Count)},
		{" baseSequence: ", int64(b.BaseSequence)},
		{" lastSequence: ", last},
		{" producerId: ", b.ProducerID},
		{" producerEpoch: ", int64(b.ProducerEpoch)},
		{" partitionLeaderEpoch: ", int64(b.Epoch)},
	} {
		dst = strconv.AppendInt(append(dst, f.name...), f.value, 10)
	}
	dst = strconv.AppendBool(append(dst, " isTransactional: "...), b.Attributes&AttrTransactional != 0)
	dst = strconv.AppendBool(append(dst, " isControl: "...), b.Control())
	dst = append(dst, " deleteHorizonMs: "...)
	if b.Attributes&AttrDeleteHorizon != 0 {
		dst = append(strconv.AppendInt(append(dst, "OptionalLong["...), b.BaseTimestamp, 10), ']')
	} else {
		dst = append(dst, "OptionalLong.empty"...)
	}
	dst = strconv.AppendInt(append(dst, " position: "...), position, 10)
	dst = strconv.AppendInt(append(append(dst, ' '), b.timeName()...), b.MaxTimestamp, 10)
	dst = strconv.AppendInt(append(dst, " size: "...), int64(batchCounted+b.Length), 10)
	dst = strconv.AppendInt(append(dst, " magic: "...), int64(b.Magic), 10)
	dst = append(append(dst, " compresscodec: "...), b.Codec()...)
	dst = strconv.AppendUint(append(dst, " crc: "...), uint64(b.CRC), 10)
	return append(strconv.AppendBool(append(dst, " isvalid: "...), b.CRCValid()), '\n')
}

func (b *Batch) timeName() string {
	if b.Attributes&AttrLogAppendTime != 0 {
		return "LogAppendTime: "
	}
	return "CreateTime: "
}

// AppendRecordLine appends the line of a record of the batch.
func AppendRecordLine(dst []byte, b *Batch, r *Record, o JSONOptions) []byte {
	dst = strconv.AppendInt(append(dst, "| offset: "...), int64(r.Offset), 10)
	dst = strconv.AppendInt(append(append(dst, ' '), b.timeName()...), r.Timestamp, 10)
	dst = appendSize(append(dst, " keySize: "...), r.Key)
	dst = appendSize(append(dst, " valueSize: "...), r.Value)
	sequence := int64(-1)
	if b.BaseSequence >= 0 {
		sequence = int64(b.BaseSequence) + int64(r.OffsetDelta)
	}
	dst = strconv.AppendInt(append(dst, " sequence: "...), sequence, 10)
	dst = append(dst, " headerKeys: [] "...)
	if b.Control() {
		dst = appendControlText(dst, r.Key, r.Value, o)
	} else {
		dst = appendMetadataText(append(dst, "payload: "...), r.Value, o)
	}
	return append(dst, '\n')
}

func appendSize(dst, b []byte) []byte {
	if b == nil {
		return append(dst, "-1"...)
	}
	return strconv.AppendInt(dst, int64(len(b)), 10)
}

// appendControlText appends name and content of a control record.
func appendControlText(dst, key, value []byte, o JSONOptions) []byte {
	t, err := ControlTypeOf(key)
	if err != nil {
		return append(append(dst, "undecodable: "...), err.Error()...)
	}
	s := controlIndex.find(int16(t))
	r := reader{b: value}
	version := r.int16()
	if s == nil || r.bad || !s.valid.has(version) {
		return append(append(append(dst, "controlType: "...), t.String()...), " undecodable"...)
	}
	at := len(dst)
	dst = append(dst, t.String()...)
	if t == TypeLeaderChange {
		dst = append(dst, ':')
	}
	w := walk{style: asJSON, secrets: o.Secrets, dst: append(dst, ' ')}
	if !w.run(s, version, value) {
		return append(append(append(w.dst[:at], "controlType: "...), t.String()...), " undecodable"...)
	}
	return w.dst
}

// appendMetadataText appends a metadata record as Kafka's tool does, in one pass.
func appendMetadataText(dst, value []byte, o JSONOptions) []byte {
	at := len(dst)
	r := reader{b: value, flex: true}
	frame, key, version := r.uvarint(), r.uvarint(), r.uvarint()
	if !r.bad && frame == metadataFrameVersion && key < forever && version < forever {
		if s := metadataIndex.find(int16(key)); s != nil && s.valid.has(int16(version)) {
			dst = append(append(append(dst, `{"type":"`...), metadataConstants[key]...), `","version":`...)
			dst = append(strconv.AppendUint(dst, uint64(version), 10), `,"data":`...)
			w := walk{style: asJSON, secrets: o.Secrets, dst: dst}
			if w.run(s, int16(version), value[r.at:]) && w.r.rest() == 0 {
				return append(w.dst, '}')
			}
			dst = w.dst
		}
	}
	_, err := DecodeMetadata(value)
	if err == nil {
		err = ErrMalformed
	}
	return append(append(dst[:at], "undecodable: "...), err.Error()...)
}

// metadataConstants are the names of MetadataRecordType, "FEATURE_LEVEL_RECORD", by key.
var metadataConstants = func() (names [len(metadataIndex)]string) {
	for i := range metadataSchemas {
		names[metadataSchemas[i].key] = constantName(metadataSchemas[i].name)
	}
	return names
}()

func constantName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteByte(name[i])
	}
	return strings.ToUpper(b.String())
}

// RecordName is the name of a record's type: "LeaderChange", "FeatureLevelRecord"; "" if it is not known.
func RecordName(b *Batch, r *Record) string {
	if b.Control() {
		t, err := ControlTypeOf(r.Key)
		if err != nil || controlIndex.find(int16(t)) == nil {
			return ""
		}
		return t.String()
	}
	in := reader{b: r.Value, flex: true}
	frame, key := in.uvarint(), in.uvarint()
	if in.bad || frame != metadataFrameVersion || key >= forever || metadataIndex.find(int16(key)) == nil {
		return ""
	}
	return metadataIndex.find(int16(key)).name
}

// RecordNames lists all record types of the metadata log.
func RecordNames() []string {
	names := []string{}
	for t := TypeLeaderChange; t <= TypeKRaftVoters; t++ {
		names = append(names, t.String())
	}
	for i := range metadataSchemas {
		names = append(names, metadataSchemas[i].name)
	}
	return names
}

// CheckRecord decodes a record and throws the result away.
func CheckRecord(b *Batch, r *Record) error {
	if !b.Control() {
		_, err := DecodeMetadata(r.Value)
		return err
	}
	_, err := DecodeControl(r.Key, r.Value)
	return err
}

// AppendRecordJSON appends a record as {"offset":…,"type":…,"version":…,"data":{…}}.
func AppendRecordJSON(dst []byte, b *Batch, r *Record, o JSONOptions) []byte {
	return appendRecordJSON(dst, b, r, o)
}
