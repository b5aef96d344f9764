package proxy

// announce tells the recorder of a connection. It reports false if there was no room; the next try follows with the
// next bytes.
func (l *loop) announce(r *relay) bool {
	var buf [128]byte
	now := l.now()
	open := entry{kind: entryOpen, conn: r.id, seen: now, forwarded: now, payload: opening{r.upstream, r.client, r.server}.append(buf[:0])}
	r.announced = l.queue.put(&open, true)
	return r.announced
}

// tap puts bytes that have been written on into the queue. It never waits: without room the bytes are counted and
// left out, and so is all that follows up to the next boundary between two frames for which there is room.
func (l *loop) tap(f *flow, b []byte, seen, forwarded int64) {
	l.stats.latency.observe(forwarded - seen)
	before := f.follow.frames
	if !f.opaque && (!f.gap || l.leaveGap(f, &b)) {
		l.entry = entry{kind: entryChunk, dir: uint8(f.dir), conn: f.relay.id, seen: seen, forwarded: forwarded, payload: b}
		l.putFrames(f, int64(len(b)), 0)
		here := f.follow.frames
		f.follow.advance(b)
		if f.gap {
			f.gapFrames += int64(f.follow.frames - here)
		}
	}
	l.stats.frames[f.dir].add(f.follow.frames - before)
	if f.follow.lost && !f.opaque {
		f.opaque = true
		l.stats.opaque.add(1)
		l.log.warn("not Kafka's protocol: forwarded, not recorded", "from", f.relay.client.String(),
			"upstream", l.asked.upstream(f.relay.upstream), "direction", f.dir.String())
	}
}

// tellFault records what a rule did to a frame.
func (l *loop) tellFault(f *flow, t *telling) {
	if f.opaque {
		return
	}
	payload := appendFault(l.payload[:0], t.sent, t.delivered)
	l.payload = payload
	now := l.now()
	l.entry = entry{kind: entryFault, dir: uint8(f.dir), rule: t.rule, conn: f.relay.id, seen: t.seen, forwarded: now, payload: payload}
	l.putFrames(f, int64(len(t.delivered)), 1)
	if cap(l.payload) > 1<<20 {
		l.payload = nil
	}
	if t.delivered != nil {
		f.follow.frames++
		f.follow.offset += int64(4 + len(t.delivered))
		l.stats.frames[f.dir].add(1)
	}
}

// putFrames puts the entry that has been prepared, or begins a gap (goes on with it) of so many bytes and frames.
func (l *loop) putFrames(f *flow, bytes, frames int64) {
	if (f.relay.announced || l.announce(f.relay)) && (!f.gap || l.putGap(f)) && l.queue.put(&l.entry, false) {
		return
	}
	if !f.gap {
		f.gap, f.gapBytes, f.gapFrames = true, 0, 0
		l.stats.gaps.add(1)
	}
	f.gapBytes += bytes
	f.gapFrames += frames
}

// leaveGap passes over the rest of a frame that began in a gap. It returns false if there is nothing behind it.
func (l *loop) leaveGap(f *flow, b *[]byte) bool {
	n, ends := f.follow.next(*b)
	before := f.follow.frames
	f.follow.advance((*b)[:n])
	f.gapBytes += int64(n)
	f.gapFrames += int64(f.follow.frames - before)
	*b = (*b)[n:]
	return ends && len(*b) > 0
}

// putGap tells the recorder what was left out. The prepared entry stays.
func (l *loop) putGap(f *flow) bool {
	gap := entry{kind: entryGap, dir: uint8(f.dir), conn: f.relay.id, seen: f.gapBytes, forwarded: f.gapFrames}
	if !l.queue.put(&gap, true) {
		return false
	}
	f.gap = false
	return true
}

// sayClosed tells the recorder of connections that have ended, as far as there is room.
func (l *loop) sayClosed() {
	kept := l.unsaid[:0]
	for _, r := range l.unsaid {
		if !r.announced {
			l.stats.unrecorded.add(1)
			continue
		}
		if !l.tellClosed(r) {
			kept = append(kept, r)
		}
	}
	clear(l.unsaid[len(kept):])
	l.unsaid = kept
}

func (l *loop) tellClosed(r *relay) bool {
	for i := range r.flows {
		if f := &r.flows[i]; f.gap && !l.putGap(f) {
			return false
		}
	}
	l.entry = entry{kind: entryClose, conn: r.id, seen: r.closedAt, forwarded: r.closedAt, flag: r.reset}
	return l.queue.put(&l.entry, true)
}
