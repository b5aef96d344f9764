package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
)

func TestDecodeControl_LeaderChangeV1HasDirectoryIDs(t *testing.T) {
	m := kmsg.NewLeaderChangeMessage()
	m.Version, m.LeaderID = 1, 2
	m.Voters = []kmsg.LeaderChangeMessageVoter{{VoterID: 1, VoterDirectoryID: dirD1}, {VoterID: 2, VoterDirectoryID: dirD2}}
	m.GrantingVoters = m.Voters[1:]
	value := m.AppendTo(nil)
	c, err := DecodeControl(AppendControlKey(nil, TypeLeaderChange), value)
	if err != nil {
		t.Fatal(err)
	}
	change := c.(LeaderChange)
	if change.Version != 1 || change.Leader != 2 || len(change.Voters) != 2 || change.Voters[0].DirectoryID != dirD1 || change.Granting[0].ID != 2 {
		t.Errorf("%+v", change)
	}
	if string(change.AppendValue(nil)) != string(value) {
		t.Errorf("written %x, kmsg %x", change.AppendValue(nil), value)
	}
}

func TestDecodeControl_RefusesWhatItCannotRead(t *testing.T) {
	key := func(t ControlType) []byte { return AppendControlKey(nil, t) }
	leader := goldenLeaderChange().AppendValue(nil)
	for _, tt := range []struct {
		name       string
		key, value []byte
		want       error
		text       string
	}{
		{"short key", []byte{0, 0, 0}, leader, ErrMalformed, "key of 3 bytes"},
		{"transaction marker", key(1), []byte{0, 0, 0}, ErrUnsupported, "control type 1"},
		{"LeaderChange v2", key(TypeLeaderChange), []byte{0, 2}, ErrUnsupported, "LeaderChange record version 2"},
		{"KRaftVersion v1", key(TypeKRaftVersion), []byte{0, 1, 0, 1, 0}, ErrUnsupported, "KRaftVersion record version 1"},
		{"negative version", key(TypeSnapshotFooter), []byte{0x80, 0, 0}, ErrUnsupported, "version -"},
		{"cut", key(TypeLeaderChange), leader[:len(leader)-1], ErrMalformed, "LeaderChange record of 33 bytes"},
		{"voters cut", key(TypeKRaftVoters), goldenVoters().AppendValue(nil)[:40], ErrMalformed, "KRaftVoters"},
		{"no value", key(TypeSnapshotHeader), nil, ErrMalformed, "SnapshotHeader"},
		{"null listener name", key(TypeKRaftVoters), append(append([]byte{0, 0, 2, 0, 0, 0, 1}, dirD1[:]...), 2, 0, 2, 'h', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0), ErrMalformed, "KRaftVoters"},
	} {
		if _, err := DecodeControl(tt.key, tt.value); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.want, tt.text)
		}
	}
	longKey := append(key(TypeKRaftVersion), 9)
	longKey[1] = 3
	if c, err := DecodeControl(longKey, []byte{0, 0, 0, 1, 0, 99}); err != nil || c.(KRaftVersion).Level != 1 {
		t.Errorf("longer key of a later version, and bytes behind the value: %v, %v", c, err)
	}
}

func TestControlType_Names(t *testing.T) {
	for want, typ := range map[string]ControlType{"LeaderChange": 2, "SnapshotHeader": 3, "SnapshotFooter": 4, "KRaftVersion": 5, "KRaftVoters": 6, "control type 0": 0} {
		if typ.String() != want {
			t.Errorf("%d: %s", typ, typ)
		}
	}
}

func TestControl_OfRealQuorums(t *testing.T) {
	seen := map[ControlType]bool{}
	eachCapturedRecord(t, func(b *Batch, r Record) {
		if !b.Control() {
			return
		}
		c, err := DecodeControl(r.Key, r.Value)
		if err != nil {
			t.Fatalf("offset %d: %v", r.Offset, err)
		}
		seen[c.Type()] = true
		if string(c.AppendValue(nil)) != string(r.Value) {
			t.Errorf("offset %d: %s is written %x, was %x", r.Offset, c, c.AppendValue(nil), r.Value)
		}
	})
	if !seen[TypeLeaderChange] || !seen[TypeKRaftVersion] || !seen[TypeKRaftVoters] {
		t.Errorf("seen only %v", seen)
	}
}

// TestVoter_PrintsAllEndpoints also shows a voter without a directory id.
func TestVoter_PrintsAllEndpoints(t *testing.T) {
	v := Voter{Key: kraft.ReplicaKey{ID: 3}, Endpoints: []Endpoint{{"A", "h", 1}, {"B", "::1", 2}}, MaxVersion: 1}
	if got := v.String(); got != "3 at A://h:1 B://[::1]:2 (kraft.version 0..1)" {
		t.Error(got)
	}
}
