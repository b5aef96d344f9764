package belief

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// TestDownloads_TellTheVotersOrAreOpaque: the contents of a snapshot come from its bytes, and from all of them.
func TestDownloads_TellTheVotersOrAreOpaque(t *testing.T) {
	voters := kraft.NewVoterSet(kraft.Voter{Key: kraft.ReplicaKey{ID: 7, DirectoryID: kraft.DirectoryID{7}}, Endpoints: made(7), Versions: kraft.VersionRange{Max: 1}})
	whole, err := wire.AppendControlBatch(nil, kraft.Batch{Control: []kraft.ControlRecord{{Type: kraft.VotersRecord, Voters: voters}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	half := len(whole) / 2
	type part struct {
		from, to, size int
		end            int64
		withheld       bool
	}
	first, last := part{0, half, len(whole), 9, false}, part{half, len(whole), len(whole), 9, false}
	for name, tc := range map[string]struct {
		parts  []part
		opaque bool
	}{
		"in one piece":              {[]part{{0, len(whole), len(whole), 9, false}}, false},
		"in two":                    {[]part{first, last}, false},
		"a part came twice":         {[]part{first, first, last}, false},
		"begun anew":                {[]part{first, {0, half, len(whole), 8, false}, first, last}, false},
		"the first was not seen":    {[]part{last}, true},
		"the first is of another":   {[]part{{0, half, len(whole), 8, false}, last}, true},
		"the recording has fillers": {[]part{first, {half, len(whole), len(whole), 9, true}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			var x *crossing
			for _, p := range tc.parts {
				r := kmsg.NewPtrFetchSnapshotResponse()
				r.Version = 1
				topic, answer := kmsg.NewFetchSnapshotResponseTopic(), kmsg.NewFetchSnapshotResponseTopicPartition()
				topic.Topic = "__cluster_metadata"
				answer.SnapshotID.EndOffset, answer.SnapshotID.Epoch = p.end, 2
				answer.Size, answer.Position, answer.Bytes = int64(p.size), int64(p.from), whole[p.from:p.to]
				topic.Partitions = append(topic.Partitions, answer)
				r.Topics = append(r.Topics, topic)
				body := r.AppendTo(nil)
				if x, err = c.read(&Message{Client: 1, Server: 2, Response: true, Key: wire.KeyFetchSnapshot, Version: 1, Sent: body, Got: body, Withheld: p.withheld}); err != nil {
					t.Fatal(err)
				}
			}
			contents := x.event.(*kraft.ReceiveFetchSnapshotResponse).Contents
			if x.opaque != tc.opaque || contents.HasVoters == tc.opaque {
				t.Fatalf("opaque %t, contents %+v", x.opaque, contents)
			}
			if !tc.opaque && contents.Voters.Find(7) == nil {
				t.Errorf("voters %v", contents.Voters)
			}
			if len(c.downloads) > 0 {
				t.Errorf("%d downloads are kept", len(c.downloads))
			}
		})
	}
}
