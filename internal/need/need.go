// Package need finds the programs that are not part of a Go installation: java, mvn, tshark, tcpdump.
// A missing one is never a reason to skip: it is installed, or the error says how to install it.
package need

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// packages names the Debian package of each program whose package is called otherwise.
var packages = map[string]string{
	"java":  "default-jdk-headless",
	"javac": "default-jdk-headless",
	"mvn":   "maven",
}

// Package is the Debian package that a program comes from.
func Package(tool string) string {
	if name, ok := packages[tool]; ok {
		return name
	}
	return tool
}

// Missing says that a program is not installed, and what installs it on Debian.
type Missing struct{ Tool string }

func (m *Missing) Error() string {
	return fmt.Sprintf("%s is not installed (not found in PATH): run\n    %s", m.Tool, InstallCommand(Package(m.Tool)))
}

// InstallCommand is the command that installs Debian packages, as a person would type it.
func InstallCommand(packages ...string) string {
	return "apt-get update && apt-get install -y --no-install-recommends " + strings.Join(packages, " ")
}

// Look returns the path of a program, or a *Missing that names the Debian package it comes from.
func Look(tool string) (string, error) {
	path, err := exec.LookPath(tool)
	if err != nil {
		return "", &Missing{Tool: tool}
	}
	return path, nil
}

var installing sync.Mutex

// Tool is Look for tests and scripts: where the program is missing, root on Debian installs its package.
func Tool(tool string) (string, error) {
	installing.Lock()
	defer installing.Unlock()
	path, err := Look(tool)
	if err == nil {
		return path, nil
	}
	if _, aptErr := exec.LookPath("apt-get"); aptErr != nil || os.Geteuid() != 0 {
		return "", err
	}
	// Several test processes may ask at once: apt-get waits for the other one's lock.
	apt := exec.Command("sh", "-c", "apt-get -o DPkg::Lock::Timeout=300 -q update && "+
		"apt-get -o DPkg::Lock::Timeout=300 -q install -y --no-install-recommends "+Package(tool))
	apt.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, aptErr := apt.CombinedOutput(); aptErr != nil {
		return "", fmt.Errorf("%w\n(tried that: %w: %s)", err, aptErr, lastLines(string(out), 5))
	}
	return Look(tool)
}

// T is the part of testing.TB that For needs.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// For returns the path of a program that a test needs, and fails the test if it cannot be had.
func For(t T, tool string) string {
	t.Helper()
	path, err := Tool(tool)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return path
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
