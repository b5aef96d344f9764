package proxy

// call runs f on the loop and waits for it.
func (p *Proxy) call(f func()) error {
	done := make(chan struct{})
	if !p.loop.post(func() { f(); close(done) }) {
		return ErrEnded
	}
	<-done
	return nil
}

// AddFault puts a rule in force. Connections that are open already are concerned from their next frames on.
func (p *Proxy) AddFault(r *Rule) (added FaultRule, err error) {
	err = p.call(func() {
		added = p.loop.asked.add(r).shown()
		for relay := range p.loop.relays {
			if relay.gate == nil && p.loop.asked.concern(relay.upstream, anyNode) {
				relay.hold()
			}
		}
	})
	return added, err
}

// Faults lists the rules that are in force.
func (p *Proxy) Faults() (list []FaultRule, err error) {
	list = []FaultRule{}
	err = p.call(func() {
		for _, r := range p.loop.asked.list {
			list = append(list, r.shown())
		}
	})
	return list, err
}

// RemoveFault takes a rule out; below 0 it takes out all of them. What a rule has done stays done, but a black hole ends, and what is
// delayed goes on at once. It returns how many rules were taken out.
func (p *Proxy) RemoveFault(id int) (removed int, err error) {
	err = p.call(func() {
		removed = p.loop.asked.remove(id)
		for relay := range p.loop.relays {
			for i := range relay.flows {
				if f := &relay.flows[i]; f.held != nil && f.held.delayed() && f.held.delay.removed {
					p.loop.endDelay(f, f.held.until)
				}
			}
		}
	})
	return removed, err
}

// hold makes the frames of a connection wait for the rules, from the next one on: the rest of a frame that has begun passes.
func (r *relay) hold() {
	r.gate = newGate()
	for i := range r.flows {
		f := &r.flows[i]
		if f.held != nil {
			continue
		}
		f.held = &held{}
		after := f.follow
		after.advance(f.waiting)
		if after.lost || after.sized > 0 { // no frame's beginning is known here
			r.gate = nil
		}
		f.held.pass = after.need
	}
}
