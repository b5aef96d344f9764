package kafka

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/internal/child"
	"github.com/understudy-kafka/understudy/internal/filelock"
	"github.com/understudy-kafka/understudy/internal/need"
)

// pom lists what controllers, brokers and the tools need: about 45 jars. jose4j serves OAuth only. kafka-tools'
// own dependencies serve Connect only. Kafka binds slf4j 1.7, hence log4j-slf4j-impl and not -slf4j2-impl:
// without a binding there is no log, and the log is the ground truth.
const pom = `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>understudy</groupId>
  <artifactId>kafka-jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>RELEASE</version>
      <exclusions><exclusion><groupId>org.bitbucket.b_c</groupId><artifactId>jose4j</artifactId></exclusion></exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>RELEASE</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
    <dependency><groupId>net.sourceforge.argparse4j</groupId><artifactId>argparse4j</artifactId><version>0.7.0</version></dependency>
BINDING  </dependencies>
</project>
`

const (
	log4j1Binding = `    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId><version>1.7.36</version></dependency>
`
	log4j2Binding = `    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.25.3</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-core</artifactId><version>2.25.3</version></dependency>
`
)

func pomFor(release Release) string {
	binding := log4j2Binding
	if release.log4j1() {
		binding = log4j1Binding
	}
	return strings.NewReplacer("RELEASE", release.String(), "BINDING", binding).Replace(pom)
}

// Maven is the Source that resolves jars with mvn, once for each release, into the user's cache directory.
func Maven(progress func(string)) Source {
	return func(ctx context.Context, release Release) (Dist, error) {
		dir, files, err := mavenJars(ctx, release, progress)
		if err != nil {
			return nil, err
		}
		return open(ctx, release, dir, files, progress)
	}
}

// Jars are the files of a release's jars, which Maven resolves once into the user's cache directory.
func Jars(ctx context.Context, release Release, progress func(string)) ([]string, error) {
	_, files, err := mavenJars(ctx, release, progress)
	return files, err
}

func mavenJars(ctx context.Context, release Release, progress func(string)) (dir string, files []string, err error) {
	if dir, err = cacheDir(release.String()); err != nil {
		return "", nil, err
	}
	libs, err := resolve(ctx, release, dir, progress)
	if err != nil {
		return "", nil, err
	}
	files, err = jarFiles(libs)
	return dir, files, err
}

// resolve returns the directory of a release's jars. It exists only when it is complete: the jars are
// collected beside it and then renamed.
func resolve(ctx context.Context, release Release, dir string, progress func(string)) (string, error) {
	libs := filepath.Join(dir, "libs")
	if _, err := os.Stat(libs); err == nil {
		return libs, nil
	}
	lock, err := filelock.Wait(ctx, filepath.Join(dir, "resolve.lock"))
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if _, err := os.Stat(libs); err == nil {
		return libs, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	mvn, err := need.Look("mvn")
	if err != nil {
		return "", fmt.Errorf("the jars of Kafka %s come from Maven: %w", release, err)
	}
	report(progress, "resolving the jars of Kafka %s with Maven (once, about 45 MB)", release)
	partial := filepath.Join(dir, "libs.partial")
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, []byte(pomFor(release)), 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, mvn, "-B", "-q", "-f", file, "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+partial)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("resolve Kafka %s with %s: %w\n%s", release, strings.Join(cmd.Args, " "), err, child.Tail(string(out), 12))
	}
	if _, err := os.Stat(filepath.Join(partial, "kafka_2.13-"+release.String()+".jar")); err != nil {
		return "", fmt.Errorf("resolve Kafka %s: Maven ended well but left no broker jar: %w", release, err)
	}
	return libs, os.Rename(partial, libs)
}

// jarFiles lists the jars of a directory in a fixed order.
func jarFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no jar files", dir)
	}
	slices.Sort(files)
	return files, nil
}
