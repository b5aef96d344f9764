package belief

import "github.com/understudy-kafka/understudy/kraft"

// horizon bounds how long a leader's log was when it was first seen: nobody who has not fetched since is further.
type horizon struct {
	known bool
	end   kraft.Offset
	small map[kraft.NodeID]int // answers in a row that were small
}

// smallAnswer is a size of records that no limit of a Fetch has cut: those are megabytes. They may end with a segment of the log, but not
// twice in a row: a segment is larger.
const smallAnswer = 64 << 10

// answered takes in the answer to a Fetch that came since. One without records has waited at the end of the log.
func (h *horizon) answered(x *crossing, by kraft.NodeID, offset kraft.Offset) {
	if h.known {
		return
	}
	if h.small == nil {
		h.small = map[kraft.NodeID]int{}
	}
	e, ok := x.event.(*kraft.ReceiveFetchResponse)
	n := len(x.said.batches)
	switch {
	case !ok || x.said.records && (n == 0 || e.RecordsSize > smallAnswer):
		delete(h.small, by)
	case !x.said.records:
		h.known, h.end = true, offset
	case len(h.small) < maxNodes:
		if h.small[by]++; h.small[by] >= 2 {
			h.known, h.end = true, x.said.batches[n-1].Last+1
		}
	}
}
