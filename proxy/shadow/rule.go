package shadow

import "github.com/understudy-kafka/understudy/kraft"

// Rule is a rule that every correct quorum keeps.
type Rule struct {
	ID     string `json:"id"`   // as in the design, "M1"
	Name   string `json:"name"` // the file that checks it is named for it
	Says   string `json:"says"` // the rule
	Source string `json:"source"`
	Why    string `json:"why"` // what is at stake

	across bool // it compares nodes with each other, or looks at records that came from others
}

// monitor checks a rule over attested facts.
type monitor interface {
	rule() *Rule
	hears() []Kind
	observe(c *Checker, m *message)
}

// Rules lists all rules that are checked.
func Rules() []Rule {
	var list []Rule
	for _, m := range allMonitors(new(clusterMemory)) {
		list = append(list, *m.rule())
	}
	return list
}

// clusterMemory is the memory of the monitors that look at the quorum as a whole.
type clusterMemory struct {
	leaders    oneLeader
	elected    majorityElected
	log        committedStays
	watermarks watermarkNeverFalls
	moments    oneMoment
	wire       wireDiscipline
	tenures    tenures
	sets       votersOneByOne
	begins     epochBeginsWithCandidate
	floor      kraft.Epoch // rules across nodes look at later epochs only, see wiped
}

// allMonitors lists the monitors in the order in which they look at a message.
func allMonitors(m *clusterMemory) []monitor {
	return []monitor{
		voteOnce{},
		&m.leaders,
		epochNeverFalls{},
		&m.elected,
		epochBegins{},
		sameRecord{&m.log},
		logInOrder{},
		&m.log,
		&m.watermarks, &m.moments,
		watermarkHasMajority{},
		fetchOffsetNeverFalls{},
		&m.begins,
		candidateAhead{},
		voteForLongerLog{},
		&m.sets,
		snapshotIsOne{},
		oneIdentity{},
		&m.wire,
		successorsInOrder{},
	}
}

// enlist gives each kind of message its listeners.
func (c *Checker) enlist() {
	for _, m := range allMonitors(&c.memory) {
		for _, kind := range m.hears() {
			c.monitors[kind] = append(c.monitors[kind], m)
		}
	}
}

// everyKind is all kinds of message.
func everyKind() []Kind {
	list := make([]Kind, kinds)
	for i := range list {
		list[i] = Kind(i)
	}
	return list
}

// prune forgets what no later span can be compared with.
func (m *clusterMemory) prune(oldest uint64) { m.watermarks.prune(oldest) }

// wiped takes in that a replica lost its disk. If it was a voter, what the quorum promised may be lost with it, by
// nobody's fault but the operator's: for the epochs up to now, nodes are not compared with each other any more.
func (m *clusterMemory) wiped(c *Checker, n *node) {
	if c.quorum.assumed || c.quorum.isVoter(n.id) {
		begins := m.begins
		*m = clusterMemory{floor: max(c.quorum.epoch, m.floor), begins: begins}
	}
}
