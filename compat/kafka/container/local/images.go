package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/internal/need"
)

// images are what the tests need: Kafka of two releases, and the program itself.
var images = []string{"understudy/kafka:4.0.0", "understudy/kafka:4.4.0", ownImage}

const ownImage = "understudy:local"

// modules of Java are those that Kafka's controllers, brokers and tools load. java.desktop is for java.beans, without
// which no class of Kafka that reads configuration loads.
const modules = "java.base,java.logging,java.management,java.management.rmi,java.naming,java.security.sasl,java.security.jgss,java.xml,java.sql,java.desktop," +
	"jdk.unsupported,jdk.management,jdk.crypto.ec,jdk.net,jdk.zipfs"

// buildKafka makes understudy/kafka:RELEASE. The runtime is made once in dir.
func buildKafka(ctx context.Context, dir string, release kafka.Release) error {
	root := filepath.Join(dir, "rootfs")
	if err := runtimeRoot(ctx, root); err != nil {
		return fmt.Errorf("java runtime: %w", err)
	}
	jars, err := kafka.Jars(ctx, release, func(text string) { say("%s", text) })
	if err != nil {
		return err
	}
	libs := filepath.Join(root, "opt", "kafka", "libs")
	if err := errors.Join(os.RemoveAll(libs), os.MkdirAll(libs, 0o755), os.MkdirAll(filepath.Join(dir, "data"), 0o755)); err != nil {
		return err
	}
	for _, jar := range jars {
		if err := place(jar, filepath.Join(libs, filepath.Base(jar))); err != nil {
			return err
		}
	}
	if err := kafka.WriteLogConfig(filepath.Dir(libs)); err != nil {
		return err
	}
	return build(ctx, "understudy/kafka:"+release.String(), "local/Dockerfile.kafka", dir)
}

// buildOwn makes the image of the program from a static binary.
func buildOwn(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(dir, "understudy"), "./cmd/understudy")
	cmd.Dir, cmd.Env = top, append(os.Environ(), "CGO_ENABLED=0")
	if err := run(cmd); err != nil {
		return err
	}
	return build(ctx, ownImage, filepath.Join(top, "Dockerfile"), dir)
}

// top is the directory of the program's module, from that of this one.
var top = filepath.Join("..", "..", "..")

func build(ctx context.Context, tag, dockerfile, dir string) error {
	say("building image %s", tag)
	if err := letAllRead(dir); err != nil {
		return fmt.Errorf("context of image %s: %w", tag, err)
	}
	cmd := exec.CommandContext(ctx, "docker", "build", "--quiet", "--tag", tag, "--file", dockerfile, dir)
	if exec.CommandContext(ctx, "docker", "buildx", "version").Run() != nil {
		cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0") // Debian's docker.io has no buildx
	}
	return run(cmd)
}

// letAllRead lets everybody read what lies in a directory, and run what its owner may. A file in an image keeps its mode, belongs
// to root there, and is read by a user of the image: the umask of whoever builds it must not count.
func letAllRead(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode() | 0o444
		if d.IsDir() || mode&0o100 != 0 {
			mode |= 0o111
		}
		if mode == info.Mode() {
			return nil
		}
		return os.Chmod(path, mode)
	})
}

// runtimeRoot makes a root file system with a Java runtime and the libraries of this machine that it needs.
func runtimeRoot(ctx context.Context, root string) error {
	jre := filepath.Join(root, "opt", "jre")
	if _, err := os.Stat(jre); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(jre), 0o755); err != nil {
		return err
	}
	say("making a Java runtime")
	jlink, err := need.Tool("jlink")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, jlink, "--add-modules", modules, "--strip-debug", "--no-header-files", "--no-man-pages", "--output", jre)
	if err := run(cmd); err != nil {
		return err
	}
	if err := libraries(ctx, root, jre); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"etc/passwd": "root:x:0:0::/:/none\nkafka:x:1000:1000::/var/lib/kafka:/none\n",
		"etc/hosts":  "127.0.0.1 localhost\n",
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	tmp := filepath.Join(root, "tmp")
	return errors.Join(os.Mkdir(tmp, 0o777), os.Chmod(tmp, 0o777|fs.ModeSticky))
}

var needed = regexp.MustCompile(`(?m)(?:=> |^\s*)(/\S+) \(0x`)

// libraries copies what the runtime's binaries are linked with.
func libraries(ctx context.Context, root, jre string) error {
	return filepath.WalkDir(jre, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(d.Name(), ".so") && d.Name() != "java" {
			return err
		}
		out, err := exec.CommandContext(ctx, "ldd", path).Output()
		if err != nil {
			return nil // not dynamic: a library of data, a class of that name
		}
		for _, m := range needed.FindAllStringSubmatch(string(out), -1) {
			if strings.HasPrefix(m[1], "/") && !strings.Contains(m[1], jre) {
				if err := place(m[1], filepath.Join(root, m[1])); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// place copies a file, following links, unless it is there.
func place(from, to string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}
