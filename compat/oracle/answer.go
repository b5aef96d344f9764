package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Answer tells what a command did.
type Answer struct {
	Error    string   `json:"error,omitempty"` // exception of the call itself, such as NotLeaderException
	Fatal    string   `json:"fatal,omitempty"` // what ended the client
	Now      int64    `json:"now,omitempty"`
	Polls    int      `json:"polls,omitempty"`
	Waits    []int64  `json:"waits,omitempty"` // how long each turn asked to wait for a message; -1: it asked for none
	Effects  []Effect `json:"fx,omitempty"`
	State    *State   `json:"st,omitempty"`
	Finished bool     `json:"finished,omitempty"` // shut down

	NextExpiry *int64 `json:"nextExpiry,omitempty"` // when the first parked request expires
	Queue      int    `json:"queue,omitempty"`      // messages waiting
	Expired    int    `json:"expired,omitempty"`
	Offset     int64  `json:"offset,omitempty"`
	Created    bool   `json:"created,omitempty"`
	Deleted    bool   `json:"deleted,omitempty"`
	Bytes      []byte `json:"bytes,omitempty"`

	Kafka  string `json:"version,omitempty"`
	Commit string `json:"commit,omitempty"`

	Raw []byte `json:"-"` // the line as it came
}

// Effect is one thing that a client did. Kind and arguments:
//
//	draw bounds value · persist [epoch leader voted votedDir version]
//	epoch epoch offset · append leader|follower first last [[base epoch size timestamp]…] · hw offset · flush end
//	truncate offset · truncateToSnapshot offset epoch · deleteBefore offset epoch · freeze offset epoch size · clean
//	send number node host:port api version body · reply corr api version body
//	commit base last epoch count · loadSnapshot|loadBootstrap offset epoch count · leaderChange leader epoch
//	beginShutdown · shutdown ok|exception
//
// A send without body could not be encoded in the version that the peer knows; a reply without body could not be
// encoded at all.
type Effect struct {
	Kind string
	Args []any // string, int64, bool, nil, []any
}

// UnmarshalJSON reads [kind, arguments…].
func (e *Effect) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var list []any
	if err := d.Decode(&list); err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("effect %s: empty", b)
	}
	kind, ok := list[0].(string)
	if !ok {
		return fmt.Errorf("effect %s: no kind", b)
	}
	e.Kind, e.Args = kind, list[1:]
	return integers(e.Args)
}

// integers replaces json.Number by int64.
func integers(list []any) error {
	for i, v := range list {
		switch v := v.(type) {
		case json.Number:
			n, err := v.Int64()
			if err != nil {
				return err
			}
			list[i] = n
		case []any:
			if err := integers(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// Int is the i-th argument as a number, 0 if it is none.
func (e *Effect) Int(i int) int64 {
	if i < len(e.Args) {
		n, _ := e.Args[i].(int64)
		return n
	}
	return 0
}

// Text is the i-th argument as text, "" if it is none.
func (e *Effect) Text(i int) string {
	if i < len(e.Args) {
		s, _ := e.Args[i].(string)
		return s
	}
	return ""
}

// String is the effect on one line.
func (e *Effect) String() string {
	return strings.TrimSpace(e.Kind + " " + strings.Trim(fmt.Sprint(e.Args), "[]"))
}
