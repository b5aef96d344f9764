package doctor

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// refetch is what helps a voter whose log is beyond repair, while a majority of the others is healthy.
const refetch = "if the other voters are healthy: stop the node, move its segments, snapshots and leader-epoch-checkpoint away, keep quorum-state and " +
	"meta.properties, and let it fetch from the leader"

// looks is how often a directory is read that changes all the while.
const looks = 5

// lookSettled reads one directory. What a running node changes between two reads may look like damage, so where something is found, and
// the directory has changed, it is read again.
func lookSettled(fsys storage.FS, path string) (*Directory, error) {
	for n := 1; ; n++ {
		before := listing(fsys, path)
		d, err := look(fsys, path)
		fine := err == nil && !slices.ContainsFunc(d.findings, func(f Finding) bool { return f.Severity > Note })
		if fine || n == looks || slices.Equal(before, listing(fsys, path)) {
			return d, err
		}
	}
}

// listing is what the partition's files looked like at a moment.
func listing(fsys storage.FS, path string) []storage.FileInfo {
	if filepath.Base(path) != storage.PartitionDir {
		path = filepath.Join(path, storage.PartitionDir)
	}
	entries, err := fsys.ReadDir(path)
	if err != nil {
		return nil // look says so
	}
	return entries
}

// look reads one directory. The election state comes after the log: a running node writes it first.
func look(fsys storage.FS, path string) (*Directory, error) {
	if filepath.Base(path) == storage.PartitionDir {
		path = filepath.Dir(path)
	}
	d := &Directory{
		Path: path, Starts: true, leaders: map[kraft.Epoch]kraft.NodeID{}, levels: map[string]level{}, found: map[[2]string]int{}, votersAt: -2, versionAt: -2,
		State: kraft.QuorumState{Leader: kraft.NoNode, Voted: kraft.NoReplica}, Key: kraft.NoReplica,
	}
	if _, err := fsys.ReadDir(path); err != nil {
		return nil, err
	}
	d.lookMeta(fsys)
	partition := filepath.Join(path, storage.PartitionDir)
	entries, err := fsys.ReadDir(partition)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	d.lookBootstrap(fsys)
	d.lookPartition(fsys, partition)
	d.lookNames(partition, entries)
	err = d.lookSnapshots(fsys, partition, entries)
	if err == nil {
		err = d.lookSegments(fsys, partition, entries)
	}
	d.lookState(fsys, partition)
	if err != nil { // what the log holds is not known: nothing follows from the rest
		d.unreadable(partition, err)
		return d, nil
	}
	d.lookEpochs(fsys, partition)
	d.conclude(partition)
	return d, nil
}

// unreadable: the file system does not give a file, so Kafka would not get it either.
func (d *Directory) unreadable(partition string, err error) {
	file := partition
	var path *fs.PathError
	if errors.As(err, &path) {
		file = path.Path
	}
	d.find(Fatal, "unreadable", file, -1, "let the user that runs Kafka read it; if the disk fails, take the node away and let a new one fetch from the leader", "%v", err)
	d.Start, d.End = d.view.Start, d.view.EndOffset()
}

// lookNames: Kafka takes the offset from the name of each file that it takes for its own, and does not start where there is none
// (Kafka: LogLoader, LogFileUtils.offsetFromFileName, Snapshots.parse).
func (d *Directory) lookNames(partition string, entries []storage.FileInfo) {
	for _, e := range entries {
		stem, ext := e.Name, filepath.Ext(e.Name)
		switch ext {
		case ".log", ".index", ".timeindex", ".txnindex", ".snapshot":
			stem, _, _ = strings.Cut(stem, ".")
		case ".checkpoint":
			if _, ok := storage.ParseSnapshotName(e.Name); ok {
				continue
			}
			stem = ""
		default:
			continue
		}
		if _, err := strconv.ParseInt(stem, 10, 64); err != nil {
			d.find(Fatal, "foreign-name", filepath.Join(partition, e.Name), -1, "move the file out of the directory", "a %s file without an offset in its name: Kafka ends on it at its start", ext)
		}
	}
}

func (d *Directory) lookMeta(fsys storage.FS) {
	file := filepath.Join(d.Path, storage.MetaFile)
	m, err := storage.ReadMeta(fsys, d.Path)
	if err != nil {
		kind := "meta-unreadable"
		if errors.Is(err, storage.ErrNotFormatted) {
			kind = "not-formatted"
		}
		d.find(Fatal, kind, file, -1, "restore the file from a backup; the node's directory id is also in the voter set of the others (dump --record KRaftVoters)", "%v", err)
		return
	}
	if m.NodeID == kraft.NoNode {
		d.find(Fatal, "no-node-id", file, -1, "restore the file from a backup, or write version=1, node.id, cluster.id and directory.id as they were", "there is no node id in it")
		return
	}
	d.formatted, d.ClusterID, d.Key = true, m.ClusterID, kraft.ReplicaKey{ID: m.NodeID, DirectoryID: m.DirectoryID}
	if m.DirectoryID.IsZero() {
		d.find(Risk, "no-directory-id", file, -1, "add directory.id=ID with the id that the voter set has for this node, before the next start draws another",
			"there is no directory.id: the next start draws one, and a dynamic quorum then does not know the node")
	}
}

// lookBootstrap: 4.0.0 fails on an old file even where the log is long past it (KAFKA-19192).
func (d *Directory) lookBootstrap(fsys storage.FS) {
	file := filepath.Join(d.Path, storage.BootstrapFile)
	err := eachBatch(fsys, file, func(b *wire.Batch, _ int64) error {
		return b.Each(func(r wire.Record) error {
			if b.Control() {
				return nil
			}
			m, err := wire.DecodeMetadata(r.Value)
			if err != nil {
				return err
			}
			level, ok := m.Field("featureLevel")
			name, _ := m.Field("name")
			if n, err := strconv.Atoi(string(level)); ok && err == nil && string(name) == `"metadata.version"` && n < 7 {
				d.find(Risk, "old-bootstrap", file, -1, "move the file away before an upgrade to 4.0.0; later releases ignore it once the log has records",
					"it asks for metadata.version %d, below 3.3", n)
			}
			return nil
		})
	})
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	d.find(Fatal, "bootstrap-unreadable", file, -1, "move the file away if the log has records; otherwise format the directory anew", "%v", err)
}

func (d *Directory) lookState(fsys storage.FS, partition string) {
	s, ok, err := storage.ReadQuorumState(fsys, partition)
	if err != nil {
		d.find(Fatal, "state-unreadable", filepath.Join(partition, storage.QuorumStateFile), -1, "", "%v", err)
		return
	}
	d.HasState = ok
	if ok {
		d.State, d.version, d.named = s.QuorumState, s.DataVersion, s.VoterIDs
	}
}

func (d *Directory) lookPartition(fsys storage.FS, partition string) {
	file := filepath.Join(partition, storage.PartitionFile)
	text, err := storage.ReadFile(fsys, file, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil || !strings.Contains(string(text), "version: 0") || !strings.Contains(string(text), "topic_id: "+storage.MetadataTopicID) {
		d.find(Fatal, "partition-metadata", file, -1, "write the two lines that belong there, or remove the file: it is made again", "%q %v, want version: 0 and topic_id: %s",
			text, err, storage.MetadataTopicID)
	}
}

// eachBatch reads a file of batches to its end or to the first that cannot be read, which is the error.
func eachBatch(fsys storage.FS, file string, visit func(*wire.Batch, int64) error) error {
	f, err := fsys.OpenFile(file, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	size, err := f.Size()
	if err != nil {
		return err
	}
	in := storage.NewScanner(f, 0, size)
	for {
		b, at, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(b, at); err != nil {
			return err
		}
	}
}

// lookSnapshots reads all snapshots; the voters in force are those of the latest that can be read.
func (d *Directory) lookSnapshots(fsys storage.FS, partition string, entries []storage.FileInfo) error {
	for _, e := range entries {
		file := filepath.Join(partition, e.Name)
		id, ok := storage.ParseSnapshotName(e.Name)
		if !ok {
			if strings.HasSuffix(e.Name, ".part") || strings.HasSuffix(e.Name, ".deleted") || strings.HasSuffix(e.Name, ".tmp") {
				d.find(Note, "leftover", file, -1, "", "%d bytes that the next start removes", e.Size)
			}
			continue
		}
		d.view.AddSnapshot(kraft.Snapshot{ID: id, Size: e.Size})
		if err := d.lookSnapshot(fsys, file, id, e.Size); err != nil {
			return err
		}
	}
	return nil
}

func (d *Directory) lookSnapshot(fsys storage.FS, file string, id kraft.SnapshotID, size int64) error {
	remedy := "remove it if an older snapshot, or the log from offset 0, is there; otherwise: " + refetch
	if size == 0 {
		d.find(Fatal, "empty-snapshot", file, id.Offset, remedy, "the file is empty")
		return nil
	}
	var first, last wire.ControlType
	voters, version := false, int16(0)
	err := eachBatch(fsys, file, func(b *wire.Batch, _ int64) error {
		return b.Each(func(r wire.Record) error {
			last = -1
			if b.Control() {
				t, err := wire.ControlTypeOf(r.Key)
				if err != nil {
					return err
				}
				if last = t; r.Offset == 0 {
					first = t
				}
				voters = voters || t == wire.TypeKRaftVoters
			}
			err := d.note(b, &r, id.Offset-1, file)
			version = d.KRaftVersion
			return err
		})
	})
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return err
	case err != nil:
		d.find(Fatal, "snapshot-damaged", file, id.Offset, remedy, "%v", err)
	case first != wire.TypeSnapshotHeader || last != wire.TypeSnapshotFooter:
		d.find(Damage, "snapshot-cut", file, id.Offset, remedy, "it does not go from a SnapshotHeader to a SnapshotFooter: records are missing")
	case version > 0 && !voters && id != kraft.BootstrapSnapshot:
		d.find(Damage, "snapshot-without-voters", file, id.Offset, remedy, "kraft.version is %d, but there is no KRaftVoters record in it", version)
	}
	return nil
}

// lookSegments reads the log as a start would.
func (d *Directory) lookSegments(fsys storage.FS, partition string, entries []storage.FileInfo) error {
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name, ".log") && len(e.Name) == 24 {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		base, err := strconv.ParseInt(strings.TrimSuffix(name, ".log"), 10, 64)
		if err != nil {
			continue
		}
		file := filepath.Join(partition, name)
		switch {
		case i == 0:
			d.view.Start, d.view.End = kraft.Offset(base), kraft.Offset(base)
		case kraft.Offset(base) < d.view.End:
			d.find(Damage, "segments-overlap", file, kraft.Offset(base), "compare both files with another node's, and move the wrong one away", "the segment before it reaches up to %d", d.view.End)
			continue
		case kraft.Offset(base) > d.view.End:
			d.find(Damage, "hole", file, d.view.End, refetch, "offsets %d to %d are in no segment", d.view.End, base-1)
			d.view.End = kraft.Offset(base)
		}
		damaged, err := d.lookSegment(fsys, file, names[i+1:])
		if err != nil {
			return err
		}
		if damaged {
			return nil
		}
		d.view.End = max(d.view.End, kraft.Offset(base))
	}
	return nil
}

func (d *Directory) lookSegment(fsys storage.FS, file string, later []string) (damaged bool, err error) {
	err = eachBatch(fsys, file, func(b *wire.Batch, at int64) error {
		if n := len(d.sums); n > 0 && b.Epoch < d.sums[n-1].epoch {
			d.find(Damage, "epoch-backwards", file, b.BaseOffset, refetch, "byte %d: a batch of epoch %d follows one of epoch %d", at, b.Epoch, d.sums[n-1].epoch)
		}
		if b.BaseOffset > d.view.End {
			d.find(Note, "gap", file, d.view.End, "", "byte %d: the next batch begins at offset %d: a truncation inside a batch leaves such a gap", at, b.BaseOffset)
		}
		d.view.Append(b.BaseOffset, b.LastOffset(), b.Epoch)
		d.sums = append(d.sums, sum{b.BaseOffset, b.LastOffset(), b.Epoch, b.CRC})
		if err := b.Each(func(r wire.Record) error { return d.note(b, &r, r.Offset, file) }); err != nil {
			severity := Fatal
			if errors.Is(err, wire.ErrUnsupported) {
				severity = Risk
			}
			d.find(severity, "record-undecodable", file, b.BaseOffset, "a record of a later release needs that release; otherwise: "+refetch, "byte %d: %v", at, err)
		}
		return nil
	})
	var damage *storage.Damage
	if !errors.As(err, &damage) {
		return false, err
	}
	if len(later) == 0 {
		d.find(Note, "torn-tail", file, d.view.End, "nothing: a start cuts it. It is normal after a crash of the machine, and where a node is writing just now",
			"%v: %d bytes behind the last whole batch", damage, damage.Size-damage.Position)
		return true, nil
	}
	d.find(Damage, "segment-damaged", file, d.view.End, "do not start Kafka on it, which would cut the log here without a word; "+refetch,
		"%v: a start cuts the log to offset %d and removes %d later segments", damage, d.view.End, len(later))
	return true, nil
}

func (d *Directory) lookEpochs(fsys storage.FS, partition string) {
	file := filepath.Join(partition, storage.EpochsFile)
	cache, err := storage.ReadEpochs(fsys, partition)
	if err != nil {
		d.find(Fatal, "epochs-unreadable", file, -1, "remove the file: it is made again from the log", "%v", err)
		return
	}
	cut := slices.ContainsFunc(d.findings, func(f Finding) bool { return f.Kind == "segment-damaged" }) // which says so already
	end := d.view.End
	if latest, ok := d.view.LatestSnapshot(); ok {
		end = max(end, latest.Offset)
	}
	for _, e := range cache {
		if e.Start > end && !cut {
			d.find(Risk, "tail-missing", file, e.Start, "if other voters have the records: "+strings.TrimPrefix(refetch, "if the other voters are healthy: ")+
				". After a failure of power alone nothing that was acknowledged can be missing",
				"epoch %d was begun at offset %d, but the log ends at %d: its tail is gone", e.Epoch, e.Start, d.view.End)
			break
		}
		if e.Start >= d.view.End {
			continue
		}
		if i := slices.IndexFunc(d.sums, func(s sum) bool { return s.base >= e.Start }); i >= 0 && d.sums[i].epoch < e.Epoch {
			d.find(Damage, "epochs-disagree", file, e.Start, "remove the file: it is made again from the log", "epoch %d is said to begin at %d, where the log has epoch %d",
				e.Epoch, e.Start, d.sums[i].epoch)
		}
	}
}

// conclude draws what follows from the files together.
func (d *Directory) conclude(partition string) {
	log := &d.view
	state := filepath.Join(partition, storage.QuorumStateFile)
	if latest, ok := log.LatestSnapshot(); ok && log.Start > 0 && !slices.ContainsFunc(log.Snapshots, func(s kraft.Snapshot) bool { return s.ID.Offset >= log.Start }) || !ok && log.Start > 0 {
		d.find(Fatal, "no-snapshot-for-start", partition, log.Start, "restore the snapshot from a backup, or: "+refetch, "the log begins at offset %d, the latest snapshot ends at %d", log.Start, latest.Offset)
	}
	last, _ := log.Epochs.Last()
	if latest, ok := log.LatestSnapshot(); ok && (latest.Epoch > last || latest.Epoch == last && latest.Offset > log.End) && latest != kraft.BootstrapSnapshot {
		d.find(Note, "snapshot-beyond-log", filepath.Join(partition, storage.SnapshotName(latest)), latest.Offset, "", "a start removes the log, which ends at %d@%d, and begins at the snapshot", log.End, last)
	}
	if log.TruncateToLatestSnapshot() {
		d.sums = nil
	}
	d.Start = log.Start
	d.End = log.EndOffset()
	if len(d.sums) > 0 && !d.HasState && !slices.ContainsFunc(d.findings, func(f Finding) bool { return f.Kind == "state-unreadable" }) {
		d.find(Damage, "state-missing", state, -1, "restore it; without it the node may vote again in an epoch in which it has voted",
			"the log has records up to epoch %d, but no election state", d.End.LastEpoch)
	}
	if d.HasState && d.State.Epoch < d.End.LastEpoch {
		d.find(Damage, "state-behind-log", state, d.End.LastOffset, "restore the newer file: votes of the epochs between are forgotten",
			"it says epoch %d, the log ends in epoch %d", d.State.Epoch, d.End.LastEpoch)
	}
	if d.HasState && d.version == 0 && d.KRaftVersion > 0 && d.State.Voted.ID >= 0 {
		d.find(Note, "state-of-older-version", state, -1, "", "data_version 0 has no directory id of the vote, although kraft.version is %d: its next write changes that", d.KRaftVersion)
	}
	if leader, ok := d.leaders[d.State.Epoch]; ok && d.State.Leader >= 0 && leader != d.State.Leader {
		d.find(Damage, "two-leaders", state, -1, "keep both directories as evidence and compare the logs of all voters", "leader of epoch %d is %v, in the log %v", d.State.Epoch, d.State.Leader, leader)
	}
	if _, ok := d.levels[metadataVersion]; d.records && !ok && log.Start == 0 && !slices.ContainsFunc(log.Snapshots, func(s kraft.Snapshot) bool { return s.ID.Offset > 0 }) {
		d.find(Risk, "no-metadata-version", partition, 0, "kafka-features upgrade --metadata sets it (KAFKA-20839)", "the log has metadata records, but none sets metadata.version")
	}
	for i := range d.voters.Len() {
		d.VoterIDs = append(d.VoterIDs, d.voters.At(i).Key)
	}
	d.concludeVoters(partition)
	d.concludeFeatures()
}

// concludeVoters looks for a node that its own voter set does not know any more.
func (d *Directory) concludeVoters(partition string) {
	own := d.voters.Find(d.Key.ID)
	if own != nil && !own.Matches(d.Key) {
		d.find(Damage, "stale-directory-id", filepath.Join(d.Path, storage.MetaFile), d.votersAt,
			"with a leader: kafka-metadata-quorum remove-controller with the old directory id, then add-controller; or restore directory.id if the log is the old one",
			"directory.id is %v, the voter set has node %v under %v: the node is an observer, and its old key still counts", d.Key.DirectoryID, own.Key.ID, own.Key.DirectoryID)
	}
	for i := range d.voters.Len() {
		if v := d.voters.At(i); !d.Key.DirectoryID.IsZero() && v.Key.DirectoryID == d.Key.DirectoryID && v.Key.ID != d.Key.ID {
			d.find(Damage, "directory-of-another", filepath.Join(d.Path, storage.MetaFile), d.votersAt, "restore node.id, or the directory's own meta.properties",
				"node.id is %v, but the voter set has this directory.id under node %v", d.Key.ID, v.Key.ID)
		}
	}
	seen := map[kraft.Address]kraft.NodeID{}
	for i := range d.voters.Len() {
		v := d.voters.At(i)
		for j := range v.Endpoints.Len() {
			a := v.Endpoints.At(j).Address
			if other, ok := seen[a]; ok && other != v.Key.ID {
				d.find(Damage, "shared-endpoint", partition, d.votersAt, "correct advertised.listeners of one of them and restart it while there is a leader", "voters %v and %v are both at %v", other, v.Key.ID, a)
			}
			seen[a] = v.Key.ID
		}
		if v.Endpoints.Len() == 0 {
			d.find(Damage, "voter-without-endpoint", partition, d.votersAt, "", "voter %v has no endpoint: no vote can be asked of it", v.Key)
		}
	}
}
