package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/conform"
)

// conformCases are the cases of the release asked for, or of the newest one.
func conformCases(release string) ([]conform.Case, error) {
	profiles := compat.Profiles()
	p := profiles[len(profiles)-1]
	if release != "" {
		var err error
		if p, err = compat.ByRelease(release); err != nil {
			return nil, err
		}
	}
	return conform.Catalogue(p), nil
}

// listedCase is a case as JSON.
type listedCase struct {
	ID     string        `json:"id"`
	Mode   string        `json:"mode"`
	Level  conform.Level `json:"level"`
	Rule   string        `json:"rule,omitempty"`
	Role   conform.Role  `json:"role,omitempty"`
	Says   string        `json:"says"`
	Source string        `json:"source"`
}

func listCases(w io.Writer, f *conformFlags, match *regexp.Regexp) error {
	cases, err := conformCases(f.release)
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(c conform.Case) bool { return !match.MatchString(c.ID) })
	if len(cases) == 0 {
		return usageError("--run %q: %w", f.match, conform.ErrNoCase)
	}
	if f.output == "json" {
		list := make([]listedCase, 0, len(cases))
		for i := range cases {
			c := &cases[i]
			list = append(list, listedCase{c.ID, conform.ModeOf(c), c.Level, c.Rule, c.Role, c.Says, c.Source})
		}
		return json.NewEncoder(w).Encode(list)
	}
	for i := range cases {
		mode := ""
		if m := conform.ModeOf(&cases[i]); m != "alone" {
			mode = " (" + m + ")"
		}
		fmt.Fprintf(w, "%s%s: %s\n", &cases[i], mode, cases[i].Says)
	}
	return nil
}

func explainCase(w io.Writer, f *conformFlags) error {
	cases, err := conformCases(f.release)
	if err != nil {
		return err
	}
	var near []string
	for i := range cases {
		if cases[i].ID == f.explain {
			mode := ""
			if m := conform.ModeOf(&cases[i]); m != "alone" {
				mode = "  needs   " + m + "\n"
			}
			_, err := io.WriteString(w, cases[i].Explain()+mode)
			return err
		}
		if strings.Contains(cases[i].ID, f.explain) && len(near) < 5 {
			near = append(near, cases[i].ID)
		}
	}
	if len(near) > 0 {
		return usageError("--explain %q: no such case; there is %s", f.explain, strings.Join(near, ", "))
	}
	return usageError("--explain %q: no such case; --list shows all", f.explain)
}
