package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft/storage"
)

func TestDoctor_ExitTellsWhetherSomethingIsWrong(t *testing.T) {
	code, out, errs := runDump(t, nil, "--doctor", dumpData)
	if code != exitFine || errs != "" || !strings.Contains(out, "nothing is wrong\nelection: a leader can be elected\n") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	dir := copied(t)
	if err := os.Remove(filepath.Join(dir, storage.PartitionDir, storage.QuorumStateFile)); err != nil {
		t.Fatal(err)
	}
	code, out, _ = runDump(t, nil, "--doctor", dir)
	if code != exitFinding || !strings.Contains(out, "damage state-missing: "+dir) {
		t.Errorf("exit %d, %s", code, out)
	}
	code, out, errs = runDump(t, nil, "--doctor", "-o", "json", dir)
	var report struct {
		Directories []struct{ Path string }
		Findings    []struct{ Severity, Kind, File string }
		Election    struct{ CanElect bool }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFinding || len(report.Findings) != 1 || report.Findings[0].Severity != "damage" ||
		report.Directories[0].Path != dir || !report.Election.CanElect {
		t.Errorf("exit %d, %v %+v %s", code, err, report, errs)
	}
	for _, args := range [][]string{{"--doctor", dumpCapture}, {"--doctor", filepath.Join(dir, storage.MetaFile)}, {"--doctor", "-o", "xml", dir}} {
		if code, _, errs := runDump(t, nil, args...); code != exitUsage || errs == "" {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
}
