package properties

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft/storage"
)

// Error is a property that cannot be used.
type Error struct {
	File     string
	Property string
	Reason   string
}

func (e *Error) Error() string { return e.File + ": " + e.Property + " " + e.Reason }

// source is the text of a file, and what was asked of it.
type source struct {
	file   string
	values map[string]string
	asked  map[string]bool
	err    error // the first refusal
}

func newSource(file, text string) (*source, error) {
	values, err := storage.ParseProperties(text)
	if err != nil {
		return nil, fmt.Errorf("property file %s: %w", file, err)
	}
	return &source{file: file, values: values, asked: map[string]bool{}}, nil
}

func readSource(file string) (*source, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("property file: %w", err)
	}
	return newSource(file, string(text))
}

// refuse keeps the first refusal: what is read after it counts for nothing.
func (s *source) refuse(property, format string, args ...any) {
	if s.err == nil {
		s.err = &Error{File: s.file, Property: property, Reason: fmt.Sprintf(format, args...)}
	}
}

// ignored are the properties that nobody has asked for, sorted.
func (s *source) ignored() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if !s.asked[name] {
			names = append(names, name)
		}
	}
	return names
}

// lookup is a value without the blanks around it (Kafka: ConfigDef.parseType).
func (s *source) lookup(name string) (string, bool) {
	s.asked[name] = true
	value, ok := s.values[name]
	return trim(value), ok
}

// trim drops what String.trim of Java drops.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
}

func (s *source) text(name, fallback string) string {
	if value, ok := s.lookup(name); ok {
		return value
	}
	return fallback
}

// integer is a number of at least least. Properties of Java's type int end at 2^31-1.
func (s *source) integer(name string, bits int, least, fallback int64) int64 {
	value, ok := s.lookup(name)
	if !ok {
		return fallback
	}
	n, err := strconv.ParseInt(value, 10, bits)
	switch {
	case err != nil:
		s.refuse(name, "is %q: want a number of %d bits", value, bits)
	case n < least:
		s.refuse(name, "is %d: want %d or more", n, least)
	}
	return n
}

func (s *source) int32(name string, least, fallback int32) int32 {
	return int32(s.integer(name, 32, int64(least), int64(fallback)))
}

func (s *source) boolean(name string, fallback bool) bool {
	value, ok := s.lookup(name)
	switch {
	case !ok:
		return fallback
	case strings.EqualFold(value, "true"):
		return true
	case !strings.EqualFold(value, "false"):
		s.refuse(name, "is %q: want true or false", value)
	}
	return false
}

// list splits at commas. An empty value is an empty list, an empty entry is an entry.
func (s *source) list(name string, fallback ...string) []string {
	value, ok := s.lookup(name)
	if !ok {
		return fallback
	}
	return split(value)
}

// names is a list of which no entry may be empty. What stands in it twice counts once (KIP-1161; Kafka: ConfigDef.ValidList).
func (s *source) names(name string, fallback ...string) (all []string) {
	for _, one := range s.list(name, fallback...) {
		switch {
		case one == "":
			s.refuse(name, "has an empty entry")
		case !slices.Contains(all, one):
			all = append(all, one)
		}
	}
	return all
}

func split(value string) []string {
	if value == "" {
		return nil
	}
	all := strings.Split(value, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}
