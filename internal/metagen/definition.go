package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// message is a message definition as Kafka writes it (Kafka: clients/src/main/resources/common/message/README.md).
type message struct {
	APIKey           int      `json:"apiKey"`
	Type             string   `json:"type"`
	Name             string   `json:"name"`
	ValidVersions    string   `json:"validVersions"`
	FlexibleVersions string   `json:"flexibleVersions"`
	Fields           []field  `json:"fields"`
	CommonStructs    []common `json:"commonStructs"`
}

type common struct {
	Name   string  `json:"name"`
	Fields []field `json:"fields"`
}

type field struct {
	Name             string          `json:"name"`
	Type             string          `json:"type"`
	Versions         string          `json:"versions"`
	NullableVersions string          `json:"nullableVersions"`
	TaggedVersions   string          `json:"taggedVersions"`
	Tag              int             `json:"tag"`
	Default          json.RawMessage `json:"default"`
	Fields           []field         `json:"fields"`
}

// parse reads a definition: JSON with // comments.
func parse(text []byte) (*message, error) {
	m := new(message)
	if err := json.Unmarshal(uncomment(text), m); err != nil {
		return nil, err
	}
	structs := map[string][]field{}
	for _, c := range m.CommonStructs {
		structs[c.Name] = c.Fields
	}
	resolve(m.Fields, structs)
	return m, nil
}

// resolve gives fields of a common struct's type the fields of that struct.
func resolve(fields []field, structs map[string][]field) {
	for i := range fields {
		f := &fields[i]
		if shared, ok := structs[strings.TrimPrefix(f.Type, "[]")]; ok && f.Fields == nil {
			f.Fields = append([]field(nil), shared...)
		}
		resolve(f.Fields, structs)
	}
}

// uncomment blanks // comments outside of strings.
func uncomment(text []byte) []byte {
	out := append([]byte(nil), text...)
	quoted := false
	for i := 0; i < len(out); i++ {
		switch {
		case quoted && out[i] == '\\':
			i++
		case out[i] == '"':
			quoted = !quoted
		case !quoted && out[i] == '/' && i+1 < len(out) && out[i+1] == '/':
			for i < len(out) && out[i] != '\n' {
				out[i] = ' '
				i++
			}
		}
	}
	return out
}

// span is a range of versions, the end not included; none is empty.
type span struct{ from, end int }

const forever = 1<<15 - 1

// versions reads "0+", "3", "4-18" and "none".
func versions(text string) (span, error) {
	switch text {
	case "", "none":
		return span{}, nil
	}
	if from, ok := strings.CutSuffix(text, "+"); ok {
		n, err := strconv.Atoi(from)
		return span{n, forever}, err
	}
	from, to, ok := strings.Cut(text, "-")
	if !ok {
		to = from
	}
	a, err := strconv.Atoi(from)
	if err != nil {
		return span{}, fmt.Errorf("versions %q: %w", text, err)
	}
	b, err := strconv.Atoi(to)
	return span{a, b + 1}, err
}
