package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Versions are the six raft builds of Kafka 4.x, one release for each.
var Versions = []string{"4.0.0", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"}

// LogKind says which log the clients write to.
type LogKind uint8

// MemoryLog is the main oracle: fast, and it can lose what was not flushed. FileLog is Kafka's own log and keeps
// the memory log honest.
const (
	MemoryLog LogKind = iota
	FileLog
)

// Build names what is stepped: a release, or the jars of a local build of Kafka.
type Build struct {
	Version string // of the jars; for a local build it may be empty and is then read from the jar names
	Libs    string // directory of a local build's jars; empty: the release's jars, by Maven
	Log     LogKind
	JVM     []string // further options of the virtual machine
}

// LocalBuild is the Kafka built or unpacked below home (its libs directory), or whose jars lie in home itself.
func LocalBuild(home string) (Build, error) {
	libs := home
	if st, err := os.Stat(filepath.Join(home, "libs")); err == nil && st.IsDir() {
		libs = filepath.Join(home, "libs")
	}
	jars, err := filepath.Glob(filepath.Join(libs, "kafka-raft-*.jar"))
	if err != nil {
		return Build{}, err
	}
	for _, jar := range jars {
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jar), "kafka-raft-"), ".jar")
		if strings.HasSuffix(version, "-test") || strings.HasSuffix(version, "-sources") {
			continue
		}
		return Build{Version: version, Libs: libs}, nil
	}
	return Build{}, fmt.Errorf("no kafka-raft-*.jar in %s: build Kafka first, for example with \"./gradlew releaseTarGz\"", libs)
}

// release is a version as numbers; a suffix such as -SNAPSHOT is left out.
func release(version string) (major, minor, patch int, err error) {
	text, _, _ := strings.Cut(version, "-")
	parts := strings.SplitN(text, ".", 3)
	if len(parts) != 3 {
		return 0, 0, 0, fmt.Errorf("kafka version %q: want major.minor.patch", version)
	}
	n := [3]int{}
	for i, p := range parts {
		if n[i], err = strconv.Atoi(p); err != nil {
			return 0, 0, 0, fmt.Errorf("kafka version %q: %w", version, err)
		}
	}
	return n[0], n[1], n[2], nil
}

// sourceSets are the source directories that fit the version: signatures moved in 4.0.1, 4.3 and 4.4.
func (b Build) sourceSets() ([]string, error) {
	major, minor, patch, err := release(b.Version)
	if err != nil {
		return nil, err
	}
	if major != 4 {
		return nil, fmt.Errorf("kafka %s: the oracle knows the raft layer of 4.x", b.Version)
	}
	sets := []string{"common"}
	switch {
	case minor == 0 && patch == 0:
		sets = append(sets, "log-one-argument")
	case minor < 3:
		sets = append(sets, "log-with-epoch")
	default:
		sets = append(sets, "log-raft")
	}
	if minor < 4 {
		sets = append(sets, "net-message", "moved-utils")
	} else {
		sets = append(sets, "net-entry")
	}
	if minor < 3 {
		sets = append(sets, "moved-records")
	}
	switch {
	case b.Log == MemoryLog:
		sets = append(sets, "filelog-none")
	case minor == 0:
		sets = append(sets, "filelog-4.0")
	case minor < 3:
		sets = append(sets, "filelog-4.1")
	default:
		sets = append(sets, "filelog-4.3")
	}
	return sets, nil
}

// artifact is a Maven artifact; an empty version stands for Kafka's.
type artifact struct{ group, name, version string }

const kafkaGroup = "org.apache.kafka"

// artifacts lists the jars that the clients need, without what these depend on: four are enough with the memory log.
func (b Build) artifacts() []artifact {
	list := []artifact{
		{kafkaGroup, "kafka-raft", ""},
		{kafkaGroup, "kafka-clients", ""},
		{kafkaGroup, "kafka-server-common", ""},
		{"org.slf4j", "slf4j-api", "1.7.36"},
	}
	if b.Log == MemoryLog {
		return list
	}
	list = append(list,
		artifact{kafkaGroup, "kafka-storage", ""},
		artifact{kafkaGroup, "kafka-storage-api", ""},
		artifact{"com.yammer.metrics", "metrics-core", "2.2.0"})
	if _, minor, _, err := release(b.Version); err == nil && minor < 3 { // the file log is still written in Scala
		list = append(list,
			artifact{kafkaGroup, "kafka_2.13", ""},
			artifact{kafkaGroup, "kafka-server", ""},
			artifact{"org.scala-lang", "scala-library", "2.13.15"},
			artifact{"com.typesafe.scala-logging", "scala-logging_2.13", "3.9.5"},
			artifact{"com.fasterxml.jackson.core", "jackson-core", "2.16.2"},
			artifact{"com.fasterxml.jackson.core", "jackson-databind", "2.16.2"},
			artifact{"com.fasterxml.jackson.core", "jackson-annotations", "2.16.2"},
			artifact{"commons-validator", "commons-validator", "1.9.0"},
			artifact{"org.apache.logging.log4j", "log4j-api", "2.24.3"})
	}
	return list
}
