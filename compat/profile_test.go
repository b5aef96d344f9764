package compat

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestProfiles_CoverTheBuildsInOrder(t *testing.T) {
	var covered [][]string
	for _, p := range Profiles() {
		covered = append(covered, p.Covers)
	}
	if want := Builds(); !slices.EqualFunc(covered, want, slices.Equal) {
		t.Errorf("profiles cover %v, want %v", covered, want)
	}
}

func TestProfiles_NeighboursDiffer(t *testing.T) {
	all := Profiles()
	for i := 1; i < len(all); i++ {
		if len(Differences(all[i-1], all[i])) == 0 {
			t.Errorf("%s and %s have the same rules", all[i-1].Build, all[i].Build)
		}
	}
}

func TestByRelease_NamesTheBuild(t *testing.T) {
	if p, err := ByRelease("4.0.2"); err != nil || p.Build != "4.0.1" {
		t.Errorf("4.0.2 is build %q, error %v", p.Build, err)
	}
	if _, err := ByRelease("3.9.0"); err == nil || !strings.Contains(err.Error(), `"3.9.0"`) {
		t.Errorf("an unknown release gives %v", err)
	}
}

func TestRange_GrowsWithTheReleases(t *testing.T) {
	tests := []struct {
		release string
		api     kraft.APIKey
		highest int16
	}{
		{"4.0.0", kraft.FetchAPI, 17},
		{"4.1.0", kraft.FetchAPI, 18},
		{"4.1.0", kraft.AddRaftVoterAPI, 0},
		{"4.2.0", kraft.AddRaftVoterAPI, 1},
		{"4.3.0", kraft.VoteAPI, 2},
		{"4.3.0", kraft.APIVersionsAPI, 4},
		{"4.4.0", kraft.APIVersionsAPI, 5},
	}
	for _, tt := range tests {
		p, err := ByRelease(tt.release)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := p.Range(tt.api); !ok || r.Max != tt.highest {
			t.Errorf("%s: %v is served up to %d, want %d", tt.release, tt.api, r.Max, tt.highest)
		}
	}
	p, _ := ByRelease("4.0.0")
	if _, ok := p.Range(99); ok {
		t.Error("an unknown request has a range")
	}
}

// Each field of kraft.Rules must have its line in Rules, or a difference between builds would have no name.
func TestRules_NameEverySwitch(t *testing.T) {
	fields := reflect.TypeFor[kraft.Rules]()
	if got, want := len(Rules()), fields.NumField(); got != want {
		t.Errorf("%d rules are named, kraft.Rules has %d switches", got, want)
	}
	zero := kraft.Rules{}
	for i := range fields.NumField() {
		changed := zero
		field := reflect.ValueOf(&changed).Elem().Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int32:
			field.SetInt(9)
		default:
			field.SetUint(1)
		}
		if len(Differences(Profile{Rules: zero}, Profile{Rules: changed})) != 1 {
			t.Errorf("switch %s has no name", fields.Field(i).Name)
		}
	}
}
