package main

import (
	"context"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft/explore"
)

func TestExplore_Outcomes(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"a model", []string{"explore", "discovery"}, exitFine, "discovery "},
		{"a larger budget", []string{"explore", "discovery", "--budget", "timeouts=1,losses=0", "--epochs", "1"}, exitFine, "discovery "},
		{"too many states", []string{"explore", "replication", "--limit", "100"}, exitInconclusive, "the limit of states"},
		{"a finding", []string{"explore", "pre-vote", "--budget", "timeouts=2,crashes=1,copies=0,retries=0"}, exitFinding, "> timeout n1 {election}"},
		{"an unknown model", []string{"explore", "nobody"}, exitUsage, "explore --list"},
		{"an unknown budget", []string{"explore", "--budget", "patience=1"}, exitUsage, "timeouts"},
		{"a budget too large", []string{"explore", "--budget", "losses=99"}, exitUsage, "losses=99"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs strings.Builder
			if code := run(context.Background(), tt.args, strings.NewReader(""), &out, &errs); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(out.String()+errs.String(), tt.want) {
				t.Errorf("%q is missing in:\n%s%s", tt.want, out.String(), errs.String())
			}
		})
	}
}

func TestExplore_InterruptEndsItAtOnce(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out, errs strings.Builder
	if code := run(ctx, []string{"explore", "replication"}, strings.NewReader(""), &out, &errs); code != exitInconclusive {
		t.Errorf("exit code %d, want %d", code, exitInconclusive)
	}
	if !strings.Contains(errs.String(), "stopped before the end: ") || out.Len() > 0 {
		t.Errorf("%s%s", out.String(), errs.String())
	}
}

func TestExplore_ListsTheModels(t *testing.T) {
	var out, errs strings.Builder
	if code := run(context.Background(), []string{"explore", "--list"}, strings.NewReader(""), &out, &errs); code != exitFine {
		t.Fatal(code, errs.String())
	}
	for _, m := range explore.Models() {
		if !strings.Contains(out.String(), m.Name) || !strings.Contains(out.String(), m.About) {
			t.Errorf("%s is not listed", m.Name)
		}
	}
}
