package kraft

import "slices"

// A Fetch that finds nothing new is parked until there is something, or until its time is over. It is plain data: what it asks for,
// and the answer that was right when it came.
type parkedFetch struct {
	fetchInfo

	// the answer at arrival, when this node led: no error, no records
	epochThen Epoch
	hw        Offset
	start     Offset
}

// parking holds the parked Fetches in order of (offset, arrival), which is the order they are answered in (Kafka:
// ThresholdPurgatory). Those before head are gone.
type parking struct {
	fetches []parkedFetch
	head    int
}

func (p *parking) waiting() []parkedFetch { return p.fetches[p.head:] }

func (m *QuorumStateMachine) park(f *fetchInfo, answer *FetchAnswer, waitMs int32) {
	p := &m.parked
	p.fetches, p.head = append(p.fetches[:0], p.waiting()...), 0
	at := len(p.fetches)
	for at > 0 && p.fetches[at-1].offset > f.offset {
		at--
	}
	p.fetches = slices.Insert(p.fetches, at, parkedFetch{
		fetchInfo: *f, epochThen: answer.LeaderEpoch, hw: answer.HighWatermark, start: answer.LogStart,
	})
	a := slot(m, &m.turn.out.park)
	a.Request, a.FetchOffset, a.Until = f.request, f.offset, m.turn.now+Instant(waitMs)
}

// next takes out the first parked Fetch up to the offset.
func (p *parking) next(upTo Offset) (parkedFetch, bool) {
	if p.head == len(p.fetches) || p.fetches[p.head].offset > upTo {
		return parkedFetch{}, false
	}
	entry := p.fetches[p.head]
	if p.head++; p.head == len(p.fetches) {
		p.fetches, p.head = p.fetches[:0], 0
	}
	return entry, true
}

// completeParked evaluates and answers the Fetches parked up to an offset, whatever they find now: a parked Fetch is never parked
// again. Each counts as a fresh Fetch and may raise the high watermark, which since KIP-1166 answers all the others before it.
func (m *QuorumStateMachine) completeParked(upTo Offset) {
	for {
		entry, ok := m.parked.next(upTo)
		if !ok {
			return
		}
		reply := prepare(m, &m.turn.out.replyFetch)
		m.evaluateFetch(&entry.fetchInfo, &reply.FetchAnswer)
		m.replyFetch(reply)
	}
}

// failParked answers all parked Fetches: this node does not lead any more.
func (m *QuorumStateMachine) failParked() {
	for {
		entry, ok := m.parked.next(noOffset)
		if !ok {
			return
		}
		m.replyFetchError(&entry.fetchInfo, NotLeaderOrFollower)
	}
}

// onParkedExpired sends the answer that was right when the Fetch arrived: it may name an old epoch and leader (Kafka: the response
// that handleFetchRequest has built before it waits).
func (m *QuorumStateMachine) onParkedExpired(e *ParkedExpired) {
	p := &m.parked
	for i := p.head; i < len(p.fetches); i++ {
		if p.fetches[i].request != e.Request {
			continue
		}
		m.answerAsOfArrival(&p.fetches[i])
		p.fetches = slices.Delete(p.fetches, i, i+1)
		return
	}
}

func (m *QuorumStateMachine) answerAsOfArrival(p *parkedFetch) {
	a := slot(m, &m.turn.out.replyFetch)
	a.Request, a.HighWatermark, a.LogStart = p.request, p.hw, p.start
	a.Diverging, a.Snapshot, a.From, a.UpTo = nowhere, nowhere, p.offset, p.offset
	a.LeaderID, a.LeaderEpoch = m.cfg.ID, p.epochThen
	if p.version >= endpointsInFetch {
		a.LeaderEndpoint, a.HasEndpoint = m.cfg.Endpoints.Address(m.listeners[p.listener])
	}
}
