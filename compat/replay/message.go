package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/wire"
)

// mask is a field that is not compared.
type mask struct {
	key  int16 // of the api; -1: all
	dir  wire.Direction
	path string // a field, with all that lies below it; elements of lists have no place here
	why  string
}

// masks are the fields that say when or where, and not what.
var masks = []mask{
	{-1, wire.Response, "throttleTimeMs", "the node's quota at the moment"},
	{wire.KeyAPIVersions, wire.Response, "finalizedFeaturesEpoch", "the offset of the last committed metadata record"},
	{wire.KeyDescribeQuorum, wire.Response, "topics.partitions.currentVoters.lastFetchTimestamp", "a clock"},
	{wire.KeyDescribeQuorum, wire.Response, "topics.partitions.currentVoters.lastCaughtUpTimestamp", "a clock"},
	{wire.KeyDescribeQuorum, wire.Response, "topics.partitions.observers.lastFetchTimestamp", "a clock"},
	{wire.KeyDescribeQuorum, wire.Response, "topics.partitions.observers.lastCaughtUpTimestamp", "a clock"},
	{wire.KeyFetch, wire.Response, "responses.partitions.records.baseTimestamp", "a clock"},
	{wire.KeyFetch, wire.Request, "maxWaitMs", "what is left of the fetch timeout"},
	{wire.KeyAPIVersions, wire.Request, "clientSoftwareName", "who the node is"},
	{wire.KeyAPIVersions, wire.Request, "clientSoftwareVersion", "who the node is"},
}

func masked(key int16, dir wire.Direction, path string) bool {
	path = withoutIndexes(path)
	for _, m := range masks {
		if (m.key == key || m.key < 0) && m.dir == dir && (path == m.path || strings.HasPrefix(path, m.path+".")) {
			return true
		}
	}
	return false
}

// withoutIndexes takes [n] out of a path.
func withoutIndexes(path string) string {
	var b strings.Builder
	depth := 0
	for _, c := range path {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// tree is a body as values of encoding/json with Kafka's field names.
func tree(key, version int16, dir wire.Direction, body []byte) (any, error) {
	if err := fits(key, version, dir, body); err != nil {
		return nil, err
	}
	var text []byte
	if dir == wire.Request {
		text = wire.AppendRequestJSON(nil, wire.RequestHeader{Key: key, Version: version}, body, wire.JSONOptions{Secrets: true})
	} else {
		text = wire.AppendResponseJSON(nil, key, version, body, wire.JSONOptions{Secrets: true})
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%s v%d: %w", wire.Name(key), version, err)
	}
	return v, nil
}

// small is a body that takes little as values, whatever is in it, bytes.
const small = 64 << 10

// fits is an error if a body may take far more memory as values than its size: a node may answer with millions of tiny elements.
func fits(key, version int16, dir wire.Direction, body []byte) (err error) {
	if len(body) <= small {
		return nil
	}
	var d wire.Decoder
	if dir == wire.Request {
		_, err = d.Request(key, version, body)
	} else {
		_, err = d.Response(key, version, body)
	}
	if errors.Is(err, wire.ErrTooBig) {
		return err
	}
	return nil // what cannot be decoded is shown as such
}

// signature is a request without what is masked: two with the same one ask the same.
func signature(key, version int16, body []byte) string {
	v, err := tree(key, version, wire.Request, body)
	if err != nil {
		return string(body)
	}
	text, err := json.Marshal(strip(key, v, ""))
	if err != nil {
		return string(body)
	}
	return fmt.Sprintf("%d/%d/%s", key, version, text)
}

func strip(key int16, v any, path string) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			if p := join(path, name); masked(key, wire.Request, p) {
				delete(v, name)
			} else {
				v[name] = strip(key, v[name], p)
			}
		}
	case []any:
		for i := range v {
			v[i] = strip(key, v[i], path)
		}
	}
	return v
}

// field is a place where two bodies differ.
type field struct{ path, recorded, live string }

// compare lists where a live body differs from the recorded one.
func compare(key, version int16, dir wire.Direction, recorded, live []byte) []field {
	if bytes.Equal(recorded, live) {
		return nil
	}
	a, err := tree(key, version, dir, recorded)
	if err != nil {
		return []field{{"", err.Error(), ""}}
	}
	b, err := tree(key, version, dir, live)
	if err != nil {
		return []field{{"", "", err.Error()}}
	}
	var all []field
	walk(a, b, "", func(path string, a, b any) {
		if !masked(key, dir, path) {
			all = append(all, field{path, show(a), show(b)})
		}
	})
	return all
}

// absent stands for a field or an element that only the other side has.
type absent struct{}

func show(v any) string {
	if _, none := v.(absent); none {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > 160 {
		return string(text[:160]) + "…"
	}
	return string(text)
}

func walk(a, b any, path string, differ func(path string, a, b any)) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			walkFields(x, y, func(name string) string { return join(path, name) }, differ)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			walkFields(elements(x), elements(y), func(at string) string { return path + "[" + at + "]" }, differ)
			return
		}
	default:
		if a == b {
			return
		}
	}
	differ(path, a, b)
}

func walkFields(x, y map[string]any, path func(string) string, differ func(path string, a, b any)) {
	both := maps.Clone(x)
	maps.Copy(both, y)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		a, inA := x[name]
		b, inB := y[name]
		switch {
		case !inA:
			differ(path(name), absent{}, b)
		case !inB:
			differ(path(name), a, absent{})
		default:
			walk(a, b, path(name), differ)
		}
	}
}

// elements names the elements of a list: by what they are about where they say so, by their place else.
func elements(list []any) map[string]any {
	m := map[string]any{}
	twins := map[string]int{} // so that a long list of one name takes no longer than another
	for i, v := range list {
		name := strconv.Itoa(i)
		if o, ok := v.(map[string]any); ok {
			for _, id := range []string{"apiKey", "name", "replicaId", "nodeId"} {
				if v, has := o[id]; has {
					name = fmt.Sprint(v)
					break
				}
			}
		}
		id := name
		for _, taken := m[name]; taken; _, taken = m[name] {
			twins[id]++
			name = id + "'" + strconv.Itoa(twins[id])
		}
		m[name] = v
	}
	return m
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// inVersion is a body in another version of its message. Fields that the version lacks are left out.
func inVersion(key, from, to int16, dir wire.Direction, body []byte) ([]byte, error) {
	if from == to {
		return body, nil
	}
	req := kmsg.RequestForKey(key)
	if req == nil {
		return nil, fmt.Errorf("%s: %w", wire.Name(key), wire.ErrUnsupported)
	}
	if dir == wire.Request {
		req.SetVersion(from)
		if err := req.ReadFrom(body); err != nil {
			return nil, fmt.Errorf("%s v%d: %w", wire.Name(key), from, err)
		}
		req.SetVersion(to)
		if f, ok := req.(*kmsg.FetchRequest); ok && to < 18 { // kmsg writes a tag whatever the version
			for i := range f.Topics {
				for j := range f.Topics[i].Partitions {
					f.Topics[i].Partitions[j].HighWatermark = int64(wire.NoHighWatermark)
				}
			}
		}
		return req.AppendTo(nil), nil
	}
	resp := req.ResponseKind()
	resp.SetVersion(from)
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("answer to %s v%d: %w", wire.Name(key), from, err)
	}
	resp.SetVersion(to)
	return resp.AppendTo(nil), nil
}
