// Package build says which build of understudy is running.
package build

import "runtime/debug"

// Version is the release, set by the linker (-ldflags "-X …/internal/build.Version=v1.0.0").
var Version = "dev"

// Revision returns the commit the binary was built from, or "" if the build does not know it.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+modified"
			}
		}
	}
	if len(revision) > 12 {
		revision = revision[:12]
	}
	if revision == "" {
		return ""
	}
	return revision + modified
}

// ModuleVersion returns the version of a module that the binary contains, or "unknown".
func ModuleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}
