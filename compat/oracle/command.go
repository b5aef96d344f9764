package oracle

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
)

// Command is one line to the harness. Which fields count depends on Cmd; those of the last group go with every command.
//
//	hello                                    version of the jars
//	init      Node and the fields of Init    a new client; answers with the effects of its start
//	poll                                     nothing but the fields that go with every command
//	request   Corr API Version Body Listener puts a request into the node's queue
//	response  Corr and Body or Error         puts the answer to its request Corr into the node's queue
//	append    Epoch Records NoSchedule       prepareAppend, and schedulePreparedAppend
//	schedule                                 schedulePreparedAppend alone
//	snapshot  Offset Epoch Timestamp Records creates and freezes a snapshot
//	deleteBefore Offset Epoch                moves the log start to a snapshot
//	resign    Epoch                          as the controller calls them …
//	shutdown  Ms Inside                      … Inside: while the next turn waits for a message, as another thread can
//	upgrade   Epoch Version ValidateOnly
//	restart   LoseUnflushed                  a new client on the same log and quorum state
//	hold, release                            the listener keeps its readers open, or reads on
//	log From, snapshotBytes Offset Epoch     bytes of the log, of a snapshot
//	drop, reset                              forgets one node, or all
type Command struct {
	Cmd  string `json:"cmd"`
	Node string `json:"node,omitempty"`

	*Init

	Corr     int32  `json:"corr"`
	API      int16  `json:"api,omitempty"`
	Version  int16  `json:"ver"`
	Body     []byte `json:"body,omitempty"` // base64 in JSON, as the harness wants it
	Error    string `json:"error,omitempty"`
	Listener string `json:"arrival,omitempty"` // listener name that a request arrived on; empty: the channel listener

	Epoch        int32    `json:"epoch,omitempty"`
	Offset       int64    `json:"offset,omitempty"`
	Timestamp    int64    `json:"timestamp,omitempty"`
	Records      [][]byte `json:"records,omitempty"`
	NoSchedule   bool     `json:"noSchedule,omitempty"`
	Ms           int64    `json:"ms,omitempty"`
	Inside       bool     `json:"inside,omitempty"`
	Level        int16    `json:"level,omitempty"`
	ValidateOnly bool     `json:"validateOnly,omitempty"`
	From         int64    `json:"from,omitempty"`

	LoseUnflushed bool `json:"loseUnflushed,omitempty"`
	Hold          bool `json:"hold,omitempty"`

	Now         int64              `json:"now,omitempty"`    // sets the clock, ms; it never runs backwards
	During      int64              `json:"during,omitempty"` // how much the clock moves inside each wait for a message
	Expire      bool               `json:"expire,omitempty"` // answers due parked requests first
	Poll        int                `json:"poll,omitempty"`   // turns
	Settle      bool               `json:"settle,omitempty"` // turns until nothing happens
	State       bool               `json:"st,omitempty"`     // the answer carries the state
	Brief       bool               `json:"brief,omitempty"`  // the answer is a line of text that can be foreseen, with a digest for the state
	Random      map[string][]int32 `json:"random,omitempty"` // queues draws by their bounds, "0:1000"
	MaxVersions map[int16]int16    `json:"maxVersions,omitempty"`
	FailAt      map[string]int     `json:"failAt,omitempty"` // lets the n-th call of a storage operation fail
}

// Init describes a client and what it finds on its disk.
type Init struct {
	ID               *int32            `json:"id,omitempty"`
	Dir              string            `json:"dir,omitempty"`
	Cluster          string            `json:"cluster,omitempty"`
	KRaft            int               `json:"kraft"`            // 1: voters by a bootstrap checkpoint; 0: static voters
	Voters           []VoterSpec       `json:"voters,omitempty"` // empty with KRaft 1: knows no voters
	BootstrapServers []string          `json:"bootstrapServers,omitempty"`
	Endpoints        map[string]string `json:"endpoints,omitempty"`
	Channel          string            `json:"listener,omitempty"` // channel listener, CONTROLLER if empty
	Config           map[string]any    `json:"config,omitempty"`   // Kafka's controller.quorum.* keys
	FetchMaxWaitMs   int32             `json:"fetchMaxWaitMs,omitempty"`
	CannotBecome     bool              `json:"cannotBecomeVoter,omitempty"`
	MaxKRaft         *int16            `json:"maxKraft,omitempty"`
	Seed             *int64            `json:"seed,omitempty"`  // of its random draws; nil: the lowest value each time
	Log              []byte            `json:"log,omitempty"`   // batches already in the log
	Stored           *StoredState      `json:"state,omitempty"` // the quorum-state file
	LogDir           string            `json:"logDir,omitempty"`
	SegmentBytes     int               `json:"segmentBytes,omitempty"`
	OneSegment       bool              `json:"oneSegment,omitempty"` // the memory log keeps all in one segment, as the file log does
}

// VoterSpec is a voter of the initial set.
type VoterSpec struct {
	ID        int32             `json:"id"`
	Dir       string            `json:"dir,omitempty"`
	Endpoints map[string]string `json:"endpoints"`
	MinKRaft  int16             `json:"minKraft"`
	MaxKRaft  int16             `json:"maxKraft"`
}

// StoredState is the content of a quorum-state file.
type StoredState struct {
	Epoch    int32  `json:"epoch"`
	Leader   int32  `json:"leader"`
	Voted    int32  `json:"voted"`
	VotedDir string `json:"votedDir,omitempty"`
	Version  int16  `json:"version"`
}

// AppendJSON appends the command as the harness reads it: what json.Marshal makes of it, without reflection where it is frequent.
func (c *Command) AppendJSON(b []byte) ([]byte, error) {
	if c.Init != nil || c.Random != nil || c.MaxVersions != nil || c.FailAt != nil {
		line, err := json.Marshal(c)
		return append(b, line...), err
	}
	text := func(name, value string) {
		if value != "" {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = strconv.AppendQuote(b, value)
		}
	}
	integer := func(name string, value int64) {
		if value != 0 {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = strconv.AppendInt(b, value, 10)
		}
	}
	flag := func(name string, value bool) {
		if value {
			b = append(append(append(b, `,"`...), name...), `":true`...)
		}
	}
	b = strconv.AppendQuote(append(b, `{"cmd":`...), c.Cmd)
	text("node", c.Node)
	b = strconv.AppendInt(append(b, `,"corr":`...), int64(c.Corr), 10)
	integer("api", int64(c.API))
	b = strconv.AppendInt(append(b, `,"ver":`...), int64(c.Version), 10)
	if len(c.Body) > 0 {
		b = append(base64.StdEncoding.AppendEncode(append(b, `,"body":"`...), c.Body), '"')
	}
	text("error", c.Error)
	text("arrival", c.Listener)
	integer("epoch", int64(c.Epoch))
	integer("offset", c.Offset)
	integer("timestamp", c.Timestamp)
	if len(c.Records) > 0 {
		b = append(b, `,"records":[`...)
		for i, r := range c.Records {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(base64.StdEncoding.AppendEncode(append(b, '"'), r), '"')
		}
		b = append(b, ']')
	}
	flag("noSchedule", c.NoSchedule)
	integer("ms", c.Ms)
	flag("inside", c.Inside)
	integer("level", int64(c.Level))
	flag("validateOnly", c.ValidateOnly)
	integer("from", c.From)
	flag("loseUnflushed", c.LoseUnflushed)
	flag("hold", c.Hold)
	integer("now", c.Now)
	integer("during", c.During)
	flag("expire", c.Expire)
	integer("poll", int64(c.Poll))
	flag("settle", c.Settle)
	flag("st", c.State)
	flag("brief", c.Brief)
	return append(b, '}'), nil
}
