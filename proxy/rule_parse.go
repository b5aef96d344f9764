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
//	drop MESSAGE …                  the receiver never gets it
//	cut MESSAGE …                   the connection is closed in its place
//	cut after MESSAGE …             the connection is closed right after it
//	delay DURATION MESSAGE …        it waits, and what follows on its connection and direction
//	duplicate MESSAGE …             the receiver gets it twice
//	reorder [DURATION] MESSAGE …    it waits until another frame reached its receiver; at most a second, if no duration is given
//	truncate N MESSAGE …            the receiver gets its first N bytes
//	blackhole MESSAGE …             it and all that follows on its connection and direction is swallowed
//	partition from NODE to NODE …   everything that one node sends to the other is swallowed
//	answer ERROR MESSAGE …          its answer carries this error code, such as FENCED_LEADER_EPOCH
//	mutate MESSAGE field PATH=VALUE …, mutate PATH=VALUE MESSAGE …; field may be repeated
//
// MESSAGE is a message's name as Kafka has it (Vote, BeginQuorumEpoch, Fetch, …) or any, and may be followed by any of:
//
//	request | response      without either the requests are meant
//	from NODE, to NODE      sender and receiver of the frame: for a response the sender is the node that answers
//	NODE->NODE              the same in short, as in Vote 3->1; * stands for any node
//	after K                 the first K frames are left alone
//	nth K | every K | first K
//	epoch E                 only frames that state this epoch
//	probability P, seed S   only this share of them, such as 0.1; the seed decides which
//
// PATH names a field of the message, with dots; its last parts are enough where only one field ends in them. In arrays the field is
// set in every element. PATH+=N and PATH-=N change a number by so much, PATH^=N turns a bit in the N-th byte from the end of bytes, PATH=reversed
// turns an array round. A frame that mutate would leave as it is does not concern it. The words after MESSAGE may stand in any order.
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

	assigns []int // the words that are PATH=VALUE of a mutation
	had     map[string]bool

	partition bool
	code      kraft.ErrorCode // of an answer
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
	if p.partition && (p.rule.From == anyNode || p.rule.To == anyNode) {
		return p.fault(len(p.words), "partition needs from NODE and to NODE")
	}
	switch {
	case p.rule.Action == Mutate:
		return p.fields()
	case len(p.assigns) > 0:
		return p.fault(p.assigns[0], "only mutate sets a field")
	case p.rule.Action == Answer:
		return p.answer()
	}
	return nil
}

// actions are the words that begin a rule.
var actions = map[string]Action{
	"drop": Drop, "delay": Delay, "cut": Cut, "mutate": Mutate, "duplicate": Duplicate, "reorder": Reorder, "answer": Answer,
	"truncate": Truncate, "blackhole": Blackhole, "partition": Drop,
}

const actionWords = "drop, cut, delay, duplicate, reorder, truncate, blackhole, partition, answer or mutate"

func (p *ruleParser) action() error {
	word, err := p.next("an action (" + actionWords + ")")
	if err != nil {
		return err
	}
	action, ok := actions[word]
	if !ok {
		return p.fault(0, "want an action: %s", actionWords)
	}
	p.rule.Action = action
	p.partition = word == "partition"
	switch action {
	case Mutate:
		if p.at < len(p.words) && strings.Contains(p.words[p.at], "=") {
			p.assigns = append(p.assigns, p.at)
			p.at++
		}
	case Cut:
		if p.at < len(p.words) && p.words[p.at] == "after" {
			p.rule.Action = CutAfter
			p.at++
		}
	case Delay:
		return p.duration()
	case Reorder:
		p.rule.Delay = reorderFor
		if p.at < len(p.words) && p.words[p.at][0] >= '0' && p.words[p.at][0] <= '9' {
			return p.duration()
		}
	case Truncate:
		n := uint64(0)
		if err := p.count(&n); err != nil {
			return err
		}
		p.rule.Keep = int(n)
	case Answer:
		word, err := p.next("an error such as FENCED_LEADER_EPOCH")
		if err != nil {
			return err
		}
		if p.code, ok = kraft.ErrorCodeByName(word); !ok {
			return p.fault(p.at-1, "no error has this name; want one such as NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH")
		}
		p.rule.Dir = wire.Response
	}
	return nil
}

// reorderFor is how long a frame waits at most to be overtaken, unless the rule says otherwise.
const reorderFor = time.Second

func (p *ruleParser) duration() error {
	value, err := p.next("a duration such as 200ms")
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 || d > maxDelay {
		return p.fault(p.at-1, "want a duration above 0 and up to %s, such as 200ms", maxDelay)
	}
	p.rule.Delay = d
	return nil
}

func (p *ruleParser) message() error {
	if p.partition {
		p.rule.BothWays = true
		return nil
	}
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
	switch {
	case word == "request" || word == "response":
		group = "of request and response"
	case word == "nth" || word == "every" || word == "first":
		group = "of nth, every and first"
	case strings.Contains(word, "->"):
		group = "of from and NODE->NODE"
		if p.had["from"] || p.had["to"] {
			return p.fault(at, "only one %s", group)
		}
	case word == "from" || word == "to":
		if p.had["of from and NODE->NODE"] {
			return p.fault(at, "only one of from and NODE->NODE")
		}
	}
	if p.had[group] && word != "field" {
		return p.fault(at, "only one %s", group)
	}
	p.had[group] = true
	if strings.Contains(word, "->") {
		return p.pair(word, at)
	}
	return p.word(word, at)
}

// word reads a clause that begins with this word.
func (p *ruleParser) word(word string, at int) error {
	switch word {
	case "request", "response":
		if p.partition || p.rule.Action == Answer {
			return p.fault(at, "neither partition nor answer takes a direction")
		}
		p.rule.Dir = wire.Request
		if word == "response" {
			p.rule.Dir = wire.Response
		}
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
	case "after":
		return p.count(&p.rule.After)
	case "epoch":
		return p.epoch()
	case "probability":
		return p.probability()
	case "seed":
		return p.seed()
	case "field":
		if _, err := p.next("PATH=VALUE"); err != nil {
			return err
		}
		p.assigns = append(p.assigns, p.at-1)
	default:
		return p.fault(at, "want request, response, from, to, NODE->NODE, nth, every, first, after, epoch, probability, seed or field")
	}
	return nil
}

// pair reads NODE->NODE.
func (p *ruleParser) pair(word string, at int) error {
	from, to, _ := strings.Cut(word, "->")
	for _, side := range []struct {
		text string
		id   *kraft.NodeID
	}{{from, &p.rule.From}, {to, &p.rule.To}} {
		if side.text == "*" {
			continue
		}
		n, err := strconv.ParseInt(side.text, 10, 32)
		if err != nil || n < 0 {
			return p.fault(at, "want NODE->NODE, such as 3->1; * stands for any node")
		}
		*side.id = kraft.NodeID(n)
	}
	return nil
}

func (p *ruleParser) epoch() error {
	word, err := p.next("an epoch")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 0 {
		return p.fault(p.at-1, "want an epoch: a number from 0 on")
	}
	if _, ok := epochField[p.rule.Key]; !ok {
		return p.fault(p.at-1, "only messages that state an epoch can be chosen by it: %s", epochMessages())
	}
	p.rule.Epoch, p.rule.ByEpoch = kraft.Epoch(n), true
	return nil
}

func (p *ruleParser) probability() error {
	word, err := p.next("a share from 0 to 1")
	if err != nil {
		return err
	}
	share, err := strconv.ParseFloat(word, 64)
	if err != nil || !(share > 0 && share <= 1) {
		return p.fault(p.at-1, "want a share above 0 and up to 1, such as 0.1")
	}
	p.rule.Probability = share
	return nil
}

func (p *ruleParser) seed() error {
	word, err := p.next("a seed")
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		return p.fault(p.at-1, "want a seed: a number from 0 on")
	}
	p.rule.Seed = n
	return nil
}

// answer resolves where the error of an answer stands: in its partitions, or at the top where it has none.
func (p *ruleParser) answer() error {
	if p.rule.Key == anyKey {
		return p.fault(len(p.words), "answer needs the name of one message, not any")
	}
	value := strconv.Itoa(int(p.code))
	f, err := newField(p.rule.Key, wire.Response, "Topics.Partitions.ErrorCode", value)
	if err != nil {
		if f, err = newField(p.rule.Key, wire.Response, "ErrorCode", value); err != nil {
			return p.fault(1, "%v", err)
		}
	}
	p.rule.Fields = []*field{f}
	if p.rule.Key == wire.KeyVote { // an error grants nothing
		if f, err = newField(p.rule.Key, wire.Response, "VoteGranted", "false"); err != nil {
			return p.fault(1, "%v", err)
		}
		p.rule.Fields = append(p.rule.Fields, f)
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

// fields resolves what a mutation sets, now that message and direction are known.
func (p *ruleParser) fields() error {
	if len(p.assigns) == 0 {
		return p.fault(len(p.words), "field PATH=VALUE is missing")
	}
	for _, at := range p.assigns {
		path, value, ok := strings.Cut(p.words[at], "=")
		if !ok {
			return p.fault(at, "want PATH=VALUE")
		}
		if p.rule.Key == anyKey {
			return p.fault(at, "mutate needs the name of one message, not any")
		}
		f, err := newField(p.rule.Key, p.rule.Dir, path, value)
		if err != nil {
			return p.fault(at, "%v", err)
		}
		p.rule.Fields = append(p.rule.Fields, f)
	}
	return nil
}
