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

func TestDoctor_ReadsPropertyFiles(t *testing.T) {
	config := filepath.Join(t.TempDir(), "node.properties")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte("process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("listeners=CONTROLLER://127.0.0.1:24323\n")
	if code, out, errs := runDump(t, nil, "--doctor", "--config", config, dumpData); code != exitFine || !strings.Contains(out, "nothing is wrong") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	write("listeners=CONTROLLER://:24323\nadvertised.listeners=CONTROLLER://c1:9093\ncontroller.quorum.voters=1@c1:9093,2@c2:9093\n")
	code, out, errs := runDump(t, nil, "--doctor", "--config", config, dumpData)
	if code != exitFinding || !strings.Contains(out, "risk   address-unlike-log: "+config) || !strings.Contains(out, "risk   voters-unlike-log: "+config) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	write("listeners=CONTROLLER://:24323\ncontroller.quorum.voters=c1:9093\n")
	for _, args := range [][]string{{"--doctor", "--config", config, dumpData}, {"--doctor", "--config", "missing.properties", dumpData}, {"--config", config, dumpData}} {
		if code, _, errs := runDump(t, nil, args...); code != exitUsage || errs == "" {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
}
