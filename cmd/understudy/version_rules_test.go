package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/compat"
)

func TestVersion_ListsTheRulesOfTheReleases(t *testing.T) {
	code, stdout, _ := command(t, "version", "--rules")
	if code != 0 || strings.Count(stdout, "\n") != len(compat.Rules())+1 {
		t.Errorf("code %d:\n%s", code, stdout)
	}
	for _, r := range compat.Rules() {
		if !strings.Contains(stdout, r.Name) || !strings.Contains(stdout, r.Source) {
			t.Errorf("rule %s is missing", r.Name)
		}
	}
}

func TestVersion_RulesAsJSON(t *testing.T) {
	_, stdout, _ := command(t, "version", "--rules", "-o", "json")
	var lines []ruleLine
	if err := json.Unmarshal([]byte(stdout), &lines); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if line.Name == "auto-join" && (line.Builds["4.1.0"] != "no" || line.Builds["4.2.0"] != "yes") {
			t.Errorf("auto-join: %v", line.Builds)
		}
	}
	if code, _, _ := command(t, "version", "--rules", "-o", "xml"); code != 2 {
		t.Errorf("an unknown format gives code %d", code)
	}
}
