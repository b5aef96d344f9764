package oracle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/understudy-kafka/understudy/internal/need"
)

//go:embed java
var sources embed.FS

var prepareLock sync.Mutex

// Classpath fetches the jars and compiles the harness, unless the user's cache holds them already.
func (b Build) Classpath(ctx context.Context) (string, error) {
	prepareLock.Lock()
	defer prepareLock.Unlock()
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("oracle: %w", err)
	}
	base = filepath.Join(base, "understudy", "oracle")
	libs := b.Libs
	if libs == "" {
		if libs, err = b.fetchJars(ctx, base); err != nil {
			return "", err
		}
	}
	classes, err := b.compile(ctx, base, libs)
	if err != nil {
		return "", err
	}
	return classes + string(os.PathListSeparator) + filepath.Join(libs, "*"), nil
}

// fetchJars lets Maven copy the artifacts into one directory.
func (b Build) fetchJars(ctx context.Context, base string) (string, error) {
	pom := b.pom()
	sum := sha256.Sum256(pom)
	dir := filepath.Join(base, "jars-"+b.Version+"-"+hex.EncodeToString(sum[:6]))
	return dir, build(dir, func(tmp string) error {
		if _, err := need.Tool("mvn"); err != nil {
			return err
		}
		file := filepath.Join(tmp, "pom.xml")
		if err := os.WriteFile(file, pom, 0o644); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", file,
			"org.apache.maven.plugins:maven-dependency-plugin:3.7.1:copy-dependencies", "-DoutputDirectory="+tmp)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("fetching the jars of Kafka %s by Maven: %w\n%s", b.Version, err, bytes.TrimSpace(out))
		}
		return nil
	})
}

func (b Build) pom() []byte {
	var p bytes.Buffer
	p.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
		`<groupId>understudy</groupId><artifactId>oracle</artifactId><version>1</version><dependencies>` + "\n")
	for _, a := range b.artifacts() {
		version := a.version
		if version == "" {
			version = b.Version
		}
		fmt.Fprintf(&p, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>"+
			"<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>\n", a.group, a.name, version)
	}
	p.WriteString("</dependencies></project>\n")
	return p.Bytes()
}

// compile compiles the harness against the jars. The result is cached by the sources and the jars' names and sizes.
func (b Build) compile(ctx context.Context, base, libs string) (string, error) {
	sets, err := b.sourceSets()
	if err != nil {
		return "", err
	}
	files, err := collect(sets)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, f := range files {
		fmt.Fprintf(hash, "%s %d\n", f.name, len(f.text))
		hash.Write(f.text)
	}
	jars, err := os.ReadDir(libs)
	if err != nil {
		return "", fmt.Errorf("jars of Kafka %s: %w", b.Version, err)
	}
	for _, jar := range jars {
		if info, err := jar.Info(); err == nil {
			fmt.Fprintf(hash, "%s %d\n", jar.Name(), info.Size())
			if b.Libs != "" { // a local build changes under the same name and size
				fmt.Fprintln(hash, info.ModTime())
			}
		}
	}
	dir := filepath.Join(base, "classes-"+b.Version+"-"+hex.EncodeToString(hash.Sum(nil)[:6]))
	return dir, build(dir, func(tmp string) error {
		if _, err := need.Tool("javac"); err != nil {
			return err
		}
		args := []string{
			"-proc:none", "-nowarn", "-XDignore.symbol.file", "--release", "17", "-encoding", "UTF-8",
			"-d", tmp, "-cp", filepath.Join(libs, "*"),
		}
		src, err := os.MkdirTemp("", "understudy-oracle-src-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(src) //nolint:errcheck // a left-over in the temporary directory does no harm
		for _, f := range files {
			name := filepath.Join(src, filepath.FromSlash(f.name))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(name, f.text, 0o644); err != nil {
				return err
			}
			args = append(args, name)
		}
		if out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("compiling the oracle against Kafka %s: %w\n%s", b.Version, err, bytes.TrimSpace(out))
		}
		return nil
	})
}

type sourceFile struct {
	name string // set and path
	text []byte
}

func collect(sets []string) ([]sourceFile, error) {
	var files []sourceFile
	for _, set := range sets {
		err := fs.WalkDir(sources, path.Join("java", set), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".java") {
				return err
			}
			text, err := sources.ReadFile(name)
			files = append(files, sourceFile{name: name, text: text})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("source set %s: %w", set, err)
		}
	}
	return files, nil
}

// build makes the directory if it does not exist, in one step, so that two processes cannot see half of it.
func build(dir string, fill func(tmp string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // gone after a successful rename
	if err := fill(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, found := os.Stat(dir); found == nil { // another process was faster
			return nil
		}
		return err
	}
	return nil
}
