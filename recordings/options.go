package recordings

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/understudy-kafka/understudy/kraft"
)

// Durability says when what was recorded is forced to the disk. Whatever it is, a process that dies loses
// at most the chunk it was filling; the policy is about machines that die.
type Durability uint8

// The policies.
const (
	DurabilityNone     Durability = iota // the operating system decides
	DurabilityInterval                   // at most SyncInterval is lost
	DurabilityFrame                      // every observation is on the disk when Write returns
)

func (d Durability) String() string { return [...]string{"none", "interval", "frame"}[d] }

// ParseDurability reads the name of a policy.
func ParseDurability(name string) (Durability, error) {
	for d := DurabilityNone; d <= DurabilityFrame; d++ {
		if d.String() == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("durability %q: want none, interval or frame", name)
}

// Upstream is one proxied controller, for the header of the recording.
type Upstream struct {
	Node     kraft.NodeID `json:"node"`
	Endpoint string       `json:"endpoint"` // where clients dial
	Target   string       `json:"target"`   // where the controller listens
}

// Options of a [Writer]. The zero value is a redacted recording in one segment.
type Options struct {
	// IncludeRecords keeps what may hold secrets: records, snapshots, and the bodies of requests that carry
	// credentials or configuration.
	IncludeRecords bool

	Tool      string            // name and version of this program
	Config    map[string]string // how it runs, for the header
	Upstreams []Upstream

	SegmentSize int64         // a segment ends when it has this many bytes; 0: never
	SegmentAge  time.Duration // a segment ends when it covers this much time; 0: never

	Durability   Durability
	SyncInterval time.Duration // for DurabilityInterval; 0 stands for one second

	ChunkSize int           // largest chunk that becomes a zstd frame, bytes; 0 stands for 64 KiB
	ChunkAge  time.Duration // longest time that a chunk stays open; 0 stands for 100 ms

	// Pipe is for a stream to a program that reads along: it is not compressed and has no comments for people.
	Pipe bool

	// Background moves compression and writing to a goroutine of the writer. What it has not written yet is bounded
	// by Backlog; beyond that chunks are given up and a gap says so.
	Background bool
	Backlog    int // bytes; 0 stands for 64 MiB

	// Haste is for a recorder that shares its processor with what it records. A chunk of small frames that is full
	// within this time is stored and not compressed, unless the disk is behind, and the next one is written without
	// comments for people. 0: never.
	Haste time.Duration

	// Breath is called between two pieces of work by whoever does it. nil: nothing is.
	Breath func()
}

func (o Options) withDefaults() Options {
	if o.Tool == "" {
		o.Tool = "understudy"
	}
	if o.SyncInterval <= 0 {
		o.SyncInterval = time.Second
	}
	if o.ChunkSize <= 0 {
		o.ChunkSize = 64 << 10
	}
	if o.ChunkAge <= 0 {
		o.ChunkAge = 100 * time.Millisecond
	}
	if o.Backlog <= 0 {
		o.Backlog = 64 << 20
	}
	if o.Breath == nil {
		o.Breath = func() {}
	}
	if o.Durability == DurabilityFrame {
		o.Background = false
	}
	return o
}

// Info is what the header of a recording's segment says about it.
type Info struct {
	Format     int               `json:"format"`
	Tool       string            `json:"tool"`
	KMsg       string            `json:"kmsg"`
	Redacted   bool              `json:"redacted"`
	Config     map[string]string `json:"config,omitempty"`
	Upstreams  []Upstream        `json:"upstreams,omitempty"`
	Segment    int               `json:"segment"`    // from 1
	FirstBlock uint64            `json:"firstBlock"` // number of the first packet block behind this header

	// End marks the trailer of a segment: it was completed in order. More: another segment follows.
	End  bool `json:"end,omitempty"`
	More bool `json:"more,omitempty"`
}

// infoFormat is the version of the layout that this package writes.
const infoFormat = 1

func (o Options) info(kmsg string) Info {
	return Info{
		Format: infoFormat, Tool: o.Tool, KMsg: kmsg, Redacted: !o.IncludeRecords,
		Config: o.Config, Upstreams: o.Upstreams,
	}
}

// section writes the info as a section header.
func (i Info) section(b []byte) ([]byte, error) {
	raw, err := json.Marshal(i)
	if err != nil {
		return b, err
	}
	if len(raw) > maxOption {
		return b, fmt.Errorf("the configuration takes %d bytes of the header, at most %d fit", len(raw), maxOption)
	}
	app := i.Tool + " (kmsg " + i.KMsg + ")"
	return appendSection(b, app, i.comment(), raw), nil
}

// comment says to a person with Wireshark what this is.
func (i Info) comment() string {
	if i.End {
		return "end of segment"
	}
	var s strings.Builder
	s.WriteString("Kafka frames with synthetic TCP/IP headers; listeners are shown with port 9092.")
	for _, u := range i.Upstreams {
		fmt.Fprintf(&s, "\nnode %d: %s -> %s", u.Node, u.Endpoint, u.Target)
	}
	if i.Redacted {
		s.WriteString("\nRecords and credentials are withheld; fillers are in their place.")
	}
	return s.String()
}
