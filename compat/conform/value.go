package conform

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// unknownFact says that a $name is not known of the target, so that the case cannot be asked of it.
type unknownFact struct{ name string }

// unknownBecause says why facts may not be known, where that is known.
var unknownBecause = map[string]string{
	"oldVoteEpoch":  "the quorum is in its first epoch",
	"from":          "the leader's log is empty behind its snapshot",
	"snapshotEnd":   "the leader has no snapshot",
	"snapshotEpoch": "the leader has no snapshot",
	"cluster":       "the cluster id is not known: name it with --cluster-id",
	"node":          "the target's node id is not known: name it with --node-id",
	"directory":     "the target's directory id is not known",
	"leaderHost":    "the target does not say where its leader is",
	"logEnd":        "no leader tells its log end",
}

func (u *unknownFact) Error() string {
	if why, ok := unknownBecause[u.name]; ok {
		return why
	}
	return "$" + u.name + " is not known of this target"
}

// facts are what $names stand for: int64, string or [16]byte.
type facts map[string]any

// errorCodes are protocol errors by Kafka's name.
var errorCodes = func() map[string]int64 {
	codes := map[string]int64{}
	for code := kraft.ErrorCode(-1); code < 140; code++ {
		codes[wire.ErrorName(code)] = int64(code)
	}
	return codes
}()

// strangeDirectory is a directory id that no replica has.
var strangeDirectory = [16]byte{0: 0x5e, 1: 0x0d, 6: 0x40, 8: 0x80, 15: 0x77}

// literal evaluates the text of a value: $name, $name+N, $name-N, a number, an error's name, or text.
func (f facts) literal(text string) (any, error) {
	if !strings.HasPrefix(text, "$") {
		if code, ok := errorCodes[text]; ok {
			return code, nil
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		return text, nil
	}
	name, by := text[1:], int64(0)
	if i := strings.IndexAny(name, "+-"); i >= 0 {
		n, err := strconv.ParseInt(name[i:], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		name, by = name[:i], n
	}
	v, ok := f[name]
	if !ok {
		return nil, &unknownFact{name}
	}
	if n, ok := v.(int64); ok {
		return n + by, nil
	}
	return v, nil
}

// number evaluates a value that must be a number.
func (f facts) number(text string) (int64, error) {
	v, err := f.literal(text)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}

// edit changes a message as the text says: "PATH=VALUE …".
func (f facts) edit(message any, text string, version int16) error {
	for item := range strings.FieldsSeq(expand(text, version)) {
		path, value, ok := strings.Cut(item, "=")
		if !ok {
			return fmt.Errorf("edit %q: want PATH=VALUE", item)
		}
		if list, ok := strings.CutSuffix(path, ".len"); ok {
			v, err := field(message, list)
			if err != nil {
				return err
			}
			n, err := f.number(value)
			if err != nil {
				return err
			}
			resize(v, int(n))
			continue
		}
		v, err := field(message, path)
		if err != nil {
			return err
		}
		if err := f.set(v, value); err != nil {
			return fmt.Errorf("edit %q: %w", item, err)
		}
	}
	return nil
}

// set gives a field the value that the text stands for.
func (f facts) set(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(text == "true")
		return nil
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := f.number(text)
		if err == nil {
			v.SetInt(n)
		}
		return err
	case reflect.Uint16:
		n, err := f.number(text)
		if err == nil {
			v.SetUint(uint64(n))
		}
		return err
	case reflect.Array:
		id, err := f.id(text)
		if err == nil {
			v.Set(reflect.ValueOf(id))
		}
		return err
	case reflect.String, reflect.Pointer:
		s, err := f.text(text)
		if err != nil {
			return err
		}
		switch {
		case v.Kind() == reflect.String:
			v.SetString(s)
		case text == "null":
			v.SetZero()
		default:
			v.Set(reflect.ValueOf(&s))
		}
		return nil
	default:
		return fmt.Errorf("a %s cannot be set", v.Type())
	}
}

func (f facts) text(text string) (string, error) {
	if text == "empty" {
		return "", nil
	}
	v, err := f.literal(text)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(v), nil
}

// id evaluates a value of 16 bytes.
func (f facts) id(text string) (id [16]byte, err error) {
	switch text {
	case "zero":
		return id, nil
	case "metadata":
		return wire.MetadataTopicID, nil
	case "strange":
		return strangeDirectory, nil
	}
	v, err := f.literal(text)
	if err != nil {
		return id, err
	}
	id, ok := v.([16]byte)
	if !ok {
		return id, fmt.Errorf("%q is not an id", text)
	}
	return id, nil
}

// missing finds a $name in a text that is not known.
func (f facts) missing(text string) error {
	for item := range strings.FieldsSeq(text) {
		_, name, ok := strings.Cut(item, "$")
		if !ok {
			continue
		}
		if i := strings.IndexAny(name, "+-"); i >= 0 {
			name = name[:i]
		}
		if _, ok := f[name]; !ok {
			return &unknownFact{name}
		}
	}
	return nil
}

// unaskable says what must be known for a step and is not: a fact that its request needs, or each of its alternatives.
func (f facts) unaskable(s *Step) error {
	if err := f.missing(expand(s.Ask, s.Version)); err != nil {
		return err
	}
	var first error
	for _, text := range s.Want {
		err := f.missing(expand(text, s.Version))
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}
