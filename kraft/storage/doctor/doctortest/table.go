package doctortest

import (
	"fmt"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/doctor"
	"github.com/understudy-kafka/understudy/wire"
)

const (
	meta      = Root + "/" + storage.MetaFile
	bootstrap = Root + "/" + storage.BootstrapFile
	state     = partition + storage.QuorumStateFile
	epochs    = partition + storage.EpochsFile
	topic     = partition + storage.PartitionFile
)

// Damages are all kinds that one directory can show.
var Damages = []Damage{
	{"not-formatted", doctor.Fatal, func(d *Dir) string { return d.remove(meta) }, nil},
	{"meta-unreadable", doctor.Fatal, func(d *Dir) string { return d.write(meta, "version=7\n") }, nil},
	{"no-node-id", doctor.Fatal, func(d *Dir) string { return d.write(meta, "") }, nil},
	{"directory-of-another", doctor.Damage, func(d *Dir) string {
		return d.replace(meta, fmt.Sprintf("node.id=%d", d.Meta.NodeID), fmt.Sprintf("node.id=%d", d.Meta.NodeID+6))
	}, nil},
	{"foreign-name", doctor.Fatal, func(d *Dir) string { return d.write(partition+"backup.log", "x") }, nil},
	{"foreign-name", doctor.Fatal, func(d *Dir) string { return d.write(partition+"copy.checkpoint", "x") }, nil},
	{"foreign-name", doctor.Fatal, func(d *Dir) string { return d.write(partition+"99999999999999999999.log", "x") }, nil},
	{"tail-missing", doctor.Risk, func(d *Dir) string {
		return d.write(epochs, fmt.Sprintf("0\n2\n1 0\n%d %d\n", d.Epoch+1, d.End+5))
	}, nil},
	{"no-directory-id", doctor.Risk, func(d *Dir) string { return d.replace(meta, "directory.id", "other.id") }, []string{"stale-directory-id"}},
	{"stale-directory-id", doctor.Damage, func(d *Dir) string { return d.replace(meta, d.Meta.DirectoryID.String(), d.OtherID) }, nil},
	{"bootstrap-unreadable", doctor.Fatal, func(d *Dir) string { return d.write(bootstrap, "garbage, not batches") }, nil},
	{"old-bootstrap", doctor.Risk, func(d *Dir) string {
		return d.write(bootstrap, string(wire.AppendDataBatch(nil, 0, 0, 1, wire.FeatureLevelRecord("metadata.version", 1))))
	}, nil},
	{"state-unreadable", doctor.Fatal, func(d *Dir) string { return d.cut(state, 3) }, nil},
	{"state-missing", doctor.Damage, func(d *Dir) string { return d.remove(state) }, nil},
	{"state-behind-log", doctor.Damage, func(d *Dir) string {
		return d.replace(state, fmt.Sprintf(`"leaderEpoch":%d`, d.State.Epoch), fmt.Sprintf(`"leaderEpoch":%d`, d.Epoch-1))
	}, []string{}},
	{"two-leaders", doctor.Damage, func(d *Dir) string {
		return d.write(state, fmt.Sprintf(`{"leaderId":3,"leaderEpoch":%d,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`, d.Epoch))
	}, nil},
	{"epoch-without-leader", doctor.Risk, func(d *Dir) string {
		return d.write(state, fmt.Sprintf(`{"leaderId":-1,"leaderEpoch":%d,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`, d.Epoch+40))
	}, nil},
	{"state-of-older-version", doctor.Note, func(d *Dir) string {
		return d.write(state, fmt.Sprintf(`{"clusterId":"","leaderId":-1,"leaderEpoch":%d,"votedId":1,"appliedOffset":0,"currentVoters":[],"data_version":0}`, d.Epoch))
	}, nil},
	{"partition-metadata", doctor.Fatal, func(d *Dir) string { return d.write(topic, "version: 0\ntopic_id: Ed0_z6eWSMito5mSxIgznw") }, nil},
	{"epochs-unreadable", doctor.Fatal, func(d *Dir) string { return d.write(epochs, "0\n9\n") }, nil},
	{"epochs-disagree", doctor.Damage, func(d *Dir) string { return d.write(epochs, fmt.Sprintf("0\n2\n1 0\n%d 5\n", d.Epoch)) }, nil},
	{"torn-tail", doctor.Note, func(d *Dir) string { // of a batch of its own: the last one may end where a snapshot does
		return d.appended(wire.AppendDataBatch(nil, d.End, d.Epoch, 1, []byte{1, 20, 0, 0})[:50])
	}, nil},
	{"segment-damaged", doctor.Damage, func(d *Dir) string { return d.flip(d.Segments[1], 70) }, []string{"snapshot-beyond-log"}},
	{"hole", doctor.Damage, func(d *Dir) string { d.remove(d.Segments[1]); return d.Segments[2] }, nil},
	{"segments-overlap", doctor.Damage, func(d *Dir) string {
		return d.write(partition+fmt.Sprintf("%020d.log", 3), "x")
	}, nil},
	{"no-snapshot-for-start", doctor.Fatal, func(d *Dir) string {
		d.remove(d.Segments[0])
		for _, s := range d.Snapshots {
			d.remove(s)
		}
		return partition
	}, nil},
	{"empty-snapshot", doctor.Fatal, func(d *Dir) string { return d.write(d.newest(), "") }, nil},
	{"snapshot-damaged", doctor.Fatal, func(d *Dir) string { return d.flip(d.newest(), 70) }, nil},
	{"snapshot-cut", doctor.Damage, func(d *Dir) string {
		b := d.Files()[d.newest()]
		return d.cut(d.newest(), len(footer(b)))
	}, nil},
	{"snapshot-without-voters", doctor.Damage, func(d *Dir) string {
		return d.write(d.newest(), string(snapshot(d.Epoch, wire.KRaftVersion{Level: 1})))
	}, nil},
	{"snapshot-beyond-log", doctor.Note, func(d *Dir) string {
		id := kraft.SnapshotID{Offset: d.End + 90, Epoch: d.Epoch}
		return d.write(partition+storage.SnapshotName(id), string(snapshot(d.Epoch, wire.KRaftVersion{Level: 1}, wire.Voters{Voters: []wire.Voter{d.voter(d.Meta.NodeID, "h")}})))
	}, nil},
	{"leftover", doctor.Note, func(d *Dir) string {
		return d.write(partition+"00000000000000000300-0000000005-7.checkpoint.part", "x")
	}, nil},
	{"record-undecodable", doctor.Risk, func(d *Dir) string { return d.appended(wire.AppendDataBatch(nil, d.End, d.Epoch, 1, []byte{1, 99, 0})) }, nil},
	{"epoch-backwards", doctor.Damage, func(d *Dir) string {
		b := wire.AppendDataBatch(nil, d.End, d.Epoch-1, 1, []byte{1, 20, 0, 0})
		return d.appended(wire.AppendDataBatch(b, d.End+1, d.Epoch, 1, []byte{1, 20, 0, 0}))
	}, nil},
	{"feature-level-unknown", doctor.Risk, func(d *Dir) string { return d.feature(metadataVersion, 99) }, nil},
	{"metadata-version-too-old", doctor.Risk, func(d *Dir) string { return d.feature(metadataVersion, 3) }, nil},
	{"feature-levels-contradict", doctor.Risk, func(d *Dir) string { return d.feature(metadataVersion, 20) }, nil},
	{"gap", doctor.Note, func(d *Dir) string {
		return d.appended(wire.AppendDataBatch(nil, d.End+4, d.Epoch, 1, []byte{1, 20, 0, 0}))
	}, nil},
	{"shared-endpoint", doctor.Damage, func(d *Dir) string { return d.voters(d.voter(d.Meta.NodeID, "h"), d.voter(2, "h")) }, nil},
	{"voter-without-endpoint", doctor.Damage, func(d *Dir) string { return d.voters(d.voter(d.Meta.NodeID, "h"), d.voter(5, "")) }, nil},
}

const metadataVersion = "metadata.version"

// feature appends a level.
func (d *Dir) feature(name string, value int16) string {
	return d.appended(wire.AppendDataBatch(nil, d.End, d.Epoch, 1, wire.FeatureLevelRecord(name, value)))
}

// footer is the last batch of a snapshot.
func footer(b []byte) []byte {
	for {
		_, rest, err := wire.NextBatch(b)
		if err != nil || len(rest) == 0 {
			return b
		}
		b = rest
	}
}
