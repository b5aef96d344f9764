package kafka

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// Properties are the lines of a Java properties file.
type Properties map[string]string

// with returns a copy in which the given properties replace or, where the value is empty, remove earlier ones.
func (p Properties) with(more ...map[string]string) Properties {
	all := maps.Clone(p)
	if all == nil {
		all = Properties{}
	}
	for _, m := range more {
		for key, value := range m {
			if value == "" {
				delete(all, key)
			} else {
				all[key] = value
			}
		}
	}
	return all
}

// String is the text of the file: sorted, one property a line, escaped as java.util.Properties wants it.
func (p Properties) String() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p)) {
		b.WriteString(escapeKey.Replace(key))
		b.WriteByte('=')
		value := escapeValue.Replace(p[key])
		if strings.HasPrefix(value, " ") { // a leading blank would be skipped
			value = `\` + value
		}
		b.WriteString(value)
		b.WriteByte('\n')
	}
	return b.String()
}

var (
	escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	escapeKey   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, " ", `\ `, ":", `\:`, "=", `\=`, "#", `\#`, "!", `\!`)
)

func (p Properties) write(path string) error { return os.WriteFile(path, []byte(p.String()), 0o644) }
