package mutants

// connectionMutants are about the request manager: who may be asked, and when.
var connectionMutants = []Mutant{
	{
		Name: "records-by-id", File: "requestmanager.go", Rule: "connection records are walked in the order of the ids",
		Old: `return h ^ h>>16`, New: `return uint32(id)`,
	},
	{
		Name: "ready-keeps-record", File: "requestmanager.go", Rule: "the expired record of a node that is ready is not forgotten",
		Old: `	m.requests.connections = slices.Delete(m.requests.connections, i, i+1)
	return true
`, New: `	return true
`,
	},
	{
		Name: "walk-goes-on", File: "requestmanager.go", Rule: "expired records behind the first request in flight are forgotten too",
		Old: `			return c.ID, true
`, New: `			id := c.ID
			for j := i + 1; j < len(r.connections); {
				if m.expired(&r.connections[j]) {
					r.connections = slices.Delete(r.connections, j, j+1)
				} else {
					j++
				}
			}
			return id, true
`,
	},
	{
		Name: "walk-keeps-records", File: "requestmanager.go", Rule: "a walk does not forget expired records",
		Old: `		case m.expired(c):
			r.connections = slices.Delete(r.connections, i, i+1)
`, New: `		case m.expired(c):
			i++
`,
	},
	{
		Name: "bootstrap-chosen-in-flight", File: "requestmanager.go", Rule: "a bootstrap server is chosen although something is in flight",
		Old: `	if m.hasAnyInflight() {
		return 0, false
	}
	n := m.bootstrapServers()
	slot(m, &m.turn.out.chooseBootstrap).Servers = int32(n)
`, New: `	n := m.bootstrapServers()
	slot(m, &m.turn.out.chooseBootstrap).Servers = int32(n)
	if m.hasAnyInflight() {
		return 0, false
	}
`,
	},
	{
		Name: "bootstrap-in-order", File: "requestmanager.go", Rule: "the first bootstrap server that is ready is asked",
		Old: `at := (m.turn.choice%n + n + i) % n`, New: `at := i`,
	},
	{
		Name: "bootstrap-asked-in-flight", File: "requestmanager.go", Rule: "a bootstrap server is asked although something is in flight",
		Old: `	if m.hasAnyInflight() {
		return 0, false
	}
`, New: `	m.hasAnyInflight()
`,
	},
	{
		Name: "send-does-not-wake", File: "requestmanager.go", Rule: "a node does not wake when a request times out",
		Old: `	m.waitFor(PeerTimer(RequestTimer, id))
	if !m.isReady(id) {
`, New: `	if !m.isReady(id) {
`,
	},
	{
		Name: "backoff-does-not-wake", File: "requestmanager.go", Rule: "a node does not wake when a backoff is over",
		Old: `		m.waitFor(PeerTimer(BackoffTimer, id))
		return Destination{}, false
`, New: `		return Destination{}, false
`,
	},
	{
		Name: "failure-without-backoff", File: "requestmanager.go", Rule: "a node can be asked again at once after a failure",
		Old: `	if success {
		m.requests.remove(r.From)
`, New: `	if true {
		m.requests.remove(r.From)
`,
	},
	{
		Name: "success-backs-off", File: "requestmanager.go", Rule: "a node is left alone after a success",
		Old: `	if success {
		m.requests.remove(r.From)
`, New: `	if false {
		m.requests.remove(r.From)
`,
	},
	{
		Name: "backoff-of-request-timeout", File: "requestmanager.go", Rule: "a backoff lasts as long as a request may",
		Old: `m.resetTimer(PeerTimer(BackoffTimer, r.From), m.cfg.Timeouts.RetryBackoffMs)`,
		New: `m.resetTimer(PeerTimer(BackoffTimer, r.From), m.cfg.Timeouts.RequestMs)`,
	},
	{
		Name: "request-never-times-out", File: "requestmanager.go", Rule: "a request in flight never times out",
		Old: `	m.resetTimer(PeerTimer(RequestTimer, id), m.cfg.Timeouts.RequestMs)
`, New: ``,
	},
	{
		Name: "bootstrap-wait-unbounded", File: "requestmanager.go", Rule: "a wait for bootstrap servers is not bounded by the retry backoff",
		Equivalent: "where this line is reached nothing is in flight and all servers back off, and the wait is bounded by their timers, none of which runs longer than the retry backoff",
		Old: `	m.waitAtMost(int64(m.cfg.Timeouts.RetryBackoffMs))
`, New: ``,
	},
	{
		Name: "in-flight-may-be-asked", File: "requestmanager.go", Rule: "a node with a request in flight is asked again",
		Old: `	if !m.expired(&m.requests.connections[i]) {
		return false
	}
`, New: `	if m.requests.connections[i].BackingOff && !m.expired(&m.requests.connections[i]) {
		return false
	}
`,
	},
	{
		Name: "timed-out-answer-refused", File: "requestmanager.go", Rule: "a backing-off record still expects its answer",
		Old: `return i >= 0 && !r.connections[i].BackingOff && r.connections[i].CorrelationID == correlation`,
		New: `return i >= 0 && r.connections[i].CorrelationID == correlation`,
	},
}
