package kraft

func (r *Unattached) hash(h *hash) {
	h.id(r.Leader)
	h.key(r.Voted)
	h.word(uint64(r.HighWatermark))
}

func (r *Prospective) hash(h *hash) {
	h.id(r.Leader)
	h.word(uint64(uint32(r.Retries)))
	h.endpoints(r.LeaderEndpoints)
	h.key(r.Voted)
	h.word(uint64(r.HighWatermark))
	h.tally(r.Tally)
}

func (r *Candidate) hash(h *hash) {
	h.word(flag(r.BackingOff) | uint64(uint32(r.Retries))<<32)
	h.word(uint64(r.HighWatermark))
	h.tally(r.Tally)
}

func (r *Follower) hash(h *hash) {
	h.id(r.Leader)
	h.word(flag(r.FetchedFromLeader) | flag(r.UpdatedLeader)<<1 | flag(r.Fetching)<<2)
	h.endpoints(r.LeaderEndpoints)
	h.key(r.Voted)
	h.word(uint64(r.HighWatermark))
	h.word(uint64(r.FetchingSnapshot.Offset))
	h.word(uint64(uint32(r.FetchingSnapshot.Epoch)))
	h.word(uint64(r.FetchedBytes))
}

func (r *Resigned) hash(h *hash) {
	h.ids(r.Voters)
	h.ids(r.Unacked)
	h.word(uint64(len(r.Successors)))
	if h.names != nil {
		set(h, r.Successors, func(h *hash, k *ReplicaKey) { h.key(*k) })
		return
	}
	for _, k := range r.Successors {
		h.key(k)
	}
}

func (r *Leader) hash(h *hash) {
	h.word(uint64(r.EpochStart))
	h.word(uint64(r.HighWatermark))
	h.word(flag(r.ResignRequested) | flag(r.HasVolatileVoters)<<1 | uint64(uint16(r.RequestedVersion))<<16)
	h.word(uint64(r.votersAt))
	hashReplicas(h, r.Voters)
	hashReplicas(h, r.Observers)
	h.ids(r.Granting)
	h.ids(r.FetchedVoters)
	h.voters(r.VolatileVoters)
	r.Accumulator.hash(h)
	r.Change.hash(h)
}

// hashReplicas leaves the instants out. That a replica has fetched, or caught up, at all does decide.
func hashReplicas(h *hash, replicas []Replica) {
	h.word(uint64(len(replicas)))
	if h.names != nil {
		set(h, replicas, hashReplica)
		return
	}
	for i := range replicas {
		hashReplica(h, &replicas[i])
	}
}

func hashReplica(h *hash, r *Replica) {
	h.key(r.Key)
	h.word(uint64(r.End))
	h.word(uint64(r.LastFetchLeaderEnd))
	h.word(flag(r.Acknowledged) | flag(r.LastFetch > 0)<<1 | flag(r.LastCaughtUp > 0)<<2)
	h.word(uint64(len(r.Endpoints.list)))
}

func (a *Accumulator) hash(h *hash) {
	h.word(uint64(a.NextOffset))
	h.word(uint64(a.HoldFrom))
	h.word(flag(a.Lingering) | flag(a.ForcedDone)<<1)
	a.Current.hash(h)
	h.word(uint64(len(a.Completed)))
	for i := range a.Completed {
		a.Completed[i].hash(h)
	}
}

func (b *PreparedBatch) hash(h *hash) {
	h.word(uint64(b.Base))
	h.word(uint64(uint32(b.Count)) | uint64(uint32(b.Size))<<32)
	h.word(flag(b.Start))
	h.word(uint64(len(b.Control)))
	for i := range b.Control {
		r := &b.Control[i]
		h.word(uint64(r.Type) | uint64(uint16(r.KRaftVersion))<<16)
		h.ids(r.VoterIDs)
		h.ids(r.Granting)
		h.voters(r.Voters)
	}
}

func (c *VoterChange) hash(h *hash) {
	h.word(uint64(c.Kind) | flag(c.AckWhenCommitted)<<8 | flag(c.Answered)<<9)
	if c.Kind == NoChange {
		return
	}
	h.request(c.Request)
	h.key(c.Voter)
	h.endpoints(c.Endpoints)
	h.word(uint64(c.LastOffset))
}

func (r *requestManager) hash(h *hash) {
	h.word(uint64(len(r.connections)) | uint64(r.capacity)<<32)
	h.word(uint64(uint32(r.nextCorrelation)))
	if h.names != nil {
		set(h, r.connections, hashConnection)
		return
	}
	for i := range r.connections {
		hashConnection(h, &r.connections[i])
	}
}

func hashConnection(h *hash, c *Connection) {
	h.id(c.ID)
	h.word(uint64(uint32(c.CorrelationID))<<1 | flag(c.BackingOff))
}

func (p *parking) hash(h *hash, listeners []string) {
	waiting := p.waiting()
	h.word(uint64(len(waiting)))
	for i := range waiting {
		f := &waiting[i]
		h.request(f.request)
		h.key(f.replica)
		h.word(uint64(f.offset))
		h.word(uint64(uint32(f.epoch)) | uint64(uint32(f.lastFetchedEpoch))<<32)
		h.word(uint64(uint32(f.maxBytes)) | uint64(uint16(f.version))<<32)
		h.text(listeners[f.listener])
		h.word(uint64(uint32(f.epochThen)))
		h.word(uint64(f.hw))
		h.word(uint64(f.start))
	}
}

func (e *history) hash(h *hash) {
	h.word(uint64(e.next))
	h.word(uint64(len(e.voters)))
	for i := range e.voters {
		h.word(uint64(e.voters[i].offset))
		h.voters(e.voters[i].voters)
	}
	h.word(uint64(len(e.versions)))
	for i := range e.versions {
		h.word(uint64(e.versions[i].offset))
		h.word(uint64(e.versions[i].version))
	}
}
