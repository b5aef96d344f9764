package proxy

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// field is one field of a message's body and the value it gets.
type field struct {
	key   int16
	dir   wire.Direction
	path  []int // struct field indices from the body; arrays and pointers on the way are passed through
	value reflect.Value
}

// message is what the request and response types of kmsg have in common.
type message interface {
	AppendTo([]byte) []byte
}

func newMessage(key int16, dir wire.Direction) message {
	if dir == wire.Request {
		return kmsg.RequestForKey(key)
	}
	return kmsg.ResponseForKey(key)
}

// newField finds the field that a path names and reads the value for it.
func newField(key int16, dir wire.Direction, path, value string) (*field, error) {
	if path == "" {
		return nil, errors.New("the field's name is missing")
	}
	var found []candidate
	collectFields(reflect.TypeOf(newMessage(key, dir)).Elem(), nil, nil, &found)
	var ending []candidate
	for _, c := range found {
		if strings.EqualFold(c.name, path) {
			ending = []candidate{c}
			break
		}
		if n := len(c.name) - len(path); n > 0 && c.name[n-1] == '.' && strings.EqualFold(c.name[n:], path) {
			ending = append(ending, c)
		}
	}
	title := wire.Name(key) + " " + dir.String()
	switch len(ending) {
	case 0:
		var names []string
		for _, c := range found {
			names = append(names, c.name)
		}
		return nil, fmt.Errorf("a %s has no such field; it has %s", title, strings.Join(names, ", "))
	case 1:
	default:
		return nil, fmt.Errorf("several fields end so: write %s or %s", ending[0].name, ending[1].name)
	}
	v, err := parseValue(ending[0].typ, value)
	if err != nil {
		return nil, fmt.Errorf("%s of a %s: %w", ending[0].name, title, err)
	}
	return &field{key: key, dir: dir, path: ending[0].path, value: v}, nil
}

type candidate struct {
	name string
	path []int
	typ  reflect.Type
}

// collectFields lists the fields of a message's type that a rule can set.
func collectFields(t reflect.Type, names []string, path []int, found *[]candidate) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || len(path) == 0 && f.Name == "Version" || f.Name == "UnknownTags" {
			continue
		}
		here := append(slices.Clone(path), i)
		named := append(slices.Clone(names), f.Name)
		inner := f.Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			collectFields(inner, named, here, found)
			continue
		}
		if settable(f.Type) {
			*found = append(*found, candidate{strings.Join(named, "."), here, f.Type})
		}
	}
}

func settable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint16, reflect.Uint32, reflect.String:
		return true
	case reflect.Array:
		return t.Len() == 16 && t.Elem().Kind() == reflect.Uint8
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	case reflect.Pointer:
		return t.Elem().Kind() == reflect.String
	}
	return false
}

// parseValue reads a value as the field's type has it: numbers, true and false, text, null, ids as Kafka prints them,
// bytes in hexadecimal.
func parseValue(t reflect.Type, text string) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	bad := func(want string) (reflect.Value, error) {
		return v, fmt.Errorf("value %q: want %s", text, want)
	}
	switch t.Kind() {
	case reflect.Bool:
		if text != "true" && text != "false" {
			return bad("true or false")
		}
		v.SetBool(text == "true")
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, t.Bits())
		if err != nil {
			return bad(fmt.Sprintf("a number of %d bits", t.Bits()))
		}
		v.SetInt(n)
	case reflect.Uint16, reflect.Uint32:
		n, err := strconv.ParseUint(text, 10, t.Bits())
		if err != nil {
			return bad(fmt.Sprintf("a number from 0 on, of %d bits", t.Bits()))
		}
		v.SetUint(n)
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		if text != "null" {
			v.Set(reflect.ValueOf(&text))
		}
	case reflect.Array:
		id, err := kraft.ParseDirectoryID(text)
		if err != nil {
			return bad("an id of 22 characters of base64url")
		}
		v.Set(reflect.ValueOf([16]byte(id)).Convert(t))
	case reflect.Slice:
		if text == "null" {
			break
		}
		b, err := hex.DecodeString(text)
		if err != nil {
			return bad("bytes in hexadecimal, or null")
		}
		v.SetBytes(b)
	default:
		return bad("a field of another type")
	}
	return v, nil
}

// apply returns the body with the field set. It reports false if that changes nothing: the field has this
// value already, or this version of the message does not have it.
func (f *field) apply(d *wire.Decoder, body []byte, version int16) ([]byte, bool, error) {
	var m message
	var err error
	if f.dir == wire.Request {
		m, err = d.Request(f.key, version, body)
	} else {
		m, err = d.Response(f.key, version, body)
	}
	if err != nil {
		return nil, false, err
	}
	setField(reflect.ValueOf(m).Elem(), f.path, f.value)
	changed := m.AppendTo(nil)
	return changed, !bytes.Equal(changed, body), nil
}

func setField(v reflect.Value, path []int, value reflect.Value) {
	switch {
	case len(path) == 0:
		v.Set(value)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			setField(v.Index(i), path, value)
		}
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			setField(v.Elem(), path, value)
		}
	default:
		setField(v.Field(path[0]), path[1:], value)
	}
}
