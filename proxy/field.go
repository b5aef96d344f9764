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
	by    int64 // not 0: a number is changed by so much
	flip  int   // not 0: a bit is turned in this byte, counted from the end
	turn  bool  // an array is turned round
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
	change := ""
	if n := len(path); n > 0 && strings.ContainsRune("+-^", rune(path[n-1])) {
		path, change = path[:n-1], path[n-1:]
	}
	if path == "" {
		return nil, errors.New("the field's name is missing")
	}
	var found []candidate
	turn := value == reversed && change == ""
	collectFields(reflect.TypeOf(newMessage(key, dir)).Elem(), nil, nil, &found, turn)
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
	if change != "" {
		return changedField(key, dir, &ending[0], change, value)
	}
	if turn && isArray(ending[0].typ) {
		return &field{key: key, dir: dir, path: ending[0].path, turn: true}, nil
	}
	v, err := parseValue(ending[0].typ, value)
	if err != nil {
		return nil, fmt.Errorf("%s of a %s: %w", ending[0].name, title, err)
	}
	return &field{key: key, dir: dir, path: ending[0].path, value: v}, nil
}

// changedField is a field that is changed relative to what it is.
func changedField(key int16, dir wire.Direction, c *candidate, change, value string) (*field, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n <= 0 {
		return nil, fmt.Errorf("value %q: want a number from 1 on", value)
	}
	f := &field{key: key, dir: dir, path: c.path}
	kind := c.typ.Kind()
	switch {
	case change == "^" && kind == reflect.Slice:
		f.flip = int(n)
	case change == "+" && kind >= reflect.Int8 && kind <= reflect.Int64:
		f.by = n
	case change == "-" && kind >= reflect.Int8 && kind <= reflect.Int64:
		f.by = -n
	default:
		return nil, fmt.Errorf("%s: + and - change numbers, ^ turns a bit in bytes", c.name)
	}
	return f, nil
}

type candidate struct {
	name string
	path []int
	typ  reflect.Type
}

// reversed is the value that turns an array round.
const reversed = "reversed"

func isArray(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8
}

// collectFields lists the fields of a message's type that a rule can set; with arrays also those that it can turn round.
func collectFields(t reflect.Type, names []string, path []int, found *[]candidate, arrays bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || len(path) == 0 && f.Name == "Version" || f.Name == "UnknownTags" {
			continue
		}
		here := append(slices.Clone(path), i)
		named := append(slices.Clone(names), f.Name)
		if arrays && isArray(f.Type) {
			*found = append(*found, candidate{strings.Join(named, "."), here, f.Type})
		}
		inner := f.Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			collectFields(inner, named, here, found, arrays)
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
	f.set(reflect.ValueOf(m).Elem(), f.path)
	changed := m.AppendTo(nil)
	return changed, !bytes.Equal(changed, body), nil
}

func (f *field) set(v reflect.Value, path []int) {
	switch {
	case len(path) == 0 && f.by != 0:
		v.SetInt(v.Int() + f.by)
	case len(path) == 0 && f.flip != 0:
		if b := bytes.Clone(v.Bytes()); len(b) >= f.flip {
			b[len(b)-f.flip] ^= 1
			v.SetBytes(b)
		}
	case len(path) == 0 && f.turn:
		turned := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			turned.Index(v.Len() - 1 - i).Set(v.Index(i))
		}
		v.Set(turned)
	case len(path) == 0:
		v.Set(f.value)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			f.set(v.Index(i), path)
		}
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			f.set(v.Elem(), path)
		}
	default:
		f.set(v.Field(path[0]), path[1:])
	}
}
