package proxy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// RuleError says what is wrong with a fault rule, and where.
type RuleError struct {
	Text    string
	Offset  int    // of the offending word in Text, bytes; len(Text) if a word is missing
	Word    string // "" if a word is missing
	Problem string
}

func (e *RuleError) Error() string {
	where := "at its end"
	if e.Word != "" {
		where = fmt.Sprintf("at %q (column %d)", e.Word, e.Offset+1)
	}
	return fmt.Sprintf("fault rule %q: %s: %s", e.Text, where, e.Problem)
}

// ErrRule marks the error of a fault rule that cannot be read.
var ErrRule = errors.New("bad fault rule")

// Is makes errors.Is(err, ErrRule) work.
func (e *RuleError) Is(target error) bool { return target == ErrRule }

const maxDelay = 10 * time.Minute

// ParseRule reads a fault rule:
//
//	drop                  MESSAGE [request|response] [from NODE] [to NODE] [nth K | every K | first K]
//	cut                   MESSAGE …
//	delay DURATION        MESSAGE …
//	mutate                MESSAGE [request|response] field PATH=VALUE …
//	mutate PATH=VALUE     MESSAGE …
//
// MESSAGE is a message's name as Kafka has it (Vote, BeginQuorumEpoch, Fetch, …) or any. Without request or response
// the requests are meant. From and to are the sender and the receiver of the frame: for a response the sender is the
// node that answers. PATH names a field of the message, with dots; its last parts are enough where only one field ends
// in them. In arrays the field is set in every element. The words after MESSAGE may stand in any order.
func ParseRule(text string) (*Rule, error) {
	p := &ruleParser{text: text, rule: &Rule{Text: text, Key: anyKey, From: anyNode, To: anyNode}}
	p.split()
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p.rule, nil
}

type ruleParser struct {
	text   string
	words  []string
	starts []int
	at     int // the next word
	rule   *Rule

	assign   string // PATH=VALUE of a mutation
	assignAt int
	had      map[string]bool
}

func (p *ruleParser) split() {
	start := -1
	for i := 0; i <= len(p.text); i++ {
		if i < len(p.text) && !strings.ContainsRune(" \t\r\n", rune(p.text[i])) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			p.words = append(p.words, p.text[start:i])
			p.starts = append(p.starts, start)
			start = -1
		}
	}
}

// fault reports a problem with a word; an index behind the last one stands for a missing word.
func (p *ruleParser) fault(index int, format string, args ...any) error {
	e := &RuleError{Text: p.text, Offset: len(p.text), Problem: fmt.Sprintf(format, args...)}
	if index < len(p.words) {
		e.Offset, e.Word = p.starts[index], p.words[index]
	}
	return e
}

// next takes a word; want says what is expected where there is none.
func (p *ruleParser) next(want string) (string, error) {
	if p.at == len(p.words) {
		return "", p.fault(p.at, "%s is missing", want)
	}
	p.at++
	return p.words[p.at-1], nil
}

func (p *ruleParser) parse() error {
	if err := p.action(); err != nil {
		return err
	}
	if err := p.message(); err != nil {
		return err
	}
	p.had = map[string]bool{}
	for p.at < len(p.words) {
		if err := p.clause(); err != nil {
			return err
		}
	}
	if p.rule.Action == Mutate {
		return p.field()
	}
	if p.assign != "" {
		return p.fault(p.assignAt, "only mutate sets a field")
	}
	return nil
}

func (p *ruleParser) action() error {
	word, err := p.next("an action (drop, delay, cut or mutate)")
	if err != nil {
		return err
	}
	switch word {
	case "drop":
		p.rule.Action = Drop
	case "cut":
		p.rule.Action = Cut
	case "mutate":
		p.rule.Action = Mutate
		if p.at < len(p.words) && strings.Contains(p.words[p.at], "=") {
			p.assign, p.assignAt = p.words[p.at], p.at
			p.at++
		}
	case "delay":
		p.rule.Action = Delay
		value, err := p.next("a duration such as 200ms")
		if err != nil {
			return err
		}
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > maxDelay {
			return p.fault(p.at-1, "want a duration above 0 and up to %s, such as 200ms", maxDelay)
		}
		p.rule.Delay = d
	default:
		return p.fault(0, "want an action: drop, delay, cut or mutate")
	}
	return nil
}

func (p *ruleParser) message() error {
	word, err := p.next("a message name such as Vote, or any,")
	if err != nil {
		return err
	}
	if word == "any" {
		return nil
	}
	key, ok := wire.KeyOf(word)
	if !ok {
		for key := range int16(kmsg.MaxKey + 1) {
			if strings.EqualFold(wire.Name(key), word) {
				return p.fault(p.at-1, "no message has this name; did you mean %s?", wire.Name(key))
			}
		}
		return p.fault(p.at-1, "no message has this name; want one such as Vote, Fetch or BeginQuorumEpoch, or any")
	}
	p.rule.Key = key
	return nil
}

func (p *ruleParser) clause() error {
	word := p.words[p.at]
	at := p.at
	p.at++
	group := word
	switch word {
	case "request", "response":
		group = "of request and response"
	case "nth", "every", "first":
		group = "of nth, every and first"
	}
	if p.had[group] {
		return p.fault(at, "only one %s", group)
	}
	p.had[group] = true
	switch word {
	case "request":
		p.rule.Dir = wire.Request
	case "response":
		p.rule.Dir = wire.Response
	case "from":
		return p.node(&p.rule.From)
	case "to":
		return p.node(&p.rule.To)
	case "nth":
		return p.count(&p.rule.Nth)
	case "every":
		return p.count(&p.rule.Every)
	case "first":
		return p.count(&p.rule.First)
	case "field":
		value, err := p.next("PATH=VALUE")
		if err != nil {
			return err
		}
		if p.assign != "" {
			return p.fault(p.at-1, "a rule sets one field")
		}
		p.assign, p.assignAt = value, p.at-1
	default:
		return p.fault(at, "want request, response, from, to, nth, every, first or field")
	}
	return nil
}

func (p *ruleParser) node(id *kraft.NodeID) error {
	word, err := p.next("a node id")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 0 {
		return p.fault(p.at-1, "want a node id: a number from 0 on")
	}
	*id = kraft.NodeID(n)
	return nil
}

func (p *ruleParser) count(k *uint64) error {
	word, err := p.next("a count")
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(word, 10, 32)
	if err != nil || n == 0 {
		return p.fault(p.at-1, "want a count: a number from 1 on")
	}
	*k = n
	return nil
}

// field resolves what a mutation sets, now that message and direction are known.
func (p *ruleParser) field() error {
	if p.assign == "" {
		return p.fault(len(p.words), "field PATH=VALUE is missing")
	}
	path, value, ok := strings.Cut(p.assign, "=")
	if !ok {
		return p.fault(p.assignAt, "want PATH=VALUE")
	}
	if p.rule.Key == anyKey {
		return p.fault(p.assignAt, "mutate needs the name of one message, not any")
	}
	f, err := newField(p.rule.Key, p.rule.Dir, path, value)
	if err != nil {
		return p.fault(p.assignAt, "%v", err)
	}
	p.rule.Field = f
	return nil
}
