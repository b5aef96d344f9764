package kafka

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// newDirectoryID draws a directory id as Kafka does (Uuid.randomUuid): one whose text does not start with a
// dash, which command lines would take for an option.
func newDirectoryID() kraft.DirectoryID {
	for {
		var id kraft.DirectoryID
		_, _ = rand.Read(id[:]) // never fails, by its contract
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if id.String()[0] != '-' {
			return id
		}
	}
}

func newClusterID() string { return newDirectoryID().String() }

// metaFile is the name of the file that makes a directory a formatted one.
const metaFile = "meta.properties"

// writeMeta makes a formatted data directory without a JVM. It is all that a voter of a static quorum, a broker
// and an observer need: without a bootstrap.checkpoint the leader takes the newest metadata.version it knows.
func writeMeta(dir, clusterID string, node kraft.NodeID, directory kraft.DirectoryID) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("format node %s: %w", node, err)
	}
	meta := Properties{"version": "1", "cluster.id": clusterID, "node.id": node.String(), "directory.id": directory.String()}
	if err := meta.write(filepath.Join(dir, metaFile)); err != nil {
		return fmt.Errorf("format node %s: %w", node, err)
	}
	return nil
}

// readDirectoryID reads the directory id out of meta.properties.
func readDirectoryID(dir string) (kraft.DirectoryID, error) {
	path := filepath.Join(dir, metaFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return kraft.DirectoryID{}, err
	}
	for l := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(l), "directory.id="); ok {
			return kraft.ParseDirectoryID(id)
		}
	}
	return kraft.DirectoryID{}, fmt.Errorf("%s has no directory.id", path)
}

// copyFormatted copies a data directory that StorageTool made for another node: all but its identity is the
// same for each member of the quorum, the 0-0 checkpoint and bootstrap.checkpoint included.
func copyFormatted(from, to, clusterID string, node kraft.NodeID, directory kraft.DirectoryID) error {
	err := os.CopyFS(to, os.DirFS(from))
	if err == nil {
		err = os.Remove(filepath.Join(to, metaFile))
	}
	return errors.Join(err, writeMeta(to, clusterID, node, directory))
}
