package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestCheck_NeedsNoMoreForALongFile: what is resident does not depend on how much there is to read. Played again and again the capture is no
// quorum's life to the second tier, which searches long for one each time: it gets fewer frames.
func TestCheck_NeedsNoMoreForALongFile(t *testing.T) {
	if testing.Short() {
		t.Skip("it checks 400,000 frames; make test-matrix runs it")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "understudy")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/understudy").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c, err := load(capture)
	if err != nil {
		t.Fatal(err)
	}
	files, made, err := c.files(dir, 400_000, 3_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind, tier string
		frames     int
	}{{"recording", "1", made.frames}, {"pcap", "1", made.frames}, {"part", "2", made.part}} {
		cmd := exec.Command(binary, "check", "--tier", c.tier, files[c.kind])
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatal(err)
		}
		resident := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
		t.Logf("tier %s, %s of %d frames: %d MB resident, %.1f s of CPU", c.tier, c.kind, c.frames, resident, cmd.ProcessState.UserTime().Seconds())
		if resident > 128 {
			t.Errorf("tier %s, %s: %d MB are resident", c.tier, c.kind, resident)
		}
	}
}
