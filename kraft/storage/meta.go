package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

// Names of files in a data directory.
const (
	MetaFile      = "meta.properties"
	LockFile      = ".lock"
	BootstrapFile = "bootstrap.checkpoint"
	PartitionDir  = "__cluster_metadata-0"
)

// maxSmallFile bounds what is read of the files that hold a few lines.
const maxSmallFile = 1 << 20

// Meta is the content of meta.properties (Kafka: MetaProperties).
type Meta struct {
	Version     int // 1; 0 for a directory of ZooKeeper times
	ClusterID   string
	NodeID      kraft.NodeID
	DirectoryID kraft.DirectoryID // zero: none, Kafka then draws one
}

// ReadMeta reads the meta.properties of a data directory. A file that is not there is ErrNotFormatted.
func ReadMeta(fsys FS, dir string) (Meta, error) {
	path := filepath.Join(dir, MetaFile)
	text, err := ReadFile(fsys, path, maxSmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Meta{}, fail(path, "format the directory: understudy format, or kafka-storage format", ErrNotFormatted, "no such file")
	}
	if err != nil {
		return Meta{}, err
	}
	p, err := ParseProperties(string(text))
	if err != nil {
		return Meta{}, fail(path, "correct the file or restore it", ErrCorrupt, "%v", err)
	}
	return metaOf(path, p)
}

func metaOf(path string, p map[string]string) (Meta, error) {
	m := Meta{NodeID: kraft.NoNode, ClusterID: p["cluster.id"]}
	var err error
	if v, ok := p["version"]; ok {
		if m.Version, err = strconv.Atoi(v); err != nil {
			return m, fail(path, "correct the file", ErrCorrupt, "version %q is no number", v)
		}
	}
	if m.Version < 0 || m.Version > 1 {
		return m, fail(path, "use a release that knows this version, or another directory", ErrVersion, "version %d, want 0 or 1", m.Version)
	}
	key := "node.id"
	if m.Version == 0 {
		key = "broker.id"
	}
	if v, ok := p[key]; ok {
		id, err := strconv.ParseInt(v, 10, 32)
		if err != nil || id < 0 {
			return m, fail(path, "correct the file", ErrCorrupt, "%s %q is no node id", key, v)
		}
		m.NodeID = kraft.NodeID(id)
	}
	if m.Version == 1 && m.NodeID == kraft.NoNode {
		return m, fail(path, "add the node's id, node.id=N", ErrCorrupt, "no node.id")
	}
	if m.Version == 1 && m.ClusterID == "" {
		return m, fail(path, "add the cluster's id, cluster.id=ID", ErrCorrupt, "no cluster.id")
	}
	if v, ok := p["directory.id"]; ok {
		if m.DirectoryID, err = kraft.ParseDirectoryID(v); err != nil {
			return m, fail(path, "correct the file", ErrCorrupt, "%v", err)
		}
	}
	return m, nil
}

// WriteMeta writes the meta.properties of a data directory, durably.
func WriteMeta(fsys FS, dir string, m Meta, now time.Time) error {
	var b strings.Builder // in the order that Java's hash table gives these keys
	b.WriteString("#\n#" + now.UTC().Format("Mon Jan 02 15:04:05 MST 2006") + "\n")
	b.WriteString("node.id=" + m.NodeID.String() + "\n")
	if !m.DirectoryID.IsZero() {
		b.WriteString("directory.id=" + m.DirectoryID.String() + "\n")
	}
	b.WriteString("version=1\ncluster.id=" + escapeProperty(m.ClusterID) + "\n")
	return replaceFile(fsys, filepath.Join(dir, MetaFile), []byte(b.String()))
}

func escapeProperty(v string) string {
	v = strings.NewReplacer(`\`, `\\`, "=", `\=`, ":", `\:`, "#", `\#`, "!", `\!`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`).Replace(v)
	if strings.HasPrefix(v, " ") {
		v = `\` + v
	}
	return v
}

// ParseProperties reads the text of a Java properties file: comments, continued lines, escapes. Of two lines with one key the
// later one counts.
func ParseProperties(text string) (map[string]string, error) {
	p := map[string]string{}
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		number := i + 1
		for continued(line) {
			line = line[:len(line)-1]
			if i++; i < len(lines) {
				line += strings.TrimLeft(lines[i], " \t\f")
			}
		}
		key, value, err := splitProperty(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		p[key] = value
	}
	return p, nil
}

// continued: an odd number of backslashes ends the line.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

func splitProperty(line string) (key, value string, err error) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	if key, err = unescape(line[:end]); err != nil {
		return "", "", err
	}
	value, err = unescape(rest)
	return key, value, err
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+4 >= len(s) {
				return "", fmt.Errorf("%q: \\u without four digits", s)
			}
			r, err := strconv.ParseUint(s[i+1:i+5], 16, 32)
			if err != nil {
				return "", fmt.Errorf("%q: \\u without four digits", s)
			}
			b.WriteRune(rune(r))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}
