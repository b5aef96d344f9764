package main

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the golden files anew")

// asUnderstudy makes the test binary, started again by what it tests, behave as understudy itself.
const asUnderstudy = "UNDERSTUDY_TEST_AS_ITSELF"

func TestMain(m *testing.M) {
	if os.Getenv(asUnderstudy) != "" {
		main() // does not return
	}
	if err := os.Setenv(asUnderstudy, "1"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// command runs a command line to its end.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, bytes.NewReader(nil), &out, &errs)
	return code, out.String(), errs.String()
}

func TestExitCodes_FlagsThatAreMissingOrExcludeEachOtherAreWrongUsage(t *testing.T) {
	for _, args := range [][]string{{"join"}, {"format"}, {"format", "-c", "x", "-t", "y", "--standalone", "--no-initial-controllers"}} {
		if code, _, stderr := command(t, args...); code != exitUsage || stderr == "" {
			t.Errorf("%v: exit code %d, %q", args, code, stderr)
		}
	}
}
