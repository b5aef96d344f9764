package wire

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestName_IsKafkasForEveryKeyOfKmsg(t *testing.T) {
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		name := Name(key)
		if back, ok := KeyOf(name); !ok || back != key {
			t.Errorf("%s: key %d, %v", name, back, ok)
		}
		theirs := kmsg.NameForKey(key)
		if key == 45 {
			theirs = "AlterPartitionReassignments" // kmsg has a name of its own
		}
		if !strings.EqualFold(name, theirs) {
			t.Errorf("key %d: %s, kmsg says %s", key, name, theirs)
		}
	}
	for key, want := range map[int16]string{17: "SaslHandshake", 51: "AlterUserScramCredentials", 123: "ApiKey 123", -1: "ApiKey -1"} {
		if got := Name(key); got != want {
			t.Errorf("key %d: %s, want %s", key, got, want)
		}
	}
	if _, ok := KeyOf("fetch"); ok {
		t.Error("a name in another spelling is taken")
	}
}

func TestName_AgreesWithTheTables(t *testing.T) {
	for _, list := range [][]schema{requestSchemas, responseSchemas} {
		for _, s := range list {
			name := strings.TrimSuffix(strings.TrimSuffix(s.name, "Request"), "Response")
			if Name(s.key) != name {
				t.Errorf("key %d: %s, the table says %s", s.key, Name(s.key), name)
			}
			if !Decodable(s.key, s.valid.end-1) || Decodable(s.key, s.valid.end) {
				t.Errorf("%s: kmsg and the table end at other versions than %d", name, s.valid.end-1)
			}
		}
	}
}

func TestDecodable_EndsWithKmsg(t *testing.T) {
	for _, tt := range []struct {
		key, version int16
		want         bool
	}{{1, 18, true}, {1, 19, false}, {1, -1, false}, {52, 2, true}, {52, 3, false}, {400, 0, false}, {-1, 0, false}, {94, 0, true}} {
		if got := Decodable(tt.key, tt.version); got != tt.want {
			t.Errorf("%s v%d: %v", Name(tt.key), tt.version, got)
		}
	}
}

func TestRaft_Keys(t *testing.T) {
	var keys []string
	for key := int16(-1); key < 130; key++ {
		if Raft(key) {
			keys = append(keys, Name(key))
		}
	}
	const want = "Fetch Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum FetchSnapshot AddRaftVoter RemoveRaftVoter UpdateRaftVoter"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
