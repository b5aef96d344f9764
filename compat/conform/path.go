package conform

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A path names a field of a message in Kafka's spelling: "topics[0].partitions[0].errorCode". "p." stands for the
// only partition, and a last part "len" for the length of a list or of bytes.

// onlyPartition is what "p." stands for.
const onlyPartition = "topics[0].partitions[0]."

// aliases are Kafka's names of fields that kmsg calls otherwise.
var aliases = map[string][]string{
	"replicaepoch":       {"candidateepoch"},
	"replicaid":          {"candidateid"},
	"replicadirectoryid": {"candidatedirectoryid"},
	"partitionindex":     {"partition"},
	"index":              {"partition"},
	"topicname":          {"topic"},
	"name":               {"topic"},
	"maxwaitms":          {"maxwaitmillis"},
	"throttletimems":     {"throttlemillis"},
	"timeoutms":          {"timeoutmillis"},
	"records":            {"recordbatches"},
	"unalignedrecords":   {"bytes"},
	"nodeendpoints":      {"brokers"},
	"partitionmaxbytes":  {"partitionmaxbytes"},
}

// field finds what a path names in a message; v must be addressable for the result to be set.
func field(message any, path string) (reflect.Value, error) {
	v := reflect.ValueOf(message).Elem()
	if rest, ok := strings.CutPrefix(path, "p."); ok {
		path = onlyPartition + rest
	}
	for part := range strings.SplitSeq(path, ".") {
		name, index, err := splitIndex(part)
		if err != nil {
			return v, fmt.Errorf("%s: %w", path, err)
		}
		if v.Kind() != reflect.Struct {
			return v, fmt.Errorf("%s: %q is not part of a %s", path, name, v.Type())
		}
		if v = member(v, name); !v.IsValid() {
			return v, fmt.Errorf("%s: no field %q", path, name)
		}
		if index < 0 {
			continue
		}
		if v.Kind() != reflect.Slice || index >= v.Len() {
			return v, fmt.Errorf("%s: there is no %s", path, part)
		}
		v = v.Index(index)
	}
	return v, nil
}

// member is a field of a struct by Kafka's name.
func member(v reflect.Value, name string) reflect.Value {
	name = strings.ToLower(name)
	for _, candidate := range append([]string{name}, aliases[name]...) {
		for i := range v.NumField() {
			if strings.EqualFold(v.Type().Field(i).Name, candidate) {
				return v.Field(i)
			}
		}
	}
	return reflect.Value{}
}

func splitIndex(part string) (name string, index int, err error) {
	name, rest, ok := strings.Cut(part, "[")
	if !ok {
		return name, -1, nil
	}
	index, err = strconv.Atoi(strings.TrimSuffix(rest, "]"))
	return name, index, err
}

// resize gives a list another length: further elements are copies of the first, or its type's zero value.
func resize(v reflect.Value, n int) {
	next := reflect.MakeSlice(v.Type(), 0, n)
	for i := range n {
		switch {
		case i < v.Len():
			next = reflect.Append(next, v.Index(i))
		case v.Len() > 0:
			next = reflect.Append(next, v.Index(0))
		default:
			next = reflect.Append(next, reflect.Zero(v.Type().Elem()))
		}
	}
	v.Set(next)
}
