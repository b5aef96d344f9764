package container

import (
	"path"
	"regexp"
	"strings"

	"github.com/understudy-kafka/understudy/compat/kafka"
	"github.com/understudy-kafka/understudy/proxy"
)

// Config describes a quorum of containers. Image is mandatory; the rest of what [kafka.Config] has, such as Voters,
// Brokers and Timeouts, has its defaults there. Dir is the test's, Proxied is always set, and Release is taken from
// the image's tag if that is one.
type Config struct {
	kafka.Config

	// Image is that of every node: understudy/kafka:4.4.0, which `make images` builds, or any other with a Kafka in it.
	Image string

	// Entrypoint runs a class of Kafka whose name and arguments follow, as kafka-run-class.sh does. If it is nil, an
	// image that starts java is asked as it is, and any other for the script of Kafka's download in DownloadScript.
	Entrypoint []string

	// User is whom the containers run as, in Docker's form; "": the user of the test, who then owns what they write.
	User string

	// Faults are what the proxy does to messages, see `understudy proxy --help`.
	Faults []*proxy.Rule
}

// DownloadScript is where images made from Kafka's download, such as apache/kafka, have the script that runs a class.
const DownloadScript = "/opt/kafka/bin/kafka-run-class.sh"

var releaseTag = regexp.MustCompile(`^(\d+\.\d+\.\d+)`)

// release is the one that an image's tag names. It decides little: how the node is made to log.
func release(image string) kafka.Release {
	if _, tag, ok := strings.Cut(path.Base(image), ":"); ok {
		if m := releaseTag.FindString(tag); m != "" {
			if r, err := kafka.ParseRelease(m); err == nil {
				return r
			}
		}
	}
	return kafka.MustRelease("4.4.0")
}
