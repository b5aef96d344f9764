// Package doctor reads data directories of controllers, of one node or of several, and says what is wrong, what is at risk, and whether
// these directories can elect a leader. It changes nothing and takes no lock, so it may look at a running node; what is being written
// then looks like a torn tail, which is said.
package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/wire"
)

// Severity orders findings.
type Severity int

// The severities.
const (
	Note   Severity = iota // worth knowing, nothing to do
	Risk                   // works now, may not later
	Damage                 // something is lost or contradicts itself
	Fatal                  // Kafka does not start on the directory
)

func (s Severity) String() string { return [...]string{"note", "risk", "damage", "fatal"}[s] }

// MarshalText writes the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one thing that the doctor found.
type Finding struct {
	Severity Severity     `json:"severity"`
	Kind     string       `json:"kind"` // stable name, such as "torn-tail"
	File     string       `json:"file"`
	Offset   kraft.Offset `json:"offset"` // in the log; -1: none
	Evidence string       `json:"evidence"`
	Action   string       `json:"action,omitempty"` // what an operator can safely do
}

func (f *Finding) String() string {
	s := fmt.Sprintf("%-6v %s: %s: %s", f.Severity, f.Kind, f.File, f.Evidence)
	if f.Offset >= 0 {
		s = fmt.Sprintf("%-6v %s: %s, offset %d: %s", f.Severity, f.Kind, f.File, f.Offset, f.Evidence)
	}
	if f.Action != "" {
		s += "\n       do: " + f.Action
	}
	return s
}

// Report is what the doctor says about a set of directories.
type Report struct {
	Directories []*Directory `json:"directories"`
	Findings    []Finding    `json:"findings"` // the gravest first
	Election    Election     `json:"election"`
	Advice      []string     `json:"advice,omitempty"` // for the cluster, where nothing is wrong
}

// Worst is the gravest severity, Note if there is no finding.
func (r *Report) Worst() Severity {
	if len(r.Findings) == 0 {
		return Note
	}
	return r.Findings[0].Severity
}

// Directory is what one data directory holds, as a node would see it after its start.
type Directory struct {
	Path         string             `json:"path"`
	ClusterID    string             `json:"clusterId"`
	Key          kraft.ReplicaKey   `json:"key"`
	State        kraft.QuorumState  `json:"state"`
	HasState     bool               `json:"hasState"`
	Start        kraft.Offset       `json:"start"`
	End          kraft.LogEnd       `json:"end"`
	KRaftVersion int16              `json:"kraftVersion"`
	VoterIDs     []kraft.ReplicaKey `json:"voters,omitempty"`
	Starts       bool               `json:"starts"` // nothing was found that stops Kafka's start

	formatted bool
	version   int16 // of quorum-state
	view      kraft.LogView
	sums      []sum
	leaders   map[kraft.Epoch]kraft.NodeID
	voters    kraft.VoterSet
	named     []kraft.NodeID // voter ids that quorum-state of a static quorum names
	votersAt  kraft.Offset
	versionAt kraft.Offset
	findings  []Finding
	found     map[[2]string]int // how many, by kind and file
	levels    map[string]level
	records   bool // there are data records
}

// level is that of a feature, and where it was set.
type level struct {
	value int16
	at    kraft.Offset
	file  string
}

// sum stands for a batch when logs are compared.
type sum struct {
	base  kraft.Offset
	last  kraft.Offset
	epoch kraft.Epoch
	crc   uint32
}

// alike is how many findings of one kind are told of one file.
const alike = 3

func (d *Directory) find(s Severity, kind, file string, offset kraft.Offset, action, evidence string, args ...any) {
	key := [2]string{kind, file}
	if d.found[key]++; d.found[key] > alike {
		return
	}
	d.findings = append(d.findings, Finding{s, kind, file, offset, fmt.Sprintf(evidence, args...), action})
	if s == Fatal {
		d.Starts = false
	}
}

// countAlike says how many findings were left out.
func (d *Directory) countAlike() {
	for i := len(d.findings) - 1; i >= 0; i-- {
		f := &d.findings[i]
		key := [2]string{f.Kind, f.File}
		if more := d.found[key] - alike; more > 0 {
			f.Evidence += fmt.Sprintf("; and %d more in this file", more)
		}
		delete(d.found, key)
	}
}

// Examine looks at the directories. An error means that it could not look, not that something is wrong.
func Examine(fsys storage.FS, paths ...string) (*Report, error) {
	return ExamineConfigured(fsys, nil, paths...)
}

// ExamineConfigured also compares them with the nodes' property files.
func ExamineConfigured(fsys storage.FS, configs []Config, paths ...string) (*Report, error) {
	r := &Report{}
	for _, p := range paths {
		d, err := lookSettled(fsys, p)
		if err != nil {
			return nil, err
		}
		for i := range configs {
			d.lookConfig(&configs[i])
		}
		d.countAlike()
		r.Directories = append(r.Directories, d)
		r.Findings = append(r.Findings, d.findings...)
	}
	r.compare()
	r.elect()
	r.advise()
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return int(b.Severity - a.Severity) })
	return r, nil
}

// String is the report for a person.
func (r *Report) String() string {
	var b strings.Builder
	for _, d := range r.Directories {
		fmt.Fprintf(&b, "%s: node %v of cluster %s, %v, log from %d to %v, kraft.version %d", d.Path, d.Key, d.ClusterID, d.State, d.Start, d.End, d.KRaftVersion)
		if len(d.VoterIDs) > 0 {
			fmt.Fprintf(&b, ", voters %v", d.VoterIDs)
		}
		b.WriteByte('\n')
	}
	for i := range r.Findings {
		b.WriteString(r.Findings[i].String() + "\n")
	}
	if len(r.Findings) == 0 {
		b.WriteString("nothing is wrong\n")
	}
	b.WriteString(r.Election.String())
	for _, advice := range r.Advice {
		b.WriteString("advice: " + advice + "\n")
	}
	return b.String()
}

// note takes a record of the log or of a snapshot into account.
func (d *Directory) note(b *wire.Batch, r *wire.Record, at kraft.Offset, file string) error {
	if !b.Control() {
		m, err := wire.DecodeMetadata(r.Value)
		if err != nil {
			return err
		}
		d.records = true
		return d.noteFeature(&m, at, file)
	}
	c, err := wire.DecodeControl(r.Key, r.Value)
	if err != nil {
		return err
	}
	switch k := wire.KRaftControl(c); k.Type {
	case kraft.LeaderChangeRecord:
		d.leaders[b.Epoch] = k.Leader
	case kraft.KRaftVersionRecord:
		if at >= d.versionAt { // a snapshot may be newer than the log that is read after it
			d.KRaftVersion, d.versionAt = k.KRaftVersion, at
		}
	case kraft.VotersRecord:
		if at >= d.votersAt {
			d.voters, d.votersAt = k.Voters, at
		}
	case kraft.OtherControlRecord:
	}
	return nil
}
