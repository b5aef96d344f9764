package sim

// queue is a heap of what will happen, by time and then in the order of arrival: the same seed gives the same run.
type queue struct {
	items []item
	seq   uint64
}

// item is one thing that will happen.
type item struct {
	at   int64 // microseconds
	seq  uint64
	kind itemKind
	what *message // of a delivery
	arg  int32
}

type itemKind uint8

const (
	deliver   itemKind = iota
	faultTick          // time for the next fault
	clientTick
	adminTick
	restart // of the node arg
)

func (q *queue) reset() { q.items, q.seq = q.items[:0], 0 }

func (a *item) before(b *item) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (q *queue) push(it item) {
	q.seq++
	it.seq = q.seq
	q.items = append(q.items, it)
	at := len(q.items) - 1
	for at > 0 {
		up := (at - 1) / 2
		if !it.before(&q.items[up]) {
			break
		}
		q.items[at] = q.items[up]
		at = up
	}
	q.items[at] = it
}

func (q *queue) pop() item {
	top := q.items[0]
	n := len(q.items) - 1
	last := q.items[n]
	q.items[n] = item{}
	q.items = q.items[:n]
	if n == 0 {
		return top
	}
	at := 0
	for {
		child := 2*at + 1
		if child >= n {
			break
		}
		if child+1 < n && q.items[child+1].before(&q.items[child]) {
			child++
		}
		if !q.items[child].before(&last) {
			break
		}
		q.items[at] = q.items[child]
		at = child
	}
	q.items[at] = last
	return top
}

// remove takes out what the condition names. It is slow, and needed when a process dies only.
func (q *queue) remove(gone func(*item) bool) {
	old := q.items
	q.items = nil
	kept := old[:0]
	for i := range old {
		if !gone(&old[i]) {
			kept = append(kept, old[i])
		}
	}
	// The rest is a heap no more.
	q.items = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		q.sift(i)
	}
}

func (q *queue) sift(at int) {
	n := len(q.items)
	for {
		child := 2*at + 1
		if child >= n {
			return
		}
		if child+1 < n && q.items[child+1].before(&q.items[child]) {
			child++
		}
		if !q.items[child].before(&q.items[at]) {
			return
		}
		q.items[at], q.items[child] = q.items[child], q.items[at]
		at = child
	}
}
