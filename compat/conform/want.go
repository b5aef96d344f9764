package conform

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// want is one assertion about an answer: "PATH OP VALUE", or about how long it took: "@elapsedMs OP N".
type want struct {
	path, op, value string
}

func (w want) String() string { return w.path + w.op + w.value }

const elapsed = "@elapsedMs"

// operators are tried in this order, so the longer ones come first.
var operators = []string{"!=", ">=", "<=", "="}

// expand leaves out of a text of assertions those that a version does not have: "v3+:x=1" holds from 3 on, "v2-:x=1"
// up to 2.
func expand(text string, version int16) string {
	var kept []string
	for item := range strings.FieldsSeq(text) {
		scope, rest, ok := strings.Cut(item, ":")
		if !ok || !strings.HasPrefix(scope, "v") {
			kept = append(kept, item)
			continue
		}
		n, err := strconv.Atoi(strings.TrimRight(scope[1:], "+-"))
		if err != nil {
			kept = append(kept, item)
			continue
		}
		up := strings.HasSuffix(scope, "+")
		if up && version >= int16(n) || !up && version <= int16(n) {
			kept = append(kept, rest)
		}
	}
	return strings.Join(kept, " ")
}

func parseWants(text string, version int16) ([]want, error) {
	var wants []want
	for item := range strings.FieldsSeq(expand(text, version)) {
		at := slices.IndexFunc(operators, func(op string) bool { return strings.Contains(item, op) })
		if at < 0 {
			return nil, fmt.Errorf("assertion %q has no operator", item)
		}
		path, value, _ := strings.Cut(item, operators[at])
		wants = append(wants, want{path, operators[at], value})
	}
	return wants, nil
}

// holds checks the assertion; nil if it does.
func (w want) holds(f facts, message any, took time.Duration) error {
	if w.path == elapsed {
		return w.compare(f, took.Milliseconds())
	}
	if list, ok := strings.CutSuffix(w.path, ".len"); ok {
		v, err := field(message, list)
		if err != nil {
			return err
		}
		return w.compare(f, int64(v.Len()))
	}
	v, err := field(message, w.path)
	if err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return w.compare(f, v.Int())
	case reflect.Uint16:
		return w.compare(f, int64(v.Uint()))
	case reflect.Bool:
		return w.same(strconv.FormatBool(v.Bool()), w.value)
	case reflect.Array:
		id, err := f.id(w.value)
		if err != nil {
			return err
		}
		return w.same(fmt.Sprintf("%x", v.Interface()), fmt.Sprintf("%x", id))
	case reflect.String:
		return w.text(f, v.String(), false)
	case reflect.Pointer:
		if v.IsNil() {
			return w.text(f, "", true)
		}
		return w.text(f, v.Elem().String(), false)
	case reflect.Slice:
		return w.text(f, fmt.Sprintf("%x", v.Interface()), v.IsNil())
	default:
		return fmt.Errorf("%s: a %s cannot be compared", w.path, v.Type())
	}
}

// text compares text, of which most cases only say whether there is any.
func (w want) text(f facts, have string, null bool) error {
	switch w.value {
	case "null":
		return w.same(strconv.FormatBool(null), "true")
	case "some":
		if have == "" {
			return fmt.Errorf("%s is empty, want text", w.path)
		}
		return nil
	}
	if null {
		return fmt.Errorf("%s is null, want %s", w.path, w.value)
	}
	expected, err := f.text(w.value)
	if err != nil {
		return err
	}
	return w.same(have, expected)
}

func (w want) same(have, expected string) error {
	if (have == expected) == (w.op == "!=") {
		return fmt.Errorf("%s is %s, want %s%s", w.path, have, strings.TrimPrefix(w.op, "="), w.value)
	}
	return nil
}

func (w want) compare(f facts, have int64) error {
	expected, err := f.number(w.value)
	if err != nil {
		return err
	}
	ok := false
	switch w.op {
	case "=":
		ok = have == expected
	case "!=":
		ok = have != expected
	case ">=":
		ok = have >= expected
	case "<=":
		ok = have <= expected
	}
	if ok {
		return nil
	}
	text := strconv.FormatInt(expected, 10)
	if w.value != text {
		text = w.value + " (" + text + ")"
	}
	return fmt.Errorf("%s is %d, want %s%s", w.path, have, strings.TrimPrefix(w.op, "="), text)
}
