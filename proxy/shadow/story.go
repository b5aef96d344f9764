package shadow

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/understudy-kafka/understudy/recordings"
	"github.com/understudy-kafka/understudy/wire"
)

// WriteStory tells a finding as a conversation: what the nodes said to each other, one line for each frame of the core, with an arrow
// before those that prove it, and what is wrong with them.
func WriteStory(out io.Writer, f *Finding, rule *Rule, core []recordings.Observation) error {
	w := &textWriter{out: out}
	w.line("%s %s: node %s, epoch %s%s", f.Rule, f.Name, nodeName(f.Node), known(int64(f.Epoch)), times(f.Count))
	w.line("")
	writeWhy(w, "", f, rule)
	w.line("\nThe conversation")
	printer := linePrinter{pairers: map[*recordings.Conn]*wire.Pairer{}}
	begun := int64(0)
	for i := range core {
		o := &core[i]
		if begun == 0 {
			begun = o.At.Seen
		}
		mark := "   "
		if slices.ContainsFunc(f.Proof, func(e Evidence) bool {
			return e.At == o.At.Seen && o.Kind == recordings.KindFrame && e.Dir == o.Dir.String()
		}) {
			mark = "-> "
		}
		w.line("%s%10s  %s", mark, "+"+time.Duration(o.At.Seen-begun).Round(time.Microsecond).String(), printer.line(o))
	}
	return w.err
}

// writeWhy says what was expected, what happened instead, and what that means.
func writeWhy(w *textWriter, indent string, f *Finding, rule *Rule) {
	w.line("%swhat happened:  %s", indent, f.Text)
	if rule == nil {
		return
	}
	w.line("%swhat must hold: %s", indent, rule.Says)
	w.line("%swhy it matters: %s", indent, rule.Why)
	w.line("%ssource:         %s", indent, rule.Source)
	for _, e := range Resembles(rule.ID) {
		w.line("%sresembles:      %s", indent, e)
	}
}

// Tier2 is the id of the rule that stands for the second tier.
const Tier2 = "T2"

// RuleOf returns the rule with this id; nil if there is none.
func RuleOf(id string) *Rule {
	if id == tier2Rule.ID {
		return &tier2Rule
	}
	for _, r := range Rules() {
		if r.ID == id {
			return &r
		}
	}
	return nil
}

// linePrinter prints observations on one line each.
type linePrinter struct {
	decoder wire.Decoder
	pairers map[*recordings.Conn]*wire.Pairer
	clients map[*recordings.Conn]string
}

func (p *linePrinter) line(o *recordings.Observation) string {
	client, server := p.ends(o)
	if o.Kind != recordings.KindFrame {
		what := o.Kind.String()
		if o.Gap != nil {
			what += ": " + o.Gap.Reason
		}
		return fmt.Sprintf("connection %d, %s to %s: %s", o.Conn.ID, client, server, what)
	}
	pairer := p.pairers[o.Conn]
	if pairer == nil {
		pairer = new(wire.Pairer)
		p.pairers[o.Conn] = pairer
	}
	sent := o.Frame.Bytes
	if o.Fault != nil && o.Fault.Sent != nil {
		sent = o.Fault.Sent
	}
	var text string
	if o.Dir == wire.Request {
		h, body, err := wire.ParseRequestHeader(sent)
		if err != nil {
			return fmt.Sprintf("%s -> %s: %d bytes that cannot be read", client, server, len(sent))
		}
		if o.Fault == nil || o.Fault.Delivered {
			pairer.Request(h, body, o.At, o.Seq)
		}
		text = fmt.Sprintf("%s -> %s: %s", client, server, p.decoder.AppendRequestLine(nil, h, body))
	} else {
		x, err := pairer.Response(sent, o.At)
		if err != nil {
			return fmt.Sprintf("%s <- %s: %d bytes that answer nothing seen", client, server, len(sent))
		}
		text = fmt.Sprintf("%s <- %s: %s", client, server, p.decoder.AppendResponseLine(nil, x.Header.Key, x.Header.Version, x.Response))
		pairer.Release(x)
	}
	if o.Fault != nil {
		text += " [" + o.Fault.Rule + "]"
	}
	return text
}

// ends names client and server of a connection. A raft client gives its id with its first request.
func (p *linePrinter) ends(o *recordings.Observation) (client, server string) {
	if p.clients == nil {
		p.clients = map[*recordings.Conn]string{}
	}
	if o.Kind == recordings.KindFrame && o.Dir == wire.Request {
		if h, _, err := wire.ParseRequestHeader(o.Frame.Bytes); err == nil {
			if id, ok := raftClientID(h.ClientID); ok {
				p.clients[o.Conn] = "node " + id.String()
			}
		}
	}
	if client = p.clients[o.Conn]; client == "" {
		client = o.Conn.Client.String()
	}
	server = "node " + nodeName(o.Conn.Node)
	if o.Conn.Node < 0 {
		server = o.Conn.Endpoint
	}
	return client, server
}

// Exhibit is a failure of real quorums that was made public.
type Exhibit struct {
	Issue string `json:"issue"` // Kafka's issue, or where it was told
	Title string `json:"title"`
	Seen  string `json:"seen"` // the releases it was in
}

func (e Exhibit) String() string {
	return strings.TrimSpace(e.Issue + ": " + e.Title + " (" + e.Seen + ")")
}

// Resembles lists public failures of real quorums that break a rule in the same way.
func Resembles(rule string) []Exhibit { return resembles[rule] }

var resembles = map[string][]Exhibit{
	"M1":  {{"KAFKA-10661", "a former leader, restarted as unattached, voted in the epoch that it had led", "before 3.0"}},
	"M2":  {{"KAFKA-19489", "one cluster formatted into two voter sets, each with a leader of its own", "3.9.0, 3.9.1, 4.0.0, 4.0.1, 4.1.0"}},
	"M4":  {{"KAFKA-19489", "one cluster formatted into two voter sets that share no majority", "3.9.0, 3.9.1, 4.0.0, 4.0.1, 4.1.0"}},
	"M6":  {{"KAFKA-10527", "a restarted leader that led again in its old epoch wrote other records at the same offsets", "before 3.0"}},
	"M8":  {{"KAFKA-12460", "a follower was told to truncate below its high watermark, and committed records went", "before 3.0"}},
	"M9":  {{"KAFKA-12619", "records of older epochs were declared committed too early", "before 3.0"}},
	"M10": {{"KAFKA-12619", "the high watermark passed before a record of the leader's own epoch was committed", "before 3.0"}, {"KAFKA-16530", "a leader outside the voter set counted itself, so one acknowledgement too few was enough", "before 3.9.0"}},
	"M11": {{"KAFKA-15100", "a delayed Fetch was completed on another thread, with old and new state in one answer", "3.0 to 3.5.1"}},
	"M12": {{"KAFKA-12460", "a follower came back with a shorter log than it had acknowledged", "before 3.0"}},
	"M13": {{"KAFKA-17030", "a voter that did not know of its removal stood for ever new epochs", "3.9.0"}},
	"M17": {{"KAFKA-17713", "a snapshot ended inside a batch, and who installed it could never go on", "before 4.0.0"}},
	"M18": {{"KAFKA-14205", "a voter came back on another disk under another key, while the old key still counted", "by design, all of 4.x"}},
	"M19": {{"KAFKA MINOR 23185", "a message out of shape ended the Java controller that got it", "4.0.0 to 4.3.1"}},
}
