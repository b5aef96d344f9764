package replay

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/wire"
)

// writeTimeout bounds the sending of a request.
const writeTimeout = 10 * time.Second

// ask sends a recorded request on the connection that stands for the recorded one.
func (r *run) ask(st step) error {
	x := st.x
	if x.withheld && x.readable && !x.answered || x.withheld && requestWithheld(x) {
		r.skipped[x] = true
		r.report.notCompared("the recording withholds parts of the request")
		return nil
	}
	c := r.conns[st.conn]
	if c == nil || c.closed {
		var err error
		if c, err = r.connect(st.conn); err != nil {
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			r.report.Lost = fmt.Sprintf("%s: the node takes no connection any more (%v)", x, err)
			return errLost
		}
	}
	version := x.header.Version
	if x.readable {
		version = versionFor(r.recorded, r.live, x.header.Key, version)
	}
	frame, err := requestFrame(x, version)
	if err != nil { // it was refused as what it is, which it is in no other version
		version, frame = x.header.Version, x.frame
	}
	r.versions[x] = version
	if version != x.header.Version {
		r.report.differ(Difference{
			Frame: x.number, Message: "request " + wire.Name(x.header.Key), Field: "version", Recorded: fmt.Sprint(x.header.Version), Live: fmt.Sprint(version), Rule: ruleRange,
		})
	}
	r.report.Asked++
	c.open = append(c.open, x)
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // a connection that is gone shows at the answer
	_, _ = c.conn.Write(sized(frame))
	return nil
}

// requestWithheld reports whether parts of the request itself are missing: of the answers, only those to Fetch and
// FetchSnapshot have parts withheld, which are records.
func requestWithheld(x *exchange) bool {
	return x.header.Key != wire.KeyFetch && x.header.Key != wire.KeyFetchSnapshot
}

func (r *run) connect(id uint64) (*asker, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.o.Patience)
	defer cancel()
	conn, err := r.dial(ctx, func(d time.Duration) { r.until(d, func() bool { return false }) })
	if err != nil {
		return nil, err
	}
	c := &asker{conn: conn}
	if old := r.conns[id]; old != nil {
		_ = old.conn.Close()
	}
	r.conns[id] = c
	r.all.Go(func() {
		for in := bufio.NewReader(conn); ; {
			f, err := readFrame(in)
			if err != nil {
				r.post(&received{from: c, ended: true})
				return
			}
			if !r.post(&received{from: c, frame: f}) {
				return
			}
		}
	})
	return c, nil
}

// await compares the answer to a request with the recorded one.
func (r *run) await(st step) error {
	x, c := st.x, r.conns[st.conn]
	if r.skipped[x] || c == nil {
		return nil
	}
	c.open = slices.DeleteFunc(c.open, func(o *exchange) bool { return o == x })
	var frame []byte
	r.until(r.o.Patience, func() bool {
		frame = c.frameFor(x)
		return frame != nil || c.closed
	})
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	version := r.versions[x]
	if frame == nil {
		live := fmt.Sprintf("no answer within %v", r.o.Patience)
		switch {
		case c.flood:
			live = "no answer among more frames than anybody asked for"
		case c.closed:
			live = "the node closed the connection"
		}
		r.report.Compared++
		r.differ(x, wire.Response, answerTo(x, version), []field{{"", "an answer", live}})
		return nil
	}
	_, body, err := wire.ParseResponseHeader(frame, x.header.Key, version)
	if err != nil {
		r.report.Compared++
		r.differ(x, wire.Response, answerTo(x, version), []field{{"", "an answer", err.Error()}})
		return nil
	}
	recorded, err := inVersion(x.header.Key, x.header.Version, version, wire.Response, x.response)
	if err != nil {
		r.report.Compared++
		r.differ(x, wire.Response, answerTo(x, version), []field{{"", err.Error(), "an answer"}})
		return nil
	}
	fields := compare(x.header.Key, version, wire.Response, recorded, body)
	if x.withheld {
		fields = slices.DeleteFunc(fields, func(f field) bool { return aboutRecords(f.path) })
		r.report.notCompared("the records of an answer, which the recording withholds")
	}
	r.report.Compared++
	if len(fields) == 0 {
		r.report.Equal++
	}
	r.differ(x, wire.Response, answerTo(x, version), fields)
	return nil
}

func aboutRecords(path string) bool {
	path = withoutIndexes(path)
	for _, p := range []string{"responses.partitions.records", "topics.partitions.unalignedRecords"} {
		if path == p || len(path) > len(p) && path[:len(p)+1] == p+"." {
			return true
		}
	}
	return false
}

func (r *run) differ(x *exchange, dir wire.Direction, message string, fields []field) {
	for _, f := range fields {
		r.report.differ(Difference{
			Frame: x.number, Message: message, Field: f.path, Recorded: f.recorded, Live: f.live, Rule: explain(r.recorded, r.live, x.header.Key, dir, f.path),
		})
	}
}

// end ends a connection as the recording did. What had no answer then must have none now, if it is the node that ended
// it; who did so is not recorded.
func (r *run) end(st step) {
	c := r.conns[st.conn]
	if c == nil {
		return
	}
	if len(c.open) > 0 && !c.closed {
		r.until(endGrace, func() bool { return c.closed || len(c.frames) > 0 })
	}
	for _, x := range c.open {
		switch {
		case c.frameFor(x) != nil, !x.readable && len(c.frames) > 0: // a frame that is left may be meant for what is no request
			r.report.notCompared("answers where the recorded connection ended without one")
		case c.closed:
			r.report.Compared++
			r.report.Equal++
		default:
			r.report.notCompared("requests without an answer in both, whose connection the node left open")
		}
	}
	_ = c.conn.Close()
	delete(r.conns, st.conn)
}

// hear waits until the node asks a peer what it asked in the recording.
func (r *run) hear(x *exchange) error {
	p := r.peers[x.node]
	at := slices.Index(p.list, x)
	defer func() { p.next = max(p.next, at+1) }()
	if r.heardBy(x) == nil && (x.chance || folds(p.list, at)) {
		r.passed[x] = true
		r.report.Folded++
		return nil
	}
	if r.until(r.o.Patience, func() bool { return r.heardBy(x) != nil }) {
		r.report.Heard++
		r.missed = 0
		r.differ(x, wire.Request, requestTo(x), differing(x, r.arrivals[x]))
		return nil
	}
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	return r.miss(p, x)
}

// miss notes a request that the node does not make, and what it asks in its place.
func (r *run) miss(p *peerState, x *exchange) error {
	message := requestTo(x)
	instead := slices.IndexFunc(p.strangers, func(a *arrival) bool { return a.header.Key == x.header.Key })
	switch a := r.turnedAway[x.node]; {
	case instead >= 0:
		a = p.strangers[instead]
		p.strangers = slices.Delete(p.strangers, instead, instead+1)
		r.arrivals[x] = a // it gets the recorded answer, so that the story can go on
		r.differInstead(x, a, message)
	case a != nil && a.header.Key == x.header.Key && time.Since(a.at) < r.o.Patience+strangerPatience: // it came while x was awaited
		r.passed[x] = true
		r.differInstead(x, a, message)
	default:
		r.passed[x] = true
		r.differ(x, wire.Request, message, []field{{"", "asked", fmt.Sprintf("not asked within %v", r.o.Patience)}})
	}
	if r.missed++; r.missed >= maxMissed {
		r.report.Lost = fmt.Sprintf("%s: the node did not ask what it asked in the recording, %d times in a row", x, r.missed)
		return errLost
	}
	return nil
}

func (r *run) differInstead(x *exchange, a *arrival, message string) {
	r.differ(x, wire.Request, message, differing(x, a))
}

// reply gives the node the recorded answer. From here on it is also the answer to repetitions, whether the node has made
// this one or not.
func (r *run) reply(x *exchange) {
	p := r.peers[x.node]
	p.given = append(p.given, x)
	a := r.heardBy(x)
	if a == nil {
		return
	}
	body, err := inVersion(x.header.Key, x.header.Version, a.header.Version, wire.Response, x.response)
	if err != nil {
		a.answer <- nil
		return
	}
	a.answer <- responseFrame(&a.header, body)
}

// hangUp ends what has no answer in the recording because its connection ended.
func (r *run) hangUp(conn uint64) {
	for x, a := range r.arrivals {
		if x.conn == conn && !x.answered {
			a.answer <- nil
			delete(r.arrivals, x)
			r.passed[x] = true
		}
	}
}
