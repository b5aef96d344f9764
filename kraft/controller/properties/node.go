package properties

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/internal/secure"
	"github.com/understudy-kafka/understudy/kraft"
)

// Node is what server.properties says about a node of a KRaft cluster.
type Node struct {
	File       string
	ID         kraft.NodeID
	Controller bool // process.roles
	Broker     bool

	MetadataDir string   // metadata.log.dir, else the first log directory
	LogDirs     []string // log.dirs, else log.dir

	Quorum      Quorum
	MetadataLog MetadataLog
	Network     Network

	ControllerNames []string   // controller.listener.names, in upper case; the first is the one that nodes dial
	Listeners       []Listener // all that this node binds
	Advertised      []Listener // its controller listeners, as others reach them. No host: this machine's name. Port 0: the one that gets bound

	// Outgoing is how controllers are dialled: the protocol and credentials of the first controller listener. Incoming is
	// how each of the own controller listeners is guarded.
	Outgoing secure.Config
	Incoming map[string]secure.Config

	Ignored  []string          // properties of the file that this program does nothing about, sorted
	Settings map[string]string // all that stands in the file
}

// MetadataLog is what metadata.* says.
type MetadataLog struct {
	SegmentBytes             int32
	SegmentMs                int64
	MaxRetentionBytes        int64
	MaxRetentionMs           int64
	MaxBytesBetweenSnapshots int64
	MaxSnapshotIntervalMs    int64 // 0: none by time
	MaxIdleIntervalMs        int32 // 0: no NoOp records
	MaxBatchBytes            int32
	DeleteDelayMs            int64
}

// Network is what the properties of the socket server say.
type Network struct {
	RequestMaxBytes      int32
	MaxIdleMs            int64 // negative: connections are never idle for too long
	SetupTimeoutMs       int64 // of a connection that is dialled
	SetupTimeoutMaxMs    int64
	FailedAuthDelayMs    int32
	SASLReceiveMaxBytes  int32 // before authentication
	ReceiveBufferBytes   int32
	SendBufferBytes      int32
	ConnectionsMax       int32
	ConnectionsMaxPerIP  int32
	ControllerTimeoutMs  int32 // controller.socket.timeout.ms, of registration and forwarding
	HeartbeatIntervalMs  int32
	BrokerSessionTimeout int32
}

// Read reads a file as Kafka would at the start of a node.
func Read(file string) (*Node, error) {
	s, err := readSource(file)
	if err != nil {
		return nil, err
	}
	return s.node()
}

// Parse is Read of a text. The file's name is for messages, and key stores with relative paths are sought as Kafka seeks them, in
// the working directory.
func Parse(file, text string) (*Node, error) {
	s, err := newSource(file, text)
	if err != nil {
		return nil, err
	}
	return s.node()
}

func (s *source) node() (*Node, error) {
	n := &Node{File: s.file}
	n.ID = s.nodeID()
	n.Broker, n.Controller = s.roles()
	n.LogDirs = s.logDirs()
	if n.MetadataDir = s.text("metadata.log.dir", ""); n.MetadataDir == "" && len(n.LogDirs) > 0 {
		n.MetadataDir = n.LogDirs[0]
	}
	n.Quorum = s.quorum()
	n.MetadataLog = s.metadataLog()
	n.Network = s.network()

	named := s.names(controllerNamesName)
	protocols := s.protocols(named)
	for _, name := range named {
		n.ControllerNames = append(n.ControllerNames, strings.ToUpper(name))
	}
	n.Listeners = s.listeners(listenersName, protocols, true, "PLAINTEXT://:9092")
	advertised := s.listeners(advertisedName, protocols, false)
	n.Advertised = n.advertise(advertised)
	s.check(n, named, protocols, advertised)
	if s.err == nil {
		s.guard(n, protocols)
	}
	if s.err != nil {
		return nil, s.err
	}
	n.Ignored, n.Settings = s.ignored(), s.values
	return n, nil
}

// nodeID: broker.id is the old name of the same thing (KIP-1232).
func (s *source) nodeID() kraft.NodeID {
	id, hasID := s.lookup("node.id")
	old, hasOld := s.lookup("broker.id")
	name := "node.id"
	switch {
	case !hasID && !hasOld:
		s.refuse(name, "is not set")
	case !hasID:
		name = "broker.id"
	case hasOld && id != old:
		s.refuse(name, "is %s, but broker.id, its old name, is %s", id, old)
	}
	return kraft.NodeID(s.int32(name, 0, 0))
}

func (s *source) roles() (broker, controller bool) {
	all := s.names("process.roles")
	if len(all) == 0 {
		s.refuse("process.roles", "is not set: want controller, broker or both")
	}
	for _, role := range all {
		if role != "controller" && role != "broker" {
			s.refuse("process.roles", "names %q: want controller, broker or both", role)
		}
	}
	return slices.Contains(all, "broker"), slices.Contains(all, "controller")
}

func (s *source) logDirs() []string {
	dirs := s.names("log.dir", "/tmp/kafka-logs")
	name := "log.dir"
	if _, ok := s.lookup("log.dirs"); ok {
		name, dirs = "log.dirs", s.names("log.dirs")
	}
	if len(dirs) == 0 {
		s.refuse(name, "is empty: want a directory")
	}
	for i := range dirs {
		dirs[i] = filepath.Clean(dirs[i])
	}
	return dirs
}

func (s *source) metadataLog() MetadataLog {
	const week = 7 * 24 * 60 * 60 * 1000
	m := MetadataLog{
		SegmentBytes:             s.int32("metadata.log.segment.bytes", 8<<20, 1<<30),
		SegmentMs:                s.integer("metadata.log.segment.ms", 64, -1<<63, week),
		MaxRetentionBytes:        s.integer("metadata.max.retention.bytes", 64, -1<<63, 100<<20),
		MaxRetentionMs:           s.integer("metadata.max.retention.ms", 64, -1<<63, week),
		MaxBytesBetweenSnapshots: s.integer("metadata.log.max.record.bytes.between.snapshots", 64, 1, 20<<20),
		MaxSnapshotIntervalMs:    s.integer("metadata.log.max.snapshot.interval.ms", 64, 0, 60*60*1000),
		MaxIdleIntervalMs:        s.int32("metadata.max.idle.interval.ms", 0, 500),
		MaxBatchBytes:            s.int32("internal.metadata.max.batch.size.in.bytes", -1<<31, 8<<20),
		DeleteDelayMs:            s.integer("internal.metadata.delete.delay.millis", 64, -1<<63, 60*1000),
	}
	m.SegmentBytes = s.int32("internal.metadata.log.segment.bytes", -1<<31, m.SegmentBytes) // for tests: no lower bound (KAFKA-19080)
	return m
}

func (s *source) network() Network {
	const many = 1<<31 - 1
	n := Network{
		RequestMaxBytes:      s.int32("socket.request.max.bytes", 1, 100<<20),
		MaxIdleMs:            s.integer("connections.max.idle.ms", 64, -1<<63, 10*60*1000),
		SetupTimeoutMs:       s.integer("socket.connection.setup.timeout.ms", 64, -1<<63, 10_000),
		SetupTimeoutMaxMs:    s.integer("socket.connection.setup.timeout.max.ms", 64, -1<<63, 30_000),
		FailedAuthDelayMs:    s.int32("connection.failed.authentication.delay.ms", 0, 100),
		SASLReceiveMaxBytes:  s.int32("sasl.server.max.receive.size", -1<<31, 512<<10),
		ReceiveBufferBytes:   s.int32("socket.receive.buffer.bytes", -1<<31, 100<<10),
		SendBufferBytes:      s.int32("socket.send.buffer.bytes", -1<<31, 100<<10),
		ConnectionsMax:       s.int32("max.connections", 0, many),
		ConnectionsMaxPerIP:  s.int32("max.connections.per.ip", 0, many),
		ControllerTimeoutMs:  s.int32("controller.socket.timeout.ms", -1<<31, 30_000),
		HeartbeatIntervalMs:  s.int32("broker.heartbeat.interval.ms", -1<<31, 2_000),
		BrokerSessionTimeout: s.int32("broker.session.timeout.ms", -1<<31, 9_000),
	}
	if n.MaxIdleMs >= 0 && int64(n.FailedAuthDelayMs) >= n.MaxIdleMs {
		s.refuse("connection.failed.authentication.delay.ms", "is %d: want less than connections.max.idle.ms, which is %d", n.FailedAuthDelayMs, n.MaxIdleMs)
	}
	return n
}
