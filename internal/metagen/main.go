// Command metagen writes the tables of message layouts in package wire. It reads Kafka's own JSON message definitions
// out of the jars of one release, which Maven fetches into the user's cache directory.
//
//	go run ./internal/metagen -kafka 4.4.0 -out wire
package main

import (
	"archive/zip"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

func main() {
	release := flag.String("kafka", "4.4.0", "Kafka release whose definitions to read")
	out := flag.String("out", "wire", "directory of the package to write into")
	cache := flag.String("cache", "", "directory for the jars (default: understudy/jars in the user's cache directory)")
	flag.Parse()
	if err := run(*release, *out, *cache); err != nil {
		fmt.Fprintln(os.Stderr, "metagen:", err)
		os.Exit(1)
	}
}

// rpcs are the messages that package wire has a file of its own for.
var rpcs = []string{
	"Fetch", "SaslHandshake", "ApiVersions", "SaslAuthenticate", "IncrementalAlterConfigs", "AlterUserScramCredentials",
	"Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "DescribeQuorum", "UpdateFeatures", "Envelope", "FetchSnapshot",
	"DescribeCluster", "BrokerRegistration", "BrokerHeartbeat", "UnregisterBroker", "ControllerRegistration",
	"AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter", "UnregisterController",
}

// controls are the values of control records, by the type in their key (Kafka: ControlRecordType).
var controls = map[int]string{
	2: "LeaderChangeMessage", 3: "SnapshotHeaderRecord", 4: "SnapshotFooterRecord", 5: "KRaftVersionRecord", 6: "VotersRecord",
}

func run(release, out, cache string) error {
	clients, err := definitions(release, cache, "kafka-clients", "common/message/")
	if err != nil {
		return err
	}
	metadata, err := definitions(release, cache, "kafka-metadata", "common/metadata/")
	if err != nil {
		return err
	}
	var requests, responses, control, records []*message
	for _, name := range rpcs {
		for suffix, list := range map[string]*[]*message{"Request": &requests, "Response": &responses} {
			m, ok := clients[name+suffix]
			if !ok {
				return fmt.Errorf("no definition of %s%s in the jar of kafka-clients %s", name, suffix, release)
			}
			*list = append(*list, m)
		}
	}
	for key, name := range controls {
		m, ok := clients[name]
		if !ok {
			return fmt.Errorf("no definition of %s in the jar of kafka-clients %s", name, release)
		}
		m.APIKey = key
		control = append(control, m)
	}
	for _, m := range metadata {
		if m.Type == "metadata" {
			records = append(records, m)
		}
	}
	if err := write(filepath.Join(out, "message_table_gen.go"), release, "kafka-clients", []table{
		{"requestSchemas", requests}, {"responseSchemas", responses}, {"controlSchemas", control},
	}); err != nil {
		return err
	}
	return write(filepath.Join(out, "metadata_table_gen.go"), release, "kafka-metadata", []table{{"metadataSchemas", records}})
}

func write(file, release, jar string, tables []table) error {
	for _, t := range tables {
		sort.Slice(t.messages, func(i, j int) bool { return t.messages[i].APIKey < t.messages[j].APIKey })
	}
	text, err := generate(release, jar, tables)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, text, 0o644)
}

// definitions reads the message definitions in one folder of a jar, by name.
func definitions(release, cache, artifact, folder string) (map[string]*message, error) {
	file, err := fetch(release, cache, artifact)
	if err != nil {
		return nil, err
	}
	jar, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	defer func() { _ = jar.Close() }() // it was only read
	found := map[string]*message{}
	for _, entry := range jar.File {
		if dir, name := path.Split(entry.Name); dir != folder || !strings.HasSuffix(name, ".json") {
			continue
		}
		text, err := fs.ReadFile(jar, entry.Name)
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", entry.Name, file, err)
		}
		m, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", entry.Name, file, err)
		}
		found[m.Name] = m
	}
	return found, nil
}

// fetch returns the path of a jar, which Maven copies into the cache if it is not there.
func fetch(release, cache, artifact string) (string, error) {
	if cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(base, "understudy", "jars")
	}
	file := filepath.Join(cache, artifact+"-"+release+".jar")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	mvn := exec.Command("mvn", "-q", "-B", "dependency:copy",
		"-Dartifact=org.apache.kafka:"+artifact+":"+release, "-DoutputDirectory="+cache)
	mvn.Stdout, mvn.Stderr = os.Stderr, os.Stderr
	if err := mvn.Run(); err != nil {
		return "", fmt.Errorf("fetch %s %s with Maven: %w", artifact, release, err)
	}
	return file, nil
}
