package wire

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

// ErrTooBig marks a body that could take far more memory to decode than its size.
var ErrTooBig = errors.New("too big to decode")

// decodeBudget bounds the memory that decoding one body may take, bytes.
const decodeBudget = 64 << 20

// Decoder decodes bodies with kmsg. It keeps one message of each kind and uses it again; it has one owner.
// The zero value is ready.
type Decoder struct {
	requests  [len(apiNames)]slot
	responses [len(apiNames)]slot
	fetch     FetchRequest
	fetched   FetchResponse
}

// slot holds the reused message of one key and direction.
type slot struct {
	request  kmsg.Request
	response kmsg.Response
	value    reflect.Value // the struct behind it
	limit    int           // the largest body without its opaque parts, bytes
}

// Request decodes a request's body. The result is valid until the next call of Request for the same key; its byte
// fields are part of the body. The error names the key and version and wraps [ErrUnsupported], [ErrTooBig] or
// [ErrMalformed].
func (d *Decoder) Request(key, version int16, body []byte) (kmsg.Request, error) {
	if !Decodable(key, version) {
		return nil, fmt.Errorf("%s v%d request: %w", Name(key), version, ErrUnsupported)
	}
	s := &d.requests[key]
	if s.request == nil {
		s.request = kmsg.RequestForKey(key)
		s.init(s.request)
	}
	if len(body) > s.limit && len(body)-opaqueInRequest(key, body) > s.limit {
		return nil, fmt.Errorf("%s v%d request of %d bytes: %w", Name(key), version, len(body), ErrTooBig)
	}
	s.value.SetZero()
	s.request.SetVersion(version)
	if err := s.request.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%s v%d request of %d bytes: %w: %w", Name(key), version, len(body), ErrMalformed, err)
	}
	return s.request, nil
}

// Response decodes the body of the response to a request of this key and version; otherwise like Request. An
// ApiVersions response that refuses the version has the layout of v0, and the result says so by its version.
func (d *Decoder) Response(key, version int16, body []byte) (kmsg.Response, error) {
	version = responseVersion(key, version, body)
	if !Decodable(key, version) {
		return nil, fmt.Errorf("%s v%d response: %w", Name(key), version, ErrUnsupported)
	}
	s := &d.responses[key]
	if s.response == nil {
		s.response = kmsg.ResponseForKey(key)
		s.init(s.response)
	}
	if len(body) > s.limit && len(body)-opaqueInResponse(key, version, body) > s.limit {
		return nil, fmt.Errorf("%s v%d response of %d bytes: %w", Name(key), version, len(body), ErrTooBig)
	}
	s.value.SetZero()
	s.response.SetVersion(version)
	if err := s.response.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%s v%d response of %d bytes: %w: %w", Name(key), version, len(body), ErrMalformed, err)
	}
	return s.response, nil
}

// responseVersion is the version whose layout a response has. A server that does not know the version of an
// ApiVersions request answers UNSUPPORTED_VERSION with the body of v0.
func responseVersion(key, version int16, body []byte) int16 {
	if key == KeyAPIVersions && version > 0 && len(body) >= 2 &&
		body[0] == 0 && kraft.ErrorCode(body[1]) == kraft.UnsupportedVersion {
		return 0
	}
	return version
}

func (s *slot) init(message any) {
	s.value = reflect.ValueOf(message).Elem()
	s.limit = decodeBudget / perByte(s.value.Type())
}

// tagsCost is what a struct with one unknown tag holds beside its own size, bytes.
const tagsCost = 320

// perByte bounds how many bytes of memory one encoded byte can become in a message of this type: an array of n
// elements needs at least n bytes, and arrays of arrays share the same bytes level by level.
func perByte(t reflect.Type) int {
	switch t.Kind() {
	case reflect.Pointer:
		return perByte(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return 1
		}
		return int(t.Elem().Size()) + perByte(t.Elem())
	case reflect.Struct:
		if t == reflect.TypeFor[kmsg.Tags]() {
			return tagsCost
		}
		deepest := 1
		for i := range t.NumField() {
			deepest = max(deepest, perByte(t.Field(i).Type))
		}
		return deepest
	default:
		return 1
	}
}

// opaqueInRequest is the number of bytes of a request that stay one slice when it is decoded.
func opaqueInRequest(key int16, body []byte) int {
	if key == KeyEnvelope {
		r := reader{b: body, flex: true}
		return len(r.blob())
	}
	return 0
}

func opaqueInResponse(key, version int16, body []byte) int {
	switch key {
	case KeyFetch:
		var f FetchResponse
		if f.Parse(version, body) == nil {
			return len(f.Records)
		}
	case KeyFetchSnapshot:
		var f FetchSnapshotResponse
		if f.Parse(version, body) == nil {
			return len(f.Bytes)
		}
	case KeyEnvelope:
		r := reader{b: body, flex: true}
		return len(r.blob())
	}
	return 0
}
