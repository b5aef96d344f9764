package oracle_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/compat/oracle"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/interact"
	"github.com/understudy-kafka/understudy/wire"
)

// goldenPlayer plays a node of a conversation with the real client, beside which a twin of ours runs. What it tells comes from
// Kafka alone.
type goldenPlayer struct {
	steps    oracle.Stepper
	profile  compat.Profile
	setup    interact.Setup
	name     string
	corr     int32
	requests map[int32]*interact.Packet // that the node has not answered
	state    *oracle.State
	decoder  wire.Decoder
}

func goldenPlayers(s oracle.Stepper) interact.NewPlayer {
	return func(p compat.Profile, setup interact.Setup) (interact.Player, error) {
		return &goldenPlayer{
			steps: s, profile: p, setup: setup, name: oracle.Name(int32(setup.ID)), requests: map[int32]*interact.Packet{}, state: &oracle.State{},
		}, nil
	}
}

// unbraced makes room for the braces around what the machine and Kafka say in words of their own.
var unbraced = strings.NewReplacer("{", "(", "}", ")")

func (g *goldenPlayer) Do(s interact.Step) (interact.Outcome, error) {
	c := oracle.Command{
		Cmd: "poll", Node: g.name, Now: int64(s.Now), Poll: s.Turns, Expire: s.Expire, State: true, Epoch: int32(s.Epoch), Random: g.random(s.Draws),
	}
	if err := g.command(&s, &c); err != nil {
		return interact.Outcome{}, err
	}
	a, err := g.steps.Do(c)
	if err != nil {
		return interact.Outcome{}, err
	}
	if a.State != nil {
		g.state = a.State
	}
	out := interact.Outcome{Fatal: unbraced.Replace(a.Fatal), Finished: a.Finished}
	if len(a.Waits) > 0 {
		out.Wait = a.Waits[len(a.Waits)-1]
	}
	say := func(format string, args ...any) {
		out.Effects = append(out.Effects, interact.Effect{Text: fmt.Sprintf(format, args...)})
	}
	switch s.Kind {
	case interact.AppendStep, interact.ScheduleStep, interact.ResignStep, interact.UpgradeStep:
		if a.Error != "" {
			say("refuses: {%s}", unbraced.Replace(a.Error))
		} else if s.Kind == interact.AppendStep && a.Offset > 0 {
			say("reserves offsets up to %d", a.Offset)
		}
	case interact.SnapshotStep:
		if !a.Created {
			say("makes no snapshot")
		}
	case interact.CleanStep:
		if a.Deleted {
			say("log begins at %d now", s.ID.Offset)
		}
	default:
	}
	batches, err := g.batches(a)
	if err != nil {
		return out, err
	}
	for i := range a.Effects {
		list, err := g.effect(a, &a.Effects[i], batches)
		if err != nil {
			return out, err
		}
		out.Effects = append(out.Effects, list...)
	}
	return out, nil
}

func (g *goldenPlayer) command(s *interact.Step, c *oracle.Command) error {
	switch s.Kind {
	case interact.TurnStep:
	case interact.StartStep:
		in := g.init()
		c.Cmd, c.Init, c.Random, c.MaxVersions = "init", &in, g.random(g.setup.Draws), map[int16]int16{}
		for api, v := range g.setup.Limits {
			c.MaxVersions[int16(api)] = v
		}
	case interact.RequestStep:
		body, err := goldenBody(s.Packet)
		if err != nil {
			return err
		}
		g.corr++
		g.requests[g.corr] = s.Packet
		c.Cmd, c.Corr, c.API, c.Version, c.Body = "request", g.corr, int16(s.Packet.API), s.Packet.Version, body
		c.Listener = arrival(s.Packet.Content)
	case interact.ResponseStep:
		c.Cmd, c.Corr, c.Version = "response", int32(s.Packet.Number), s.Packet.Version
		if s.Failure != kraft.None {
			c.Error = map[kraft.ErrorCode]string{kraft.BrokerNotAvailable: "disconnect", kraft.NetworkException: "auth", kraft.UnsupportedVersion: "unsupported"}[s.Failure]
			return nil
		}
		body, err := goldenBody(s.Packet)
		c.Body = body
		return err
	case interact.AppendStep:
		c.Cmd, c.Records, c.NoSchedule = "append", goldenRecords(s.Records), s.Hold
	case interact.ScheduleStep:
		c.Cmd = "schedule"
	case interact.SnapshotStep:
		c.Cmd, c.Offset, c.Epoch, c.Records = "snapshot", int64(s.ID.Offset), int32(s.ID.Epoch), goldenRecords(s.Records)
	case interact.CleanStep:
		c.Cmd, c.Offset, c.Epoch = "deleteBefore", int64(s.ID.Offset), int32(s.ID.Epoch)
	case interact.ResignStep:
		c.Cmd = "resign"
	case interact.ShutdownStep:
		c.Cmd, c.Ms = "shutdown", int64(s.Ms)
	case interact.UpgradeStep:
		c.Cmd, c.Level, c.ValidateOnly = "upgrade", s.Level, s.ValidateOnly
	case interact.RestartStep:
		c.Cmd, c.LoseUnflushed = "restart", s.LoseUnflushed
		g.requests = map[int32]*interact.Packet{}
	}
	return nil
}

func goldenRecords(count int) [][]byte {
	var list [][]byte
	for i := range count {
		list = append(list, fmt.Appendf(nil, "record-%d", i%10)[:interact.RecordBytes])
	}
	return list
}

// random are draws by the bounds that Kafka gives them.
func (g *goldenPlayer) random(draws []interact.Draw) map[string][]int32 {
	m := map[string][]int32{}
	for _, d := range draws {
		bounds := fmt.Sprintf("0:%d", g.setup.Timeouts.ElectionMs)
		switch d.Kind {
		case interact.ElectionDraw:
		case interact.BootstrapDraw:
			bounds = fmt.Sprintf("0:%d", g.servers())
		case interact.BackoffDraw:
			low, high := g.profile.Rules.ElectionBackoff.Bounds(d.Retries)
			bounds = fmt.Sprintf("%d:%d", low, high)
		case interact.JitterDraw:
			bounds = "0:50"
		}
		m[bounds] = append(m[bounds], d.Value)
	}
	return m
}

func (g *goldenPlayer) servers() int {
	if len(g.setup.Bootstrap) > 0 {
		return len(g.setup.Bootstrap)
	}
	return len(g.setup.Voters)
}

func (g *goldenPlayer) init() oracle.Init {
	s := &g.setup
	var voters []int32
	for _, id := range s.Voters {
		voters = append(voters, int32(id))
	}
	in := oracle.NewInit(int32(s.ID), int(s.KRaft), voters...)
	in.Seed, in.Dir, in.Endpoints, in.BootstrapServers = nil, s.Directory.String(), map[string]string{}, nil
	for i := range s.Endpoints.Len() {
		e := s.Endpoints.At(i)
		in.Endpoints[e.Name] = e.String()
	}
	for _, id := range s.Bootstrap {
		in.BootstrapServers = append(in.BootstrapServers, oracle.Host(int32(id)))
	}
	in.CannotBecome, in.MaxKRaft = s.Broker, &s.MaxKRaft
	in.Config = map[string]any{
		"controller.quorum.election.timeout.ms": int64(s.Timeouts.ElectionMs), "controller.quorum.fetch.timeout.ms": int64(s.Timeouts.FetchMs),
		"controller.quorum.election.backoff.max.ms": int64(s.Timeouts.ElectionBackoffMaxMs), "controller.quorum.request.timeout.ms": int64(s.Timeouts.RequestMs),
		"controller.quorum.retry.backoff.ms": int64(s.Timeouts.RetryBackoffMs), "controller.quorum.append.linger.ms": int64(s.Timeouts.AppendLingerMs),
		"controller.quorum.fetch.max.bytes": int64(s.FetchMaxBytes), "controller.quorum.fetch.snapshot.max.bytes": int64(s.FetchSnapshotMaxBytes),
	}
	if s.AutoJoin {
		in.Config["controller.quorum.auto.join.enable"] = true
	}
	if q := s.Stored; q != nil {
		in.Stored = &oracle.StoredState{Epoch: int32(q.Epoch), Leader: int32(q.Leader), Voted: int32(q.Voted.ID), Version: s.KRaft}
		if s.KRaft > 0 && q.Voted.ID >= 0 && !q.Voted.DirectoryID.IsZero() {
			in.Stored.VotedDir = q.Voted.DirectoryID.String()
		}
	}
	for _, b := range s.Log {
		in.Log = wire.AppendDataBatch(in.Log, b.Base, b.Epoch, 0, goldenRecords(int(b.Last-b.Base+1))...)
	}
	return in
}

// batches are what the log has at the places where the answer appended something.
func (g *goldenPlayer) batches(a *oracle.Answer) (map[kraft.Offset]kraft.Batch, error) {
	from := int64(-1)
	for i := range a.Effects {
		if e := &a.Effects[i]; e.Kind == "append" && (from < 0 || e.Int(1) < from) {
			from = e.Int(1)
		}
	}
	if from < 0 {
		return nil, nil
	}
	log, err := g.steps.Do(oracle.Command{Cmd: "log", Node: g.name, From: from})
	if err != nil {
		return nil, err
	}
	list, _, _ := wire.KRaftBatches(nil, log.Bytes)
	m := map[kraft.Offset]kraft.Batch{}
	for _, b := range list {
		m[b.Base] = b
	}
	return m, nil
}

func (g *goldenPlayer) effect(a *oracle.Answer, e *oracle.Effect, batches map[kraft.Offset]kraft.Batch) ([]interact.Effect, error) {
	text := ""
	switch e.Kind {
	case "send":
		p, err := g.sent(e)
		return []interact.Effect{{Packet: p}}, err
	case "reply":
		p, err := g.replied(e)
		return []interact.Effect{{Packet: p}}, err
	case "append":
		return appendEffects(e, batches), nil
	case "draw":
		text = g.drew(a, e)
	case "persist":
		s, _ := e.Args[0].([]any)
		f := oracle.Effect{Args: s}
		text = interact.Persists(kraft.Epoch(f.Int(0)), kraft.NodeID(f.Int(1)), kraft.NodeID(f.Int(2)))
	case "epoch":
		text = fmt.Sprintf("notes that epoch %d starts at %d", e.Int(0), e.Int(1))
	case "flush":
		text = fmt.Sprintf("flushes up to %d", e.Int(0))
	case "hw":
		text = fmt.Sprintf("high watermark %d", e.Int(0))
	case "truncate":
		text = fmt.Sprintf("truncates to %d", e.Int(0))
	case "truncateToSnapshot":
		text = fmt.Sprintf("begins the log anew at %d", e.Int(0))
	case "freeze":
		text = fmt.Sprintf("freezes snapshot %d@%d of %d bytes", e.Int(0), e.Int(1), e.Int(2))
	case "shutdown":
		text = interact.ShutDown(e.Text(0) == "ok")
	}
	if text == "" {
		return nil, nil
	}
	return []interact.Effect{{Text: text}}, nil
}

func appendEffects(e *oracle.Effect, batches map[kraft.Offset]kraft.Batch) []interact.Effect {
	var out []interact.Effect
	list, _ := e.Args[3].([]any)
	for i, raw := range list {
		fields, _ := raw.([]any)
		f := oracle.Effect{Args: fields}
		b := kraft.Batch{Base: kraft.Offset(f.Int(0)), Epoch: kraft.Epoch(f.Int(1)), Last: kraft.Offset(e.Int(2))}
		if i+1 < len(list) {
			next, _ := list[i+1].([]any)
			b.Last = kraft.Offset((&oracle.Effect{Args: next}).Int(0)) - 1
		}
		if whole, ok := batches[b.Base]; ok && whole.Epoch == b.Epoch {
			b = whole
		}
		out = append(out, interact.Effect{Text: "appends " + interact.Batch(b)})
	}
	return out
}

// drew tells a draw that a conversation counts: of an election timer or of a losing candidate's backoff.
func (g *goldenPlayer) drew(a *oracle.Answer, e *oracle.Effect) string {
	rule := g.profile.Rules.ElectionBackoff
	limit := g.setup.Timeouts.ElectionBackoffMaxMs
	switch {
	case e.Text(0) == fmt.Sprintf("0:%d", g.setup.Timeouts.ElectionMs):
		return fmt.Sprintf(interact.Drew, e.Int(1), "election")
	case rule == kraft.BackoffFrom100 && a.State != nil && a.State.Role == "Candidate":
		return fmt.Sprintf(interact.Drew, rule.Milliseconds(int32(e.Int(1)), 0, limit), "backoff")
	case rule == kraft.BackoffFrom50 && strings.HasPrefix(e.Text(0), "1:"):
		second := int32(0)
		for i := range a.Effects {
			if a.Effects[i].Kind == "draw" && a.Effects[i].Text(0) == "0:50" {
				second = int32(a.Effects[i].Int(1))
			}
		}
		return fmt.Sprintf(interact.Drew, rule.Milliseconds(int32(e.Int(1)), second, limit), "backoff")
	}
	return ""
}

func (g *goldenPlayer) sent(e *oracle.Effect) (*interact.Packet, error) {
	p := &interact.Packet{
		From: g.setup.ID, To: kraft.NodeID(oracle.NodeOf(e.Text(2))), API: kraft.APIKey(e.Int(3)), Version: int16(e.Int(4)), Number: e.Int(0),
		Record: kraft.NodeID(e.Int(1)), Bytes: e.Body(5),
	}
	switch {
	case p.Bytes == nil:
	case p.API == kraft.APIVersionsAPI:
		p.Content = interact.APIVersions{}
	default:
		ev, err := g.decoder.KRaftRequest(int16(p.API), p.Version, p.Bytes, kraft.Request{Listener: interact.Channel})
		p.Content = ev
		return p, err
	}
	return p, nil
}

func (g *goldenPlayer) replied(e *oracle.Effect) (*interact.Packet, error) {
	number := int32(e.Int(0))
	q := g.requests[number]
	if q == nil {
		return nil, fmt.Errorf("answer to request %d, which was not asked", number)
	}
	delete(g.requests, number)
	p := &interact.Packet{
		From: g.setup.ID, To: q.From, API: q.API, Version: q.Version, Number: q.Number, Record: q.Record, Answer: true, Request: q, Bytes: e.Body(3),
	}
	if p.Bytes == nil { // the server answers with the error alone
		p.Bytes = oracle.ErrorBody(int16(p.API), p.Version, kraft.UnknownServerError)
		p.Text = interact.UnencodableSnapshot("")
	}
	content, err := goldenAnswer(&g.decoder, p)
	p.Content = content
	return p, err
}

func (g *goldenPlayer) View() interact.View { return goldenView(g.state) }

func goldenView(s *oracle.State) interact.View {
	v := interact.View{
		Role: s.Role, Epoch: kraft.Epoch(s.Epoch), Leader: kraft.NodeID(s.Leader), Voted: goldenKey(s.Voted).ID, HighWatermark: kraft.Offset(s.HighWatermark),
		Start: kraft.Offset(s.Start), End: kraft.Offset(s.End), LastEpoch: kraft.Epoch(s.LastEpoch), KRaftVersion: s.KRaft, Parked: s.Parked,
		Stored: goldenStored(s.Stored[:]),
	}
	for _, e := range s.Epochs {
		v.Epochs = append(v.Epochs, kraft.EpochStart{Epoch: kraft.Epoch(e[0]), Start: kraft.Offset(e[1])})
	}
	for _, x := range s.Snapshots {
		v.Snapshots = append(v.Snapshots, kraft.SnapshotID{Offset: kraft.Offset(x[0]), Epoch: kraft.Epoch(x[1])})
	}
	var voters []kraft.Voter
	for _, x := range s.Voters {
		voters = append(voters, kraft.Voter{Key: goldenKey(x.Key), Endpoints: goldenEndpoints(x.Endpoints)})
	}
	v.Voters = interact.Voters(kraft.NewVoterSet(voters...))
	for _, name := range []string{"election", "backoff", "fetch", "updateVoter", "checkQuorum", "beginEpoch", "linger"} {
		if at, ok := s.Timers[name]; ok {
			shown := map[string]string{"updateVoter": "update-voter", "checkQuorum": "check-quorum", "beginEpoch": "begin-quorum-epoch"}[name]
			if shown == "" {
				shown = name
			}
			v.Timers = append(v.Timers, interact.Timer{Name: shown, At: kraft.Instant(at)})
		}
	}
	for id, state := range s.Tally {
		v.Tally = append(v.Tally, "n"+id+" "+strings.ToLower(state))
	}
	slices.Sort(v.Tally)
	v.Progress = append(goldenProgress(s.Replicas, interact.Known), goldenProgress(s.Observers, interact.Key)...)
	for _, c := range s.Conns {
		switch c.State {
		case "AWAITING_RESPONSE":
			v.Connections = append(v.Connections, fmt.Sprintf("%d awaits an answer", c.ID))
		case "BACKING_OFF":
			v.Connections = append(v.Connections, fmt.Sprintf("%d backs off", c.ID))
		}
	}
	slices.Sort(v.Connections)
	if f := s.FetchingSnapshot; f != nil {
		v.Fetching = fmt.Sprintf("%d@%d, %d bytes held", f[0], f[1], f[2])
	}
	if s.Role == "Resigned" {
		var keys []kraft.ReplicaKey
		for _, k := range s.Successors {
			keys = append(keys, goldenKey(k))
		}
		v.Successors = interact.Successors(keys)
	}
	if s.Role == "Follower" || s.Role == "Prospective" {
		v.Endpoints = goldenEndpoints(s.LeaderEndpoints).Len()
	}
	return v
}

func goldenProgress(list []oracle.ReplicaState, name func(kraft.ReplicaKey) string) []string {
	var out []string
	slices.SortFunc(list, func(a, b oracle.ReplicaState) int { return strings.Compare(a.Key, b.Key) })
	for _, r := range list {
		out = append(out, interact.Progress(name(goldenKey(r.Key)), kraft.Offset(r.End), kraft.Instant(r.LastFetch), kraft.Instant(r.CaughtUp)))
	}
	return out
}

func goldenStored(s []any) string {
	number := func(v any) int64 {
		switch v := v.(type) {
		case float64:
			return int64(v)
		case int64:
			return v
		}
		return -1
	}
	if s[0] == nil {
		return "nothing"
	}
	q := &kraft.QuorumState{Epoch: kraft.Epoch(number(s[0])), Leader: kraft.NodeID(number(s[1])), Voted: kraft.ReplicaKey{ID: kraft.NodeID(number(s[2]))}}
	if text, ok := s[3].(string); ok {
		q.Voted.DirectoryID, _ = kraft.ParseDirectoryID(text)
	}
	return interact.Stored(q, int16(number(s[4])))
}

func goldenKey(text string) kraft.ReplicaKey {
	id, dir, _ := strings.Cut(text, "/")
	k := kraft.NoReplica
	if n, err := parseInt(id); err == nil {
		k.ID = kraft.NodeID(n)
	}
	if raw, err := base64.RawURLEncoding.DecodeString(dir); err == nil && len(raw) == 16 {
		k.DirectoryID = kraft.DirectoryID(raw)
	}
	return k
}

// goldenEndpoints reads "{CONTROLLER=h1:9093, SECOND=h1:9094}".
func goldenEndpoints(text string) kraft.Endpoints {
	var list []kraft.Endpoint
	for _, part := range strings.Split(strings.Trim(text, "{}"), ", ") {
		name, at, ok := strings.Cut(part, "=")
		host, port, _ := strings.Cut(at, ":")
		if n, err := parseInt(port); ok && err == nil {
			list = append(list, kraft.Endpoint{Name: name, Address: kraft.Address{Host: host, Port: uint16(n)}})
		}
	}
	return kraft.NewEndpoints(list...)
}
