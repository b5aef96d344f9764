package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

const quorumCapture = "../../recordings/testdata/captures/440-dynamic-start-kill/capture.pcap.zst"

// checkCommand runs one command line.
func checkCommand(stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, stdin, &out, &errs)
	return code, out.String(), errs.String()
}

// recorded writes a capture as a recording, with a change to each observation.
func recorded(t *testing.T, opts recordings.Options, change func(*recordings.Observation)) string {
	t.Helper()
	in, err := recordings.OpenAny(nil, quorumCapture)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	base := filepath.Join(t.TempDir(), "run")
	w, err := recordings.Create(base, opts)
	if err != nil {
		t.Fatal(err)
	}
	var o recordings.Observation
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(&o)
		}
		if err := w.Write(&o); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base
}

func TestCheck_TextOfACapture(t *testing.T) {
	code, out, errs := checkCommand(nil, "check", quorumCapture)
	if code != exitFine {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{
		"cluster TXF4XRjuRNetQb9gT4jDvg, voters 1, 2, 3",
		"epoch 1  pre-vote for 1 +2  candidate 1 +2,3  -> leader 1",
		"candidate 2 -3  candidate 3 -2  -> no leader seen",
		"CONFORMS: judged 292 of 292 decisions",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

func TestCheck_JSONAndStdin(t *testing.T) {
	raw, err := os.ReadFile(quorumCapture)
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := checkCommand(bytes.NewReader(raw), "check", "-o", "json", "-")
	var report struct {
		Verdict string
		Judged  int
		Quorum  struct {
			Elections []struct{ Epoch, Leader int }
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFine || report.Verdict != "CONFORMS" || report.Judged != 292 || len(report.Quorum.Elections) != 3 {
		t.Errorf("exit code %d, %v, %+v\n%s", code, err, report, errs)
	}
}

func TestCheck_JSONLinesEndWithTheVerdict(t *testing.T) {
	code, out, errs := checkCommand(nil, "check", "-o", "jsonl", quorumCapture)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	kinds := map[string]int{}
	var last struct {
		Event  string
		Report *struct{ Verdict string }
	}
	for _, line := range lines {
		last.Report = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds[last.Event]++
	}
	if code != exitFine || last.Event != "verdict" || last.Report == nil || last.Report.Verdict != "CONFORMS" {
		t.Errorf("exit code %d, last %+v\n%s", code, last, errs)
	}
	for kind, want := range map[string]int{"leader": 2, "watermark": 2, "vote": 9, "candidate": 8, "verdict": 1} {
		if kinds[kind] != want {
			t.Errorf("%d %s events, want %d", kinds[kind], kind, want)
		}
	}
	if kinds["state"] < 5 {
		t.Errorf("%d state events", kinds["state"])
	}
}

// forge grants the vote that node 3 refused node 2 in epoch 2.
func forge(o *recordings.Observation) {
	if o.Kind != recordings.KindFrame || o.Dir != wire.Response || len(o.Frame.Bytes) < 6 || o.Fault != nil {
		return
	}
	refused := []byte{0, 0, 0, 2, 0, 0, 0, 0} // leader epoch 2, not granted, no tags
	i := bytes.Index(o.Frame.Bytes, []byte("__cluster_metadata"))
	if i < 0 || !bytes.HasSuffix(o.Frame.Bytes, refused) || o.Conn.Server.Port() != 19093 {
		return
	}
	sent := bytes.Clone(o.Frame.Bytes)
	forged := bytes.Clone(sent)
	forged[len(forged)-len(refused)+4] = 1
	o.Frame.Bytes = forged
	o.Fault = &recordings.Fault{Rule: "mutate Vote response", Sent: sent, Delivered: true}
}

func TestCheck_ForgedVoteAsThePeers(t *testing.T) {
	base := recorded(t, recordings.Options{}, forge)
	code, out, _ := checkCommand(nil, "check", "--fault-as-peer", base)
	if code != exitFinding || !strings.Contains(out, "M1 vote-once: node 3, epoch 2") || !strings.Contains(out, "response 3->2 Vote v2 granted") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out, _ := checkCommand(nil, "check", base); code != exitFine {
		t.Errorf("the sender is judged by what it sent: exit code %d\n%s", code, out)
	}
}

func TestCheck_RedactedAndWholeRecordingsAgree(t *testing.T) {
	var reports []string
	for _, whole := range []bool{false, true} {
		code, out, errs := checkCommand(nil, "check", recorded(t, recordings.Options{IncludeRecords: whole}, nil))
		if code != exitFine {
			t.Errorf("whole %t: exit code %d\n%s%s", whole, code, out, errs)
		}
		reports = append(reports, out)
	}
	if reports[0] != reports[1] {
		t.Errorf("redacted:\n%s\nwhole:\n%s", reports[0], reports[1])
	}
}

func TestCheck_CutFilesAreJudgedUpToTheCut(t *testing.T) {
	f, err := os.Open(quorumCapture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	code, out, _ := checkCommand(io.LimitReader(z, 100_000), "check", "-")
	if code != exitFine || !strings.Contains(out, "the input ended early") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out, _ = checkCommand(io.LimitReader(f, 0), "check", "-")
	if code != exitRuntime {
		t.Errorf("empty: exit code %d\n%s", code, out)
	}
}

func TestCheck_Inconclusive(t *testing.T) {
	f, err := os.Open(quorumCapture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	code, out, _ := checkCommand(io.LimitReader(z, 4000), "check", "-")
	if code != exitInconclusive || !strings.Contains(out, "INCONCLUSIVE") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestCheck_WrongUsage(t *testing.T) {
	for _, args := range [][]string{
		{"check"},
		{"check", "-o", "xml", quorumCapture},
		{"check", "--node", "1", quorumCapture},
		{"check", "--node", "x=h:1", quorumCapture},
		{"check", "--node", "1=h", quorumCapture},
		{"check", "--node", "1=h:99999", quorumCapture},
		{"check", "--node", "1=h:1", "--node", "2=h:1", quorumCapture},
		{"check", "--follow", "a", "b"},
		{"check", "--no-such-flag"},
	} {
		if code, _, errs := checkCommand(nil, args...); code != exitUsage || errs == "" {
			t.Errorf("%v: exit code %d, %q", args, code, errs)
		}
	}
}

func TestCheck_NamedListeners(t *testing.T) {
	code, out, _ := checkCommand(nil, "check", "--node", "1=127.0.0.1:19091", "--node", "2=127.0.0.1:19092", "--node", "3=127.0.0.1:19093", quorumCapture)
	if code != exitFine {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestCheck_MissingOrForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not a capture")
	if err := os.WriteFile(path, []byte("hello, this is text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, filepath.Join(t.TempDir(), "absent")} {
		if code, _, errs := checkCommand(nil, "check", file); code != exitRuntime || !strings.Contains(errs, filepath.Base(file)) {
			t.Errorf("%s: exit code %d, %q", file, code, errs)
		}
	}
}

func TestCheck_Follow(t *testing.T) {
	base := recorded(t, recordings.Options{}, nil)
	code, out, errs := checkCommand(nil, "check", "--follow", base)
	if code != exitFine || !strings.Contains(out, "CONFORMS") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var text bytes.Buffer
	if code := run(ctx, []string{"check", "--follow", filepath.Join(t.TempDir(), "never")}, nil, &text, &text); code != exitInconclusive && code != exitRuntime {
		t.Errorf("interrupted: exit code %d\n%s", code, text.String())
	}
}

// TestCheck_FollowRefusesWhatIsNoRecording: it would wait for a recording of that name, and say nothing.
func TestCheck_FollowRefusesWhatIsNoRecording(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, command := range []string{"check", "dump"} {
		var text bytes.Buffer
		if code := run(ctx, []string{command, "--follow", quorumCapture}, nil, &text, &text); code != exitRuntime || !strings.Contains(text.String(), "NAME-000001") {
			t.Errorf("%s: exit code %d\n%s", command, code, text.String())
		}
	}
}

// brokenPipe takes nothing.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestCheck_OutputThatCannotBeWritten(t *testing.T) {
	for _, format := range []string{"text", "json", "jsonl"} {
		var errs bytes.Buffer
		if code := run(context.Background(), []string{"check", "-o", format, quorumCapture}, nil, brokenPipe{}, &errs); code != exitRuntime || errs.Len() == 0 {
			t.Errorf("%s: exit code %d, %q", format, code, errs.String())
		}
	}
}
