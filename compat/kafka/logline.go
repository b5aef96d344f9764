package kafka

import (
	"strconv"
	"strings"
	"time"
)

// line is one line of a node's log.
type line struct {
	at      time.Time
	level   string
	message string // without stamp, level and logger
	logger  string // simple name of the class
}

const log4j1Stamp = "2006-01-02 15:04:05,000"

// parseLine reads "STAMP LEVEL message (logger)", where the stamp is milliseconds since the epoch or, from
// log4j 1, a date and time in UTC. Lines without a stamp (continuations, stack traces, what Java itself prints)
// are none.
func parseLine(text string) (line, bool) {
	var l line
	stamp, rest, ok := strings.Cut(text, " ")
	if !ok {
		return l, false
	}
	if millis, err := strconv.ParseInt(stamp, 10, 64); err == nil && len(stamp) == 13 {
		l.at = time.UnixMilli(millis)
	} else {
		if len(text) <= len(log4j1Stamp) {
			return l, false
		}
		at, err := time.Parse(log4j1Stamp, text[:len(log4j1Stamp)])
		if err != nil {
			return l, false
		}
		l.at, rest = at, text[len(log4j1Stamp)+1:]
	}
	l.at = l.at.UTC()
	if l.level, l.message, ok = strings.Cut(rest, " "); !ok {
		return l, false
	}
	if i := strings.LastIndex(l.message, " ("); i >= 0 && strings.HasSuffix(l.message, ")") {
		l.message, l.logger = l.message[:i], l.message[i+2:len(l.message)-1]
	}
	return l, true
}

// withoutPrefix cuts "[RaftManager id=1] " off a message.
func withoutPrefix(message string) string {
	if strings.HasPrefix(message, "[") {
		if _, rest, ok := strings.Cut(message, "] "); ok {
			return rest
		}
	}
	return message
}

// field returns what stands behind "name=" up to the next comma or closing bracket. Optional[x],
// OptionalInt[x] and a quoted x are x; Optional.empty, OptionalInt.empty and null are "".
func field(text, name string) (string, bool) {
	for from := 0; ; {
		i := strings.Index(text[from:], name+"=")
		if i < 0 {
			return "", false
		}
		i += from
		from = i + len(name) + 1
		if i > 0 && isWord(text[i-1]) {
			continue // the tail of a longer name
		}
		value := text[from:]
		for _, wrapper := range []string{"OptionalInt[", "Optional["} {
			value = strings.TrimPrefix(value, wrapper)
		}
		if end := strings.IndexAny(value, ",)]"); end >= 0 {
			value = value[:end]
		}
		value = strings.Trim(value, "'")
		switch value {
		case "Optional.empty", "OptionalInt.empty", "null":
			value = ""
		}
		return value, true
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// number is field for integers; ok is false where the field is absent or empty.
func number(text, name string) (int64, bool) {
	value, ok := field(text, name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil
}

// bracketed returns text up to and including the bracket that closes the first one.
func bracketed(text string) string {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return text[:i+1]
			}
		}
	}
	return text
}
