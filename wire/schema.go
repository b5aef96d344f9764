package wire

import "encoding/binary"

//go:generate go run ../internal/metagen -kafka 4.4.0 -out .

// The layouts of messages, control records and metadata records are tables, made from Kafka's own definitions
// (message_table_gen.go, metadata_table_gen.go). A walk follows them through the bytes.

// schema is the layout of one message or record, of all its versions.
type schema struct {
	key      int16
	name     string
	valid    span
	flexible span
	fields   []field
}

// field is a field of a message or of a struct in it.
type field struct {
	name    string
	kind    kind
	in      span // the versions that have it
	array   bool
	null    span // in which it may be null
	tagged  span // in which it is a tagged field
	tag     uint32
	def     int64 // default of numbers, and 1 for true
	defNull bool  // null is the default
	secret  bool  // holds credentials, or may hold them
	fields  []field
}

// span is a range of versions; end is not included. The zero span is empty.
type span struct{ from, end int16 }

const forever = 1<<15 - 1

func (s span) has(version int16) bool { return version >= s.from && version < s.end }

type kind uint8

const (
	kindBool kind = iota
	kindInt8
	kindInt16
	kindUint16
	kindInt32
	kindInt64
	kindFloat64
	kindString
	kindUUID
	kindBytes
	kindRecords
	kindStruct
)

// fixedSize is the encoded size of numbers and uuids.
var fixedSize = [...]int{kindBool: 1, kindInt8: 1, kindInt16: 2, kindUint16: 2, kindInt32: 4, kindInt64: 8, kindFloat64: 8, kindUUID: 16, kindStruct: 0}

// schemaIndex finds schemas by key.
type schemaIndex [128]*schema

func (x *schemaIndex) find(key int16) *schema {
	if key < 0 || int(key) >= len(x) {
		return nil
	}
	return x[key]
}

func index(list []schema) (x schemaIndex) {
	for i := range list {
		x[list[i].key] = &list[i]
	}
	return x
}

var (
	requestIndex  = index(requestSchemas)
	responseIndex = index(responseSchemas)
	controlIndex  = index(controlSchemas)
	metadataIndex = index(metadataSchemas)
)

// messageSchema is the layout of a request or response, nil if the key has no file here or the version is not known.
func messageSchema(key, version int16, dir Direction) *schema {
	x := &requestIndex
	if dir == Response {
		x = &responseIndex
	}
	if s := x.find(key); s != nil && s.valid.has(version) {
		return s
	}
	return nil
}

// appendDefault appends the encoding of a tagged field's default: what the field holds when Kafka leaves it out.
func (f *field) appendDefault(dst []byte, version int16) []byte {
	switch {
	case f.defNull:
		return append(dst, 0)
	case f.array || f.kind == kindString || f.kind == kindBytes || f.kind == kindRecords:
		return append(dst, 1)
	case f.kind == kindStruct:
		for i := range f.fields {
			if in := &f.fields[i]; in.in.has(version) && !in.tagged.has(version) {
				dst = in.appendDefault(dst, version)
			}
		}
		return append(dst, 0)
	case f.kind == kindUUID:
		return append(dst, make([]byte, 16)...)
	default:
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(f.def))
		return append(dst, b[8-fixedSize[f.kind]:]...)
	}
}

// isDefault reports whether content is the encoding of a tagged field's default.
func (f *field) isDefault(content []byte, version int16) bool {
	var room [64]byte
	return string(content) == string(f.appendDefault(room[:0], version))
}
