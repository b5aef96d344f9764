package twin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/understudy-kafka/understudy/compat/oracle"
)

// expected is the brief answer that the harness gives if Kafka has done what the machine did.
type expected struct {
	history int
	head    []byte
	effects []byte // one behind the other, as the harness writes them
	ends    []int  // of each in effects
	servers int    // bootstrap servers, whose draws do not count
	refusal bool   // whether a refusal counts

	list []oracle.Effect // the same effects, for those that are equal but for what is normalised
}

// foresee writes down what the harness answers. The digest of the state is part of it if there is one.
func (x *expected) foresee(n *node, c *oracle.Command, o *outcome, refused bool, state *oracle.State) {
	x.servers, x.list = n.servers(), o.effects
	switch c.Cmd {
	case "append", "schedule", "resign", "upgrade", "request", "response":
		x.refusal = true
	default:
		x.refusal = false
	}
	flag := func(on bool) byte {
		if on {
			return '1'
		}
		return '0'
	}
	b := x.head[:0]
	b = append(b, flag(x.refusal && refused), flag(n.dead), flag(n.finished && !n.dead), flag(o.deleted), ' ')
	offset := int64(0)
	if c.Cmd == "append" && !o.refused {
		offset = int64(o.offset)
	}
	b = append(strconv.AppendInt(b, offset, 10), ' ', '[')
	for i, w := range o.waits {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, w, 10)
	}
	b = append(b, ']', ' ')
	if state != nil {
		b = strconv.AppendUint(b, n.digest(state), 16)
	} else {
		b = append(b, '-')
	}
	b = append(b, ' ')
	x.head = b
	x.effects, x.ends = x.effects[:0], x.ends[:0]
	for i := range o.effects {
		if !compared(&o.effects[i], x.servers) {
			continue
		}
		x.effects = appendEffect(x.effects, &o.effects[i])
		x.ends = append(x.ends, len(x.effects))
	}
}

// appendEffect writes an effect as the harness does.
func appendEffect(b []byte, e *oracle.Effect) []byte {
	b = append(append(append(b, '[', '"'), e.Kind...), '"')
	for _, a := range e.Args {
		b = appendValue(append(b, ','), a)
	}
	return append(b, ']')
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return append(append(append(b, '"'), v...), '"')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e)
		}
		return append(b, ']')
	}
	return fmt.Append(b, v)
}

// matches reports whether the harness has answered what was foreseen.
func (x *expected) matches(answer []byte) bool {
	answer = bytes.TrimSuffix(answer, []byte{'\n'})
	if len(answer) < len(x.head) || len(answer) == 0 {
		return false
	}
	if !x.refusal {
		answer[0] = x.head[0]
	}
	rest, ok := bytes.CutPrefix(answer, x.head)
	if !ok {
		return false
	}
	return x.sameBytes(rest) || x.sameDecisions(rest)
}

// sameBytes compares the effects that count, byte by byte.
func (x *expected) sameBytes(list []byte) bool {
	if len(list) < 2 {
		return false
	}
	list = list[1 : len(list)-1] // without the outer brackets
	at, k := 0, 0
	for len(list) > 0 {
		if list[0] == ',' {
			list = list[1:]
		}
		end := element(list)
		if end == 0 {
			return false
		}
		one := list[:end]
		list = list[end:]
		if uncounted(one, x.servers) {
			continue
		}
		if k == len(x.ends) || !bytes.Equal(one, x.effects[at:x.ends[k]]) {
			return false
		}
		at = x.ends[k]
		k++
	}
	return k == len(x.ends)
}

// element is the length of the list at the start of text, 0 if there is none. Texts in it hold no quotes.
func element(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			n := bytes.IndexByte(text[i+1:], '"')
			if n < 0 {
				return 0
			}
			i += n + 1
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// uncounted is compared's answer for an effect in the harness's words.
func uncounted(effect []byte, servers int) bool {
	kind, rest, ok := bytes.Cut(effect[2:], []byte{'"'})
	if !ok {
		return false
	}
	if string(kind) == "draw" {
		var want [24]byte
		b := strconv.AppendInt(append(want[:0], `,"0:`...), int64(servers), 10)
		return bytes.HasPrefix(rest, append(b, '"'))
	}
	return slices.Contains(uncompared, string(kind))
}

// sameDecisions compares the effects as the lines that decide.
func (x *expected) sameDecisions(list []byte) bool {
	var kafka []oracle.Effect
	if err := json.Unmarshal(list, &kafka); err != nil {
		return false
	}
	return slices.Equal(lines(kafka, x.servers), lines(x.list, x.servers))
}
