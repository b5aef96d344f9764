package kafka

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/understudy-kafka/understudy/internal/need"
)

// oldestJava is what Kafka 4.x servers need (KIP-1013).
const oldestJava = 17

// java is an installed Java runtime.
type java struct {
	Path  string
	ID    string // names this very build, for the names of AppCDS archives
	Major int
}

var javaVersion = regexp.MustCompile(`version "(\d+)`)

// findJava takes JAVA_HOME, else the PATH.
func findJava(ctx context.Context) (java, error) {
	path := ""
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path = filepath.Join(home, "bin", "java")
		if _, err := os.Stat(path); err != nil {
			return java{}, fmt.Errorf("JAVA_HOME is %s, which holds no bin/java: correct or unset it: %w", home, err)
		}
	} else {
		var err error
		if path, err = need.Look("java"); err != nil {
			return java{}, err
		}
	}
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return java{}, fmt.Errorf("%s -version: %w: %s", path, err, out)
	}
	m := javaVersion.FindSubmatch(out)
	if m == nil {
		return java{}, fmt.Errorf("%s -version: no version in %q", path, out)
	}
	major, _ := strconv.Atoi(string(m[1]))
	if major < oldestJava {
		return java{}, fmt.Errorf("%s is Java %d, but Kafka needs %d or newer: run\n    %s", path, major, oldestJava, need.InstallCommand("openjdk-17-jdk-headless"))
	}
	sum := sha256.Sum256(append([]byte(path+"\n"), out...))
	return java{Path: path, ID: fmt.Sprintf("jdk%d-%s", major, hex.EncodeToString(sum[:4])), Major: major}, nil
}
