package kafka

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
)

// Voters says how a quorum knows its voters.
type Voters int

const (
	// Static names them in controller.quorum.voters (kraft.version 0).
	Static Voters = iota
	// Dynamic formats all controllers with --initial-controllers (KIP-853).
	Dynamic
	// Standalone formats controller 1 as the only voter; the others start as observers. See AddController.
	Standalone
)

func (v Voters) String() string { return [...]string{"static", "dynamic", "standalone"}[v] }

// FirstBroker is the id of the first broker: brokers and controllers share one range of ids.
const FirstBroker kraft.NodeID = 10

// DialFrom is the address that a proxy in front of a quorum dials from: by it, the kernel's socket table tells
// the proxy's connections from those that went around it. All of 127.0.0.0/8 is this machine's on Linux.
const DialFrom = "127.0.0.9"

// Timeouts are the quorum's timeouts in milliseconds. A zero keeps Kafka's default.
type Timeouts struct {
	ElectionMs, FetchMs, RequestMs, BackoffMaxMs, IdleIntervalMs int
}

var (
	// DefaultTimeouts are Kafka's own: a SIGKILL of the leader costs 1.6 to 3.3 s.
	DefaultTimeouts = Timeouts{}
	// FastTimeouts fail over in about 0.4 s. A caught-up follower's Fetch is parked for up to 500 ms, so the fetch
	// timeout may only be this short because a NoOp record answers it every 50 ms.
	FastTimeouts = Timeouts{ElectionMs: 150, FetchMs: 300, RequestMs: 1000, BackoffMaxMs: 150, IdleIntervalMs: 50}
)

func (t Timeouts) properties() map[string]string {
	p := map[string]string{}
	for key, ms := range map[string]int{
		"controller.quorum.election.timeout.ms":     t.ElectionMs,
		"controller.quorum.fetch.timeout.ms":        t.FetchMs,
		"controller.quorum.request.timeout.ms":      t.RequestMs,
		"controller.quorum.election.backoff.max.ms": t.BackoffMaxMs,
		"metadata.max.idle.interval.ms":             t.IdleIntervalMs,
	} {
		if ms != 0 {
			p[key] = strconv.Itoa(ms)
		}
	}
	return p
}

// Config describes a quorum. Release and Dir are mandatory.
type Config struct {
	Dir      string                   // for everything the nodes write; it must exist
	Release  Release                  // of each node that Releases does not name
	Releases map[kraft.NodeID]Release // nodes of other releases
	Source   Source                   // nil: DefaultSource

	Voters      Voters
	Controllers int  // 0: three. Ids from 1.
	Brokers     int  // ids from FirstBroker
	Combined    bool // the controllers are brokers as well

	// MetadataVersion formats for this metadata.version instead of the newest one. A quorum of several releases
	// needs the oldest one's; it is filled in where Releases differ.
	MetadataVersion string

	// Proxied gives each controller a second port, which is what the node advertises and its peers dial: a proxy
	// must listen there and dial the first. See Quorum.Upstreams.
	Proxied bool

	Timeouts        Timeouts
	RaftLog         RaftLevel                          // "": Info
	HeapMB          int                                // 0: 192
	Properties      map[string]string                  // of every node, over the launcher's own; "" removes one
	NodeProperties  map[kraft.NodeID]map[string]string // of one node, over Properties
	AdminProperties map[string]string                  // --command-config of the tools: TLS, SASL

	Progress func(text string) // is told what takes time; may be nil
}

func (c Config) withDefaults() (Config, error) {
	if c.Dir == "" || c.Release.IsZero() {
		return c, errors.New("kafka quorum: Dir and Release must be given")
	}
	if strings.Contains(c.Dir, ",") {
		return c, fmt.Errorf("kafka quorum: directory %s: Kafka's log.dirs is a list, so a path in it holds no comma", c.Dir)
	}
	if c.Controllers == 0 {
		c.Controllers = 3
	}
	if c.Controllers < 0 || c.Controllers >= int(FirstBroker) {
		return c, fmt.Errorf("kafka quorum: %d controllers, want 1 to %d", c.Controllers, FirstBroker-1)
	}
	if c.Brokers < 0 {
		return c, fmt.Errorf("kafka quorum: %d brokers", c.Brokers)
	}
	if c.RaftLog == "" {
		c.RaftLog = Info
	}
	if c.Source == nil {
		c.Source = DefaultSource("", c.Progress)
	}
	oldest := c.Release
	for id, r := range c.Releases {
		if !c.has(id) {
			return c, fmt.Errorf("kafka quorum: a release for node %s, which is not part of it", id)
		}
		if r.Compare(oldest) < 0 {
			oldest = r
		}
	}
	for id := range c.NodeProperties {
		if !c.has(id) {
			return c, fmt.Errorf("kafka quorum: properties for node %s, which is not part of it", id)
		}
	}
	if c.MetadataVersion == "" && len(c.Releases) > 0 {
		if c.MetadataVersion = oldest.MetadataVersion(); c.MetadataVersion == "" {
			return c, fmt.Errorf("kafka quorum: the metadata.version of release %s is not known here: set MetadataVersion", oldest)
		}
	}
	return c, nil
}

func (c Config) has(id kraft.NodeID) bool {
	return id >= 1 && int(id) <= c.Controllers || id >= FirstBroker && int(id-FirstBroker) < c.Brokers
}

func (c Config) release(id kraft.NodeID) Release {
	if r, ok := c.Releases[id]; ok {
		return r
	}
	return c.Release
}
