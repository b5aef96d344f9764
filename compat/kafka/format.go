package kafka

import (
	"context"
	"fmt"
	"os"

	"github.com/understudy-kafka/understudy/internal/child"
)

// format makes the data directories of a fresh quorum. A JVM runs only where Kafka must decide what is written,
// and then once: the directory is copied for the other controllers.
func (q *Quorum) format(ctx context.Context) error {
	var made *member // formatted by StorageTool
	for _, m := range q.members {
		if err := os.Mkdir(m.Dir, 0o755); err != nil { // never into what another quorum has left
			return fmt.Errorf("node %s: %w", m.ID, err)
		}
		if err := m.Properties.write(m.ConfigFile); err != nil {
			return fmt.Errorf("node %s: %w", m.ID, err)
		}
	}
	for _, m := range q.members {
		var err error
		switch {
		case !m.Controller || q.plain() || q.cfg.Voters == Standalone && made != nil:
			err = writeMeta(m.DataDir, q.ClusterID, m.ID, m.Directory)
		case made == nil:
			made = m
			err = q.storageFormat(ctx, m)
		default:
			err = copyFormatted(made.DataDir, m.DataDir, q.ClusterID, m.ID, m.Directory)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plain reports whether meta.properties is all that a controller needs.
func (q *Quorum) plain() bool { return q.cfg.Voters == Static && q.cfg.MetadataVersion == "" }

// storageFormat runs Kafka's StorageTool, of the oldest release in the quorum: newer releases read what older
// ones write.
func (q *Quorum) storageFormat(ctx context.Context, m *member) error {
	dist := m.dist
	for _, other := range q.members {
		if other.Release.Compare(dist.Release()) < 0 {
			dist = other.dist
		}
	}
	args := []string{"format", "-t", q.ClusterID, "-c", m.ConfigFile}
	switch q.cfg.Voters {
	case Dynamic:
		args = append(args, "--initial-controllers", initialControllers(q.Nodes()))
	case Standalone:
		args = append(args, "--standalone")
	case Static:
	}
	if q.cfg.MetadataVersion != "" {
		args = append(args, "--release-version", q.cfg.MetadataVersion)
	}
	if out, err := runClass(ctx, dist, storageClass, args...); err != nil {
		return fmt.Errorf("format node %s: %w: %s", m.ID, err, child.Tail(out, 4))
	}
	directory, err := readDirectoryID(m.DataDir)
	if err != nil {
		return fmt.Errorf("format node %s: %w", m.ID, err)
	}
	m.Directory = directory // drawn by the tool, but for --initial-controllers
	return nil
}
