package conform

import (
	"fmt"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
)

// Cases are all cases of the non-destructive mode for a release, in the order in which they are asked.
func Cases(p compat.Profile) []Case {
	var all []Case
	for _, group := range []func(compat.Profile) []Case{
		framingCases, apiVersionsCases, voteCases, beginCases, endCases, fetchCases, fetchSnapshotCases, describeCases,
		addVoterCases, removeVoterCases, updateVoterCases, flexibleCases,
	} {
		all = append(all, group(p)...)
	}
	return all
}

// Catalogue are all cases of all modes for a release.
func Catalogue(p compat.Profile) []Case {
	all := Cases(p)
	for _, s := range Scenarios(p) {
		all = append(all, s.Case)
	}
	for _, a := range Attacks(p) {
		all = append(all, a.Case)
	}
	return all
}

// ModeOf says by which flag a case is asked; "alone" if by none.
func ModeOf(c *Case) string {
	switch c.group() {
	case "unattached", "follower", "candidate", "leader", "durability", "dynamic":
		return "--own-quorum"
	case "hostile":
		switch {
		case strings.HasPrefix(c.ID, "hostile/answers/"):
			return "--own-quorum --hostile"
		case strings.HasPrefix(c.ID, "hostile/killers/answer/"), c.ID == "hostile/killers/vote-for-itself":
			return "--own-quorum --hostile=killers"
		case strings.HasPrefix(c.ID, "hostile/killers/"):
			return "--hostile=killers"
		}
		return "--hostile"
	}
	return "alone"
}

// rule is a row of a table of cases: one rule of one api, asked in each version that has what it is about.
type rule struct {
	name      string
	says      string
	level     Level // "": Must
	quirk     string
	role      Role
	from      int16 // first and last version; to 0: the last one served
	to        int16
	needs     func(*Target) string
	only0     bool // version 0 only
	ask       string
	want      []string
	again     bool // ask the same twice on the connection
	tag       bool // with a tagged field that no version knows
	headerTag bool
	fresh     bool // the facts must be those of this moment
}

// unknownTag is a section of tagged fields with one that no version knows: number 99, two bytes.
var unknownTag = []byte{1, 99, 2, 0xca, 0xfe}

// eachVersion makes the cases of an api from its table.
func eachVersion(p compat.Profile, api kraft.APIKey, group, source string, rules []rule) []Case {
	r, ok := p.Range(api)
	if !ok {
		return nil
	}
	var cases []Case
	for i := range rules {
		row := &rules[i]
		last := r.Max
		if row.to != 0 {
			last = min(last, row.to)
		}
		if row.only0 {
			last = 0
		}
		for v := max(r.Min, row.from); v <= last; v++ {
			cases = append(cases, row.at(int16(api), v, group, source))
		}
	}
	return cases
}

// at is the row's case in one version.
func (row *rule) at(key, version int16, group, source string) Case {
	step := Step{Key: key, Version: version, Ask: row.ask, Want: row.want, Tag: row.tag}
	if row.headerTag {
		step.Header.tags = unknownTag
	}
	c := Case{
		ID: fmt.Sprintf("%s/v%d/%s", group, version, row.name), Says: row.says, Source: source, Level: row.level, Rule: row.quirk,
		Role: row.role, Applies: row.needs, Steps: []Step{step}, Fresh: row.fresh,
	}
	if c.Level == "" {
		c.Level = Must
	}
	if row.again {
		c.Steps = append(c.Steps, step)
	}
	return c
}

// shape is a way in which a request is not about one topic with one partition.
type shape struct{ name, says, edit string }

// shapes are those of requests that name the topic.
func shapes(topic string) []shape {
	return []shape{
		{"no-topic", "a request without a topic", "topics.len=0"},
		{"two-topics", "a request with two topics", "topics.len=2"},
		{"other-topic", "a request about another topic than the metadata topic", topic},
		{"no-partition", "a request without a partition", "topics[0].partitions.len=0"},
		{"two-partitions", "a request with two partitions", "topics[0].partitions.len=2"},
		{"other-partition", "a request about another partition than 0", "p.partitionIndex=1"},
	}
}

// refusedShapes are the rows that expect each shape to be refused as a whole.
func refusedShapes(topic, also string, want ...string) (rows []rule) {
	for _, s := range shapes(topic) {
		rows = append(rows, rule{name: "refuses-" + s.name, says: s.says + " is refused as a whole", ask: also + " " + s.edit, want: want})
	}
	return rows
}
