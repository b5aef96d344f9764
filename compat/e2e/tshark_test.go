package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-kafka/understudy/internal/need"
)

// tsharkReads lets Wireshark's dissectors read a recording: they must find each Kafka frame in it, TCP streams
// without a flaw but where a killed process left a frame unfinished, and nothing malformed. The Kafka dissector of Wireshark 4.0 knows no version of Fetch above 11, of
// ApiVersions above 3, and none of the raft keys. It says so of each such frame ("Unsupported", "Unknown") and then
// stumbles over the body, on a live capture just as here: those frames are counted and are no fault.
func tsharkReads(t *testing.T, file string, want, gaps uint64) {
	t.Helper()
	tshark := need.For(t, "tshark")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var errOut bytes.Buffer
	fields := []string{"frame.number", "frame.protocols", "_ws.malformed", "kafka.unsupported_api_version", "kafka.unknown_api_key", "tcp.analysis.flags", "kafka.correlation_id", "tcp.analysis.reused_ports"}
	args := []string{"-r", file, "-T", "fields"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	cmd := exec.CommandContext(ctx, tshark, args...)
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark -r %s: %v: %s", file, err, errOut.String())
	}
	packets, frames, unknown, flaws := 0, uint64(0), 0, uint64(0)
	for l := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimRight(l, "\n"), "\t")
		packets++
		if len(f) != len(fields) {
			t.Fatalf("tshark -r %s: %q", file, l)
		}
		beyond := f[3] != "" || f[4] != ""
		switch {
		case f[7] != "": // a client's port is used again after its connection has ended
		case f[5] != "" && f[6] == "" && flaws < 2*gaps: // the end of a connection, behind what is missing
			flaws++
		case f[5] != "":
			t.Errorf("%s: packet %s: tshark sees a flaw in the TCP stream: %s", filepath.Base(file), f[0], l)
		case f[2] != "" && !beyond:
			t.Errorf("%s: packet %s: tshark finds it malformed: %s", filepath.Base(file), f[0], l)
		}
		if f[6] != "" {
			frames++
			if beyond {
				unknown++
			}
		}
	}
	if frames != want {
		t.Errorf("%s: tshark finds %d Kafka frames, understudy %d", filepath.Base(file), frames, want)
	}
	t.Logf("%s: %d packets, %d Kafka frames; of %d tshark's own dissector does not know the version or key", filepath.Base(file), packets, frames, unknown)
}
