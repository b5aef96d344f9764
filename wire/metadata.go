package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// MetadataRecord is a data record of the metadata log: what Kafka's controllers keep. Its layout comes from Kafka's own
// definitions (metadata_table_gen.go).
type MetadataRecord struct {
	Type    int16  // Kafka: MetadataRecordType
	Name    string // as in Kafka's definition, "FeatureLevelRecord"
	Version int16
	Body    []byte // behind the frame; part of the record's value

	schema *schema
}

// metadataFrameVersion is the only version of the frame around a metadata record (Kafka: MetadataRecordSerde).
const metadataFrameVersion = 1

// DecodeMetadata reads the value of a data record: frame version, type and version, then the body. Like Kafka it
// refuses unknown types and versions, and bytes behind the body.
func DecodeMetadata(value []byte) (MetadataRecord, error) {
	r := reader{b: value, flex: true}
	frame, key, version := r.uvarint(), r.uvarint(), r.uvarint()
	switch {
	case r.bad:
		return MetadataRecord{}, fmt.Errorf("metadata record of %d bytes: frame: %w", len(value), ErrMalformed)
	case frame != metadataFrameVersion:
		return MetadataRecord{}, fmt.Errorf("metadata record: frame version %d: %w", frame, ErrUnsupported)
	case key >= forever || version >= forever || metadataIndex.find(int16(key)) == nil:
		return MetadataRecord{}, fmt.Errorf("metadata record of type %d, version %d: %w", key, version, ErrUnsupported)
	}
	s := metadataIndex.find(int16(key))
	m := MetadataRecord{Type: int16(key), Name: s.name, Version: int16(version), Body: value[r.at:], schema: s}
	if !s.valid.has(m.Version) {
		return m, fmt.Errorf("%s version %d: %w", m.Name, m.Version, ErrUnsupported)
	}
	var w walk
	if !w.run(s, m.Version, m.Body) {
		return m, fmt.Errorf("%s version %d, byte %d, field %s: %w", m.Name, m.Version, w.start, w.reading, ErrMalformed)
	}
	if n := w.r.rest(); n > 0 {
		return m, fmt.Errorf("%s version %d: %d bytes behind the body: %w", m.Name, m.Version, n, ErrMalformed)
	}
	return m, nil
}

// String is the record on one line, without secrets.
func (m *MetadataRecord) String() string {
	w := walk{style: asText, dst: []byte(m.Name + " ")}
	if m.schema == nil || !w.run(m.schema, m.Version, m.Body) {
		return m.Name + " version " + strconv.Itoa(int(m.Version)) + " undecodable"
	}
	return string(w.dst)
}

// AppendJSON appends the record as {"type":…,"version":…,"data":{…}}, as Kafka's own tools do.
func (m *MetadataRecord) AppendJSON(dst []byte, o JSONOptions) []byte {
	return append(m.appendJSON(append(dst, '{'), o), '}')
}

func (m *MetadataRecord) appendJSON(dst []byte, o JSONOptions) []byte {
	dst = append(append(append(dst, `"type":"`...), m.Name...), `","version":`...)
	dst = strconv.AppendInt(dst, int64(m.Version), 10)
	return m.appendData(append(dst, `,"data":`...), o)
}

func (m *MetadataRecord) appendData(dst []byte, o JSONOptions) []byte {
	w := walk{style: asJSON, secrets: o.Secrets, dst: dst}
	if m.schema == nil || !w.run(m.schema, m.Version, m.Body) {
		return appendUndecodable(dst, ErrMalformed, len(m.Body))
	}
	return w.dst
}

// Field is the JSON value of one of the record's own fields by Kafka's name, "featureLevel"; false if the version has no
// such field or it was left out.
func (m *MetadataRecord) Field(name string) (json.RawMessage, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(m.appendData(nil, JSONOptions{Secrets: true}), &fields) != nil {
		return nil, false
	}
	value, ok := fields[name]
	return value, ok
}

// Canonical compares the record's body with what Kafka would have written; offsets are those in the body.
func (m *MetadataRecord) Canonical() []Finding {
	if m.schema == nil {
		return nil
	}
	return canonical(m.schema, m.Version, m.Body)
}

// FeatureLevelRecord is the value of a FeatureLevelRecord, version 0.
func FeatureLevelRecord(name string, level int16) []byte {
	b := []byte{metadataFrameVersion, 12, 0}
	b = append(appendUvarint(b, len(name)+1), name...)
	return append(appendInt16(b, level), 0)
}
