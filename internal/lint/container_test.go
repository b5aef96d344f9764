package lint

import (
	"os/exec"
	"strings"
	"testing"
)

// TestReadme_QuotesTheContainerExample keeps the example of the README the one that is compiled and run.
func TestReadme_QuotesTheContainerExample(t *testing.T) {
	const file = "compat/kafka/container/example_test.go"
	text := read(t, file)
	begin := strings.Index(text, "func Test")
	if begin < 0 {
		t.Fatalf("%s has no test", file)
	}
	if example := text[begin:]; !strings.Contains(read(t, "README.md"), "```go\n"+example+"```") {
		t.Errorf("README.md does not quote the test of %s:\n%s", file, example)
	}
}

// TestBinary_KnowsNoContainerEngine keeps testcontainers, and all that it needs, out of the program.
func TestBinary_KnowsNoContainerEngine(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/understudy")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		if strings.Contains(dep, "testcontainers") || strings.Contains(dep, "docker") || strings.Contains(dep, "compat/kafka/container") {
			t.Errorf("the program depends on %s", dep)
		}
	}
	if !strings.Contains(string(out), module+"/proxy\n") {
		t.Errorf("the list of what the program depends on lacks the proxy:\n%s", out)
	}
}
