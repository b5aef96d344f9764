package wire

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// appendJSON prints a captured frame.
func (c *captured) appendJSON(dst []byte, o JSONOptions) []byte {
	if c.dir == Request {
		return AppendRequestJSON(dst, c.header, c.body, o)
	}
	return AppendResponseJSON(dst, c.header.Key, c.header.Version, c.body, o)
}

func TestJSON_OfRealQuorums(t *testing.T) {
	var out []byte
	seen := map[string]int{}
	digits := regexp.MustCompile(`[0-9]+`)
	for _, c := range captures(t) {
		text := c.appendJSON(nil, JSONOptions{})
		if !json.Valid(text) {
			t.Fatalf("%s: not JSON: %s", c.source, text)
		}
		if bytes.Contains(text, []byte("undecodable")) {
			t.Errorf("%s: %s", c.source, text)
		}
		kind := c.dir.String() + Name(c.header.Key) + digits.ReplaceAllString(string(text), "N")
		if len(kind) > 300 {
			kind = kind[:300]
		}
		if seen[kind]++; seen[kind] == 1 {
			out = append(append(append(out, c.dir.String()+" "+Name(c.header.Key)+" "...), text...), '\n')
		}
	}
	golden(t, "json.golden", out)
}

// TestJSON_IsValidWhateverComes also holds that no secret gets out.
func TestJSON_IsValidWhateverComes(t *testing.T) {
	r := random(t)
	n := 20000
	if testing.Short() {
		n = 4000
	}
	for i := range n {
		s, version, dir, body := randomMessage(r)
		if i%2 == 1 {
			body = mutate(r, body)
		}
		for _, o := range []JSONOptions{{}, {Secrets: true}} {
			var text []byte
			if dir == Request {
				text = AppendRequestJSON(nil, RequestHeader{Key: s.key, Version: version}, body, o)
			} else {
				text = AppendResponseJSON(nil, s.key, version, body, o)
			}
			if !json.Valid(text) {
				t.Fatalf("%s v%d %x: not JSON: %s", s.name, version, body, text)
			}
		}
	}
}

const secret = "hunter2hunter2"

// secretMessages hold a secret each, in a field that may hold one.
func secretMessages() map[string]kmsg.Request {
	authenticate := kmsg.NewPtrSASLAuthenticateRequest()
	authenticate.Version, authenticate.SASLAuthBytes = 2, []byte("\x00admin\x00"+secret)
	value := secret
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	alter.Version = 1
	alter.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1",
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "ssl.key.password", Value: &value}},
	}}
	scram := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	scram.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{
		Name: "alice", Mechanism: 1, Iterations: 4096, Salt: []byte(secret), SaltedPassword: []byte(secret),
	}}
	envelope := kmsg.NewPtrEnvelopeRequest()
	envelope.RequestData = kmsg.NewRequestFormatter(kmsg.FormatterClientID("admin")).AppendRequest(nil, alter, 7)[4:]
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version = 17
	return map[string]kmsg.Request{"authenticate": authenticate, "alter": alter, "scram": scram, "envelope": envelope}
}

func TestSecrets_AreWithheld(t *testing.T) {
	for name, m := range secretMessages() {
		body := m.AppendTo(nil)
		h := RequestHeader{Key: m.Key(), Version: m.GetVersion()}
		var d Decoder
		out := string(d.AppendRequestLine(nil, h, body)) + string(AppendRequestJSON(nil, h, body, JSONOptions{}))
		if leaks(out) {
			t.Errorf("%s: the secret is in %s", name, out)
		}
		if strings.Contains(out, "undecodable") || !strings.Contains(out, "withheld") {
			t.Errorf("%s: %s", name, out)
		}
		if out := string(AppendRequestJSON(nil, h, body, JSONOptions{Secrets: true})); !leaks(out) {
			t.Errorf("%s: asked for secrets, and none in %s", name, out)
		}
	}
}

// leaks looks for the secret, plain or in base64 at any alignment.
func leaks(text string) bool {
	if strings.Contains(text, secret) {
		return true
	}
	for _, enc := range []string{"aHVudGVyMmh1bnRlcj", "h1bnRlcjJodW50ZXIy", "odW50ZXIyaHVudGVyM"} {
		if strings.Contains(text, enc) {
			return true
		}
	}
	return false
}

func TestSecrets_InRecordsAreWithheld(t *testing.T) {
	value := append([]byte{1, 4, 0, 2, 2, '1', 4, 'k', 'e', 'y', byte(len(secret) + 1)}, secret...)
	value = append(value, 0) // ConfigRecord, broker 1: key = secret
	m, err := DecodeMetadata(value)
	if err != nil {
		t.Fatal(err)
	}
	batch, _, err := NextBatch(AppendBatch(nil, NewBatch(3, 1, goldenTime), Record{Value: value}))
	if err != nil {
		t.Fatal(err)
	}
	out := m.String() + string(m.AppendJSON(nil, JSONOptions{})) + string(AppendBatchJSON(nil, &batch, JSONOptions{}))
	if leaks(out) || strings.Count(out, "withheld") != 3 {
		t.Error(out)
	}
	if out := AppendBatchJSON(nil, &batch, JSONOptions{Secrets: true}); !leaks(string(out)) {
		t.Errorf("asked for secrets, and none in %s", out)
	}
}

func TestJSON_UndecodableSaysWhy(t *testing.T) {
	for _, tt := range []struct {
		name    string
		key     int16
		version int16
		body    []byte
		want    string
	}{
		{"unknown key", 500, 1, []byte{1}, `{"undecodable":"ApiKey 500 v1: key or version not known","size":1}`},
		{"key without a file", 19, 7, []byte{1, 2}, `{"undecodable":"CreateTopics v7: key or version not known","size":2}`},
		{"malformed", KeyVote, 2, []byte{0}, `{"undecodable":"Vote v2, byte 1, field voterId: malformed","size":1}`},
	} {
		got := string(AppendRequestJSON(nil, RequestHeader{Key: tt.key, Version: tt.version}, tt.body, JSONOptions{}))
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestJSON_KeepsUnknownTags(t *testing.T) {
	m := kmsg.NewVoteResponse()
	m.Version = 2
	m.UnknownTags.Set(77, []byte("hi"))
	const want = `{"errorCode":0,"topics":[],"unknownTags":{"77":"aGk="}}`
	if got := string(AppendResponseJSON(nil, KeyVote, 2, m.AppendTo(nil), JSONOptions{})); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestJSONString_Escapes(t *testing.T) {
	const all = "a\"\\\n\t\x00\x7fä€\xff"
	got := appendJSONString(nil, []byte(all))
	var back string
	if err := json.Unmarshal(got, &back); err != nil || back != "a\"\\\n\t\x00\x7fä€\ufffd" {
		t.Errorf("%s gives %q, %v", got, back, err)
	}
}
