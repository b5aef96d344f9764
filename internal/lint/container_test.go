package lint

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// containerExample is the file with the example of the README.
const containerExample = "compat/kafka/container/example_test.go"

// unquoted is what a README lacks of the test of a source file: its text, or that there is no test.
func unquoted(readme, source string) string {
	begin := strings.Index(source, "func Test")
	if begin < 0 {
		return "no test"
	}
	if example := source[begin:]; !strings.Contains(readme, "```go\n"+example+"```") {
		return example
	}
	return ""
}

// TestReadme_QuotesTheContainerExample keeps the example of the README the one that is compiled and run.
func TestReadme_QuotesTheContainerExample(t *testing.T) {
	if lacks := unquoted(read(t, "README.md"), read(t, containerExample)); lacks != "" {
		t.Errorf("README.md does not quote %s: %s", containerExample, lacks)
	}
	short := regexp.MustCompile(`(?m)^test-short:.*\n(\t.*\n)*\t\$\(GO\) vet -C compat/kafka/container \./\.\.\.$`)
	if !short.MatchString(read(t, "Makefile")) {
		t.Error("make test-short does not compile the tests of compat/kafka/container")
	}
}

// TestReadme_BrokenTwinOfTheExampleIsSeen: an example that is not the one that is compiled, in the README or in the source.
func TestReadme_BrokenTwinOfTheExampleIsSeen(t *testing.T) {
	readme, source := read(t, "README.md"), read(t, containerExample)
	for name, twin := range map[string][2]string{
		"a word of the README":  {strings.Replace(readme, "q.MustConform(t)", "q.MustConfirm(t)", 1), source},
		"a word of the source":  {readme, strings.Replace(source, "q.Kill(q.First.Node)", "q.Stop(q.First.Node)", 1)},
		"another indent":        {strings.ReplaceAll(readme, "\tq := container", "    q := container"), source},
		"no example":            {"", source},
		"no test in the source": {readme, strings.Replace(source, "func Test", "func test", 1)},
	} {
		if unquoted(twin[0], twin[1]) == "" {
			t.Errorf("%s: not seen", name)
		}
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
