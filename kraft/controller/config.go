package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
)

// Leadership is what a node does about being the leader. It has no metadata logic, so a quorum of Kafka's controllers wants it to hold
// the office briefly or not at all.
type Leadership uint8

// The policies.
const (
	// Handover takes office when elected, and resigns as soon as a controller of Kafka has caught up. Named as a successor it lets the
	// others go first. Without a controller of Kafka among the voters it stays.
	Handover Leadership = iota
	// Stay leads for as long as it is the leader.
	Stay
	// NeverCampaign votes and never stands for election: it asks nobody for a PreVote or a Vote. The only voter of a quorum leads all the same.
	// While it alone has the last records of a leader that is gone, nobody can be elected.
	NeverCampaign
)

func (l Leadership) String() string {
	return [...]string{"handover", "stay", "never-campaign"}[l]
}

// ParseLeadership reads the name of a policy.
func ParseLeadership(text string) (Leadership, error) {
	for l := Handover; l <= NeverCampaign; l++ {
		if l.String() == text {
			return l, nil
		}
	}
	return 0, fmt.Errorf("%q: want handover, stay or never-campaign", text)
}

// Config is what a node is made of. Directory, Profile, Listeners and one of StaticVoters and BootstrapServers are mandatory.
type Config struct {
	Directory *storage.Directory // formatted and locked; who the node is stands there. Run closes it.
	Storage   storage.Options
	Profile   compat.Profile // the release whose rules it follows and whose versions it speaks

	Observer         bool // never a voter, like a broker
	AutoJoin         bool // controller.quorum.auto.join.enable
	Leadership       Leadership
	Timeouts         kraft.QuorumTimeouts // zero: Kafka's defaults
	StaticVoters     kraft.VoterSet       // controller.quorum.voters
	BootstrapServers []kraft.Address      // controller.quorum.bootstrap.servers
	Endpoints        kraft.Endpoints      // the advertised controller listeners
	FetchBytes       int32                // controller.quorum.fetch.max.bytes; 0: 1 MiB
	SnapshotBytes    int32                // controller.quorum.fetch.snapshot.max.bytes; 0: 1 MiB

	Listeners    []Listener // the first one's name is that of the channel between controllers. Run closes them.
	ListenerName string     // that name for an observer without listeners
	Dialer       Dialer     // nil: plain TCP
	Handler      Handler    // nil: requests that are not the raft layer's close their connection
	Limits       Limits

	// Features completes the answer to ApiVersions: the features that the node supports and those that are finalized. kraft.version is
	// there already.
	Features func(*kmsg.ApiVersionsResponse)

	Log zerolog.Logger // the zero value logs to nowhere
}

// Dialer opens the connection to a peer: TCP, and what is wrapped around it. The context ends the attempt.
type Dialer interface {
	Dial(ctx context.Context, address kraft.Address) (net.Conn, error)
}

// DialFunc is a Dialer.
type DialFunc func(ctx context.Context, address kraft.Address) (net.Conn, error)

// Dial is part of Dialer.
func (f DialFunc) Dial(ctx context.Context, address kraft.Address) (net.Conn, error) {
	return f(ctx, address)
}

// Listener is where peers and clients connect.
type Listener struct {
	Name string // in upper case
	net.Listener

	// Handshake secures an accepted connection and returns what to speak on from then on. A request that may come before that,
	// ApiVersions, is answered by apiVersions; frames stand there without their size. Nil: nothing is to be done.
	Handshake func(ctx context.Context, conn net.Conn, apiVersions func(request []byte) (response []byte, err error)) (net.Conn, error)
}

// Handler answers the requests that are not the raft layer's.
type Handler interface {
	// APIs are the requests and versions that it answers, besides ApiVersions and those of the raft layer.
	APIs() []compat.APIRange
	// Handle returns the body of the response, in the version of the request. It runs on the goroutine of the connection and may
	// wait; the context ends with the node. An error closes the connection.
	Handle(ctx context.Context, r *Request) ([]byte, error)
}

// Request is a request for a Handler. Body is valid until Handle returns.
type Request struct {
	Key, Version int16
	ClientID     string
	Listener     string
	Conn         net.Conn // for its addresses, and for what a Handshake has put around it
	Body         []byte
}

// Limits bound what peers can make the node hold. Zero values stand for the defaults.
type Limits struct {
	Connections  int           // accepted at a time; 512
	RequestBytes int           // a larger request closes its connection; 1 MiB
	AnswerBytes  int           // a larger response closes the connection to a peer; 64 MiB
	Observers    int           // of which a leader keeps an account besides its voters: more than any cluster has brokers; 1000
	Idle         time.Duration // connections.max.idle.ms; 10 min
	Frame        time.Duration // for a frame to arrive, once it has begun, or to leave; 30 s
	Park         time.Duration // for a Fetch to wait, whatever it asks for; 30 s
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Connections, 512)
	setDefault(&l.RequestBytes, 1<<20)
	setDefault(&l.AnswerBytes, 64<<20)
	setDefault(&l.Observers, 1000)
	setDefault(&l.Idle, 10*time.Minute)
	setDefault(&l.Frame, 30*time.Second)
	setDefault(&l.Park, 30*time.Second)
	return l
}

func setDefault[T comparable](value *T, def T) {
	var zero T
	if *value == zero {
		*value = def
	}
}

// fetchMaxWaitMs is how long a Fetch is willing to wait (Kafka: KafkaRaftClient.MAX_FETCH_WAIT_MS).
const fetchMaxWaitMs = 500

// machine is the configuration of the machine, with what the log holds.
func (c *Config) machine(log *storage.Log) (kraft.Config, error) {
	k := kraft.Config{
		ID: c.Directory.NodeID, DirectoryID: c.Directory.DirectoryID, ClusterID: c.Directory.ClusterID,
		Rules: c.Profile.Rules, Timeouts: c.Timeouts, StaticVoters: c.StaticVoters, BootstrapServers: c.BootstrapServers,
		Listener: c.ListenerName, Endpoints: c.Endpoints, KRaftVersions: kraft.VersionRange{Max: 1},
		CanBecomeVoter: !c.Observer, AutoJoin: c.AutoJoin,
		FetchMaxWaitMs: fetchMaxWaitMs, FetchMaxBytes: c.FetchBytes, FetchSnapshotMaxBytes: c.SnapshotBytes,
	}
	var err error
	if k.History, err = log.History(); err != nil {
		return k, err
	}
	stored, ok := log.Stored()
	k.Stored, k.HasStored = stored.QuorumState, ok
	return k, nil
}

func (c *Config) complete() error {
	setDefault(&c.Timeouts, kraft.DefaultTimeouts())
	setDefault(&c.FetchBytes, 1<<20)
	setDefault(&c.SnapshotBytes, 1<<20)
	c.Limits = c.Limits.withDefaults()
	if c.Dialer == nil {
		c.Dialer = DialFunc(dialTCP)
	}
	if c.ListenerName == "" && len(c.Listeners) > 0 {
		c.ListenerName = c.Listeners[0].Name
	}
	if c.Directory == nil {
		return errors.New("controller: no data directory is given")
	}
	return nil
}

func dialTCP(ctx context.Context, address kraft.Address) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(address.Host, strconv.Itoa(int(address.Port))))
}
