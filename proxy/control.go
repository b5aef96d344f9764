package proxy

import "errors"

// FaultRule is a rule that is in force.
type FaultRule struct {
	ID    int    `json:"id"`
	Text  string `json:"rule"`
	Seen  uint64 `json:"seen"`  // frames that concerned it
	Taken uint64 `json:"taken"` // of these, those that it took
}

// ErrEnded says that the proxy has ended.
var ErrEnded = errors.New("the proxy has ended")

func (c *counted) shown() FaultRule { return FaultRule{c.index, c.Text, c.seen, c.taken} }
