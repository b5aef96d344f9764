package conform

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/understudy-kafka/understudy/wire"
)

// A twin is a node like the one that passed a case, but for one thing that the case asserts: its answer says
// otherwise there. twins calls visit with each twin of what was said, and what is broken in it.
func twins(r *Result, visit func(what string, talk []Spoken)) error {
	for i := range r.Case.Steps {
		step := &r.Case.Steps[i]
		if i >= len(r.Talk) {
			break
		}
		with := func(what string, change func(*Spoken)) {
			talk := slices.Clone(r.Talk)
			change(&talk[i])
			visit(fmt.Sprintf("answer %d: %s", i+1, what), talk)
		}
		if step.Closes {
			with("an answer instead of the end", func(s *Spoken) { s.Answer, s.Closed = []byte{0, 0, 0, 1, 0, 0}, false })
			with("silence instead of the end", func(s *Spoken) { s.Closed = false })
			continue
		}
		with("the end instead of an answer", func(s *Spoken) { s.Answer, s.Closed = nil, true })
		with("another correlation id", func(s *Spoken) {
			s.Answer = slices.Clone(s.Answer)
			s.Answer[3]++
		})
		with("a byte behind the answer", func(s *Spoken) { s.Answer = append(slices.Clone(s.Answer), 0) })
		if err := fieldTwins(r, step, i, with); err != nil {
			return err
		}
	}
	return nil
}

// fieldTwins breaks each asserted field in turn.
func fieldTwins(r *Result, step *Step, i int, with func(string, func(*Spoken))) error {
	said := &r.Talk[i]
	wants, err := passedWants(r, step, said)
	if err != nil {
		return err
	}
	for _, w := range wants {
		if w.path == elapsed {
			with(w.String(), func(s *Spoken) { s.Elapsed = brokenTime(r.Target.facts, w) })
			continue
		}
		answer, err := reencoded(said, func(message any) error { return breakField(r.Target.facts, message, w) })
		if err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
		with(w.String(), func(s *Spoken) { s.Answer = answer })
	}
	if step.Check != nil {
		answer, err := reencoded(said, func(message any) error { step.Check.spoil(r.Target, message); return nil })
		if err != nil {
			return err
		}
		with(step.Check.says, func(s *Spoken) { s.Answer = answer })
	}
	return nil
}

// passedWants are the assertions of the alternative that holds.
func passedWants(r *Result, step *Step, said *Spoken) ([]want, error) {
	answer, err := hear(said)
	if err != nil {
		return nil, err
	}
	for _, text := range step.Want {
		wants, err := parseWants(text, step.Version)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(wants, func(w want) bool { return w.holds(r.Target.facts, answer.message, said.Elapsed) != nil }) {
			return wants, nil
		}
	}
	return nil, nil
}

// reencoded is the answer with a change to its message.
func reencoded(said *Spoken, change func(any) error) ([]byte, error) {
	_, body, err := wire.ParseResponseHeader(said.Answer, said.Key, said.Version)
	if err != nil {
		return nil, err
	}
	var d wire.Decoder
	message, err := d.Response(said.Key, said.Version, body)
	if err != nil {
		return nil, err
	}
	if err := change(message); err != nil {
		return nil, err
	}
	frame := slices.Clone(said.Answer[:len(said.Answer)-len(body)])
	frame = message.AppendTo(frame)
	if slices.Equal(frame, said.Answer) {
		return nil, fmt.Errorf("v%d does not carry the field: the assertion can never fail", said.Version)
	}
	return frame, nil
}

// breakField gives the field of an assertion that holds a value for which it does not.
func breakField(f facts, message any, w want) error {
	path, length := strings.CutSuffix(w.path, ".len")
	v, err := field(message, path)
	if err != nil {
		return err
	}
	if length {
		n, err := brokenNumber(f, w, int64(v.Len()))
		if err == nil {
			resize(v, int(max(0, n)))
		}
		return err
	}
	switch v.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := brokenNumber(f, w, v.Int())
		v.SetInt(n)
		return err
	case reflect.Uint16:
		n, err := brokenNumber(f, w, int64(v.Uint()))
		v.SetUint(uint64(n))
		return err
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Array:
		if w.op == "!=" {
			id, err := f.id(w.value)
			v.Set(reflect.ValueOf(id))
			return err
		}
		v.Index(0).SetUint(v.Index(0).Uint() ^ 0xff)
	case reflect.String:
		v.SetString(brokenText(w, v.String()))
	case reflect.Pointer:
		text := "x"
		if !v.IsNil() {
			text = brokenText(w, v.Elem().String())
		}
		v.Set(reflect.ValueOf(&text))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	default:
		return fmt.Errorf("%s: no twin of a %s", w.path, v.Type())
	}
	return nil
}

func brokenNumber(f facts, w want, have int64) (int64, error) {
	bound, err := f.number(w.value)
	switch w.op {
	case "!=":
		return bound, err
	case ">=":
		return bound - 1, err
	case "<=":
		return bound + 1, err
	default:
		return have + 1, err
	}
}

func brokenText(w want, have string) string {
	if w.value == "some" {
		return ""
	}
	return have + "x"
}

func brokenTime(f facts, w want) time.Duration {
	n, _ := brokenNumber(f, w, 0)
	return time.Duration(n) * time.Millisecond
}

// correlationOf is a frame's correlation id, and withoutCorrelation the rest of a request frame.
func correlationOf(frame []byte) uint32 { return binary.BigEndian.Uint32(frame[4:]) }

func withoutCorrelation(frame []byte) string {
	return string(frame[:4]) + string(frame[8:])
}
