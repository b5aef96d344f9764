package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/understudy-kafka/understudy/proxy/shadow"
)

// stateFormat marks the files of a state directory.
const stateFormat = "understudy state 1"

// maxStateFile bounds the size of a state file, bytes.
const maxStateFile = 16 << 20

// stateDir keeps what was seen of clusters from one run to the next, one file for each cluster id.
type stateDir struct {
	dir string
	err error // of the last recall
}

type stateFile struct {
	Format string `json:"format"`
	shadow.Memory
}

// file is where a cluster's state is. Cluster ids are opaque strings.
func (s *stateDir) file(cluster string) string {
	return filepath.Join(s.dir, url.QueryEscape(cluster)+".json")
}

// recall reads what is remembered of a cluster.
func (s *stateDir) recall(cluster string) *shadow.Memory {
	m, err := readState(s.file(cluster), cluster)
	if err != nil {
		s.err = err
	}
	return m
}

func readState(name, cluster string) (*shadow.Memory, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil //nolint:nilnil // a cluster that is seen for the first time
	case err != nil:
		return nil, fmt.Errorf("state: %w", err)
	case info.Size() > maxStateFile:
		return nil, fmt.Errorf("state %s: %d bytes: larger than any state; move it away to begin anew", name, info.Size())
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	var f stateFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("state %s: damaged, or not a state: %w; move it away to begin anew", name, err)
	}
	if f.Format != stateFormat {
		return nil, fmt.Errorf("state %s: format %q: want %q; move it away to begin anew", name, f.Format, stateFormat)
	}
	if err := f.Valid(); err != nil {
		return nil, fmt.Errorf("state %s: %w; move it away to begin anew", name, err)
	}
	if f.ClusterID != cluster {
		return nil, fmt.Errorf("state %s: is of cluster %s, not of %s: it was copied or renamed", name, f.ClusterID, cluster)
	}
	return &f.Memory, nil
}

// remember writes what is to be remembered. The file is replaced as a whole, so that it is never half there.
func (s *stateDir) remember(m *shadow.Memory) error {
	if m == nil {
		return nil
	}
	raw, err := json.MarshalIndent(stateFile{stateFormat, *m}, "", "  ")
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if err := os.MkdirAll(s.dir, 0o750); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	f, err := os.CreateTemp(s.dir, ".state-*")
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.file(m.ClusterID))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("state: %w", err)
	}
	return nil
}
