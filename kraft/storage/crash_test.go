package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/storage"
	"github.com/understudy-kafka/understudy/kraft/storage/memfs"
	"github.com/understudy-kafka/understudy/wire"
)

var errPower = errors.New("the power is gone")

// promise is what a scenario has been told to be durable, and what may be found besides.
type promise struct {
	flushed  []byte // the log from the start, as far as it was flushed
	appended []byte // all that was ever appended behind it
	state    []string
	snapshot kraft.SnapshotID // an installed one: the log begins there
}

// scenario is a piece of a node's life that a crash may end anywhere. It returns at the first error.
type scenario struct {
	name string
	run  func(t testing.TB, l *storage.Log, p *promise) error
}

func steps(list ...func() error) error {
	for _, step := range list {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p *promise) append(l *storage.Log, b []byte) func() error {
	return func() error {
		p.appended = append(p.appended, b...)
		return l.Append(b)
	}
}

func (p *promise) flush(l *storage.Log) func() error {
	return func() error {
		err := l.Flush()
		if err == nil {
			p.flushed, p.appended = append(p.flushed, p.appended...), nil
		}
		return err
	}
}

func (p *promise) persist(l *storage.Log, epoch kraft.Epoch) func() error {
	return func() error {
		state := kraft.QuorumState{Epoch: epoch, Leader: kraft.NoNode, Voted: kraft.ReplicaKey{ID: 2, DirectoryID: kraft.DirectoryID{1}}}
		p.state = append(p.state[max(0, len(p.state)-1):], fmt.Sprint(state)) // the last one promised, and the one in progress
		err := l.Persist(state, 1, kraft.VoterSet{})
		if err == nil {
			p.state = p.state[len(p.state)-1:]
		}
		return err
	}
}

var scenarios = []scenario{
	{"append", func(_ testing.TB, l *storage.Log, p *promise) error {
		return steps(p.append(l, data(10, 2, 3, 900)), p.append(l, data(12, 1, 3, 3000)), p.flush(l), p.append(l, data(13, 1, 3, 700)), p.append(l, data(14, 1, 3, 50)), p.flush(l))
	}},
	{"roll", func(_ testing.TB, l *storage.Log, p *promise) error {
		var list []func() error
		for i := range 12 {
			list = append(list, p.append(l, data(kraft.Offset(10+i), 1, kraft.Epoch(3+i/3), 400)))
			if i%4 == 3 {
				list = append(list, p.flush(l))
			}
		}
		return steps(list...)
	}},
	{"truncate", func(_ testing.TB, l *storage.Log, p *promise) error {
		return steps(p.append(l, data(10, 2, 3, 1500)), p.append(l, data(12, 1, 3, 1500)), func() error {
			all := slices.Concat(p.flushed, p.appended)
			keep := len(p.flushed) - len(data(8, 2, 3, 10))
			p.flushed, p.appended = all[:keep:keep], all[keep:]
			err := l.TruncateTo(8)
			if err == nil { // what comes now must never be followed by what was
				p.appended = nil
			}
			return err
		}, p.append(l, data(8, 2, 4, 10)), p.append(l, data(10, 1, 4, 1500)), p.flush(l))
	}},
	{"quorum-state", func(_ testing.TB, l *storage.Log, p *promise) error {
		return steps(p.persist(l, 4), p.persist(l, 5), func() error { return l.AssignEpoch(5) }, p.persist(l, 6))
	}},
	{"snapshot", func(_ testing.TB, l *storage.Log, _ *promise) error {
		l.AdvanceHighWatermark(10)
		w, _, err := l.CreateSnapshot(kraft.SnapshotID{Offset: 8, Epoch: 2})
		if err != nil {
			return err
		}
		b := snapshotBytes(kraft.SnapshotID{Offset: 8, Epoch: 2})
		return steps(func() error { return w.Append(b[:100]) }, func() error { return w.Append(b[100:]) }, w.Freeze)
	}},
	{"clean", func(_ testing.TB, l *storage.Log, _ *promise) error {
		l.AdvanceHighWatermark(10)
		for _, id := range []kraft.SnapshotID{{Offset: 1, Epoch: 1}, {Offset: 6, Epoch: 1}, {Offset: 8, Epoch: 2}} {
			w, _, err := l.CreateSnapshot(id)
			if err != nil {
				return err
			}
			if err := steps(func() error { return w.Append(snapshotBytes(id)) }, w.Freeze); err != nil {
				return err
			}
		}
		_, err := l.Clean(1 << 50)
		return err
	}},
	{"install snapshot", func(_ testing.TB, l *storage.Log, p *promise) error {
		id := kraft.SnapshotID{Offset: 30, Epoch: 5}
		b := snapshotBytes(id)
		do := func(a kraft.Action, chunk []byte) func() error {
			return func() error { _, err := l.Execute(a, &storage.Payload{Chunk: chunk}); return err }
		}
		return steps(p.append(l, data(10, 2, 3, 1500)), do(&kraft.BeginSnapshotFetch{ID: id}, nil), do(&kraft.AppendSnapshot{ID: id, Bytes: 90}, b[:90]),
			do(&kraft.AppendSnapshot{ID: id, Position: 90, Bytes: int32(len(b) - 90)}, b[90:]), do(&kraft.InstallSnapshot{ID: id, Size: int64(len(b))}, nil),
			func() error { p.snapshot, p.flushed, p.appended = id, nil, nil; return nil },
			p.append(l, data(30, 2, 5, 900)), p.flush(l))
	}},
	{"clean end", func(_ testing.TB, l *storage.Log, p *promise) error {
		return steps(p.append(l, data(10, 2, 3, 900)), func() error {
			err := l.Close()
			if err == nil {
				p.flushed, p.appended = append(p.flushed, p.appended...), nil
			}
			return err
		})
	}},
}

// crashOptions make small segments, so that scenarios roll.
var crashOptions = storage.Options{SegmentBytes: 2000, RetentionMs: 1}

// begin is a log with something durable in it.
func begin(t testing.TB) (*memfs.FS, *storage.Log, *promise) {
	fsys := memfs.New()
	p := &promise{state: []string{""}}
	l := filled(t, fsys, crashOptions)
	p.flushed, _ = l.Read(nil, 0, 10, 1<<20)
	must(t, p.persist(l, 3)())
	return fsys, l, p
}

// crashes calls visit with what a crash leaves at every write, sync and change of a name of every scenario: nothing of what was not
// synced, and several random parts of it.
func crashes(t *testing.T, tries int, visit func(name string, after *memfs.FS, p *promise)) {
	seed := rand.Uint64()
	if *flagSeed != 0 {
		seed = *flagSeed
	}
	defer func() {
		if t.Failed() {
			t.Logf("run again with -args -seed %d", seed)
		}
	}()
	for _, sc := range scenarios {
		points := 0
		for at := 0; ; at++ {
			fsys, l, p := begin(t)
			n := 0
			torn := rand.New(rand.NewPCG(seed, uint64(at)))
			fsys.Before = func(op memfs.Op) (int, error) {
				if n++; n <= at {
					return 0, nil
				}
				if n == at+1 && op.Size > 0 {
					return torn.IntN(op.Size + 1), errPower
				}
				return 0, errPower
			}
			err := sc.run(t, l, p)
			if err != nil && !errors.Is(err, errPower) {
				t.Fatalf("%s, operation %d: %v", sc.name, at, err)
			}
			for i := range tries {
				var r memfs.Dice
				if i > 0 {
					r = rand.New(rand.NewPCG(seed, uint64(at*1000+i)))
				}
				visit(fmt.Sprintf("%s, crash at operation %d, try %d", sc.name, at, i), fsys.Crash(r), p)
				if t.Failed() {
					return
				}
			}
			if points++; err == nil {
				break
			}
		}
		t.Logf("%s: %d points of crash", sc.name, points)
	}
}

func TestLog_KeepsItsPromisesWhereverItCrashes(t *testing.T) {
	tries := 12
	if testing.Short() {
		tries = 4
	}
	crashes(t, tries, func(name string, after *memfs.FS, p *promise) {
		l, err := storage.Open(after, logDir, crashOptions)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if why := p.check(l); why != "" {
			t.Errorf("%s: %s\n%v", name, why, l.View())
		}
		if why := engineStarts(l); why != "" {
			t.Errorf("%s: %s\n%v", name, why, l.View())
		}
		again, err := storage.Open(after.Crash(nil), logDir, crashOptions)
		if err != nil || !again.Equal(l.View()) {
			t.Errorf("%s: opened once more: %v %v", name, again, err)
		}
		if err := errors.Join(l.Append(data(l.End, 1, 9, 10)), l.Flush(), l.Close()); err != nil {
			t.Errorf("%s: cannot go on: %v", name, err)
		}
	})
}

// engineStarts lets the machine start on what was found: it must take it, and know the latest epoch of state and log.
func engineStarts(l *storage.Log) string {
	history, err := l.History()
	if err != nil {
		return err.Error()
	}
	cfg := kraft.Config{
		ID: 3, DirectoryID: kraft.DirectoryID{15: 3}, ClusterID: "C", Timeouts: kraft.DefaultTimeouts(), Listener: "CONTROLLER", CanBecomeVoter: true,
		BootstrapServers: []kraft.Address{{Host: "h", Port: 9093}}, KRaftVersions: kraft.VersionRange{Max: 1}, History: history,
	}
	s, ok := l.Stored()
	cfg.Stored, cfg.HasStored = s.QuorumState, ok
	m, err := kraft.New(cfg)
	if err != nil {
		return err.Error()
	}
	var actions kraft.Actions
	for _, a := range m.OnEvent(&kraft.Start{}, l.View(), kraft.Clock{}, &actions) {
		if fatal, is := a.(*kraft.Fatal); is {
			return fatal.String()
		}
	}
	last, _ := l.LastEpoch()
	if epoch := m.QuorumState().Epoch; epoch != max(last, s.Epoch) {
		return fmt.Sprintf("the machine starts in epoch %d, the state says %d, the log ends in %d", epoch, s.Epoch, last)
	}
	return ""
}

// check compares what was found with what was promised.
func (p *promise) check(l *storage.Log) string {
	s, ok := l.Stored()
	if got := fmt.Sprint(s.QuorumState); !ok || !slices.Contains(p.state, got) {
		return fmt.Sprintf("the election state is %s, want one of %q", got, p.state)
	}
	got, err := l.Read(nil, l.Start, l.End, 1<<30)
	if err != nil {
		return err.Error()
	}
	flushed, want := p.flushed, slices.Concat(p.flushed, p.appended)
	if l.Start == 30 {
		if p.snapshot.Offset == 0 {
			flushed, want = nil, nil // installed, though nobody was told
		}
	} else if p.snapshot.Offset > 0 {
		return "the installed snapshot is lost"
	}
	if l.Start > 0 && l.Start < 30 {
		at := bytes.Index(want, got[:min(len(got), 20)])
		if at < 0 {
			return "the log begins with something else"
		}
		want = want[at:]
		if len(got) < len(flushed)-at {
			return fmt.Sprintf("%d bytes, %d were flushed", len(got), len(flushed)-at)
		}
	} else if len(got) < len(flushed) {
		return fmt.Sprintf("%d bytes, %d were flushed", len(got), len(flushed))
	}
	if !bytes.HasPrefix(want, got) {
		return "the log holds what was never appended, or in another order"
	}
	if _, fault, _ := wire.KRaftBatches(nil, got); fault != kraft.RecordsFine {
		return "a batch is corrupt"
	}
	for _, snapshot := range l.Snapshots {
		b, err := l.ReadSnapshot(snapshot.ID, 0, 1<<20)
		if err != nil || !bytes.Equal(b, snapshotBytes(snapshot.ID)) {
			return fmt.Sprintf("snapshot %v has %d bytes, %v", snapshot.ID, len(b), err)
		}
	}
	return ""
}

// A broken twin of the file system, on which a sync does nothing, must be found out.
func TestLog_ASyncThatDoesNothingIsFoundOut(t *testing.T) {
	_, l, p := begin(t)
	must(t, p.append(l, data(10, 2, 3, 900))())
	lost := *p
	lost.flushed, lost.appended = slices.Concat(p.flushed, p.appended), nil // as if Flush had been called and done nothing
	fsys, l2, _ := begin(t)
	must(t, l2.Append(data(10, 2, 3, 900)))
	after := fsys.Crash(nil)
	if why := lost.check(open(t, after, crashOptions)); !strings.Contains(why, "were flushed") {
		t.Errorf("not found: %q", why)
	}
	after = fsys.Crash(nil)
	name := path.Join(logDir, storage.QuorumStateFile)
	after.Put(name, storage.AppendQuorumState(nil, storage.StoredState{DataVersion: 1, QuorumState: kraft.QuorumState{Epoch: 1, Leader: -1, Voted: kraft.NoReplica}}))
	if why := p.check(open(t, after, crashOptions)); !strings.Contains(why, "election state") {
		t.Errorf("not found: %q", why)
	}
}

// A machine that ends at its start must be found out: its own vote is in the file, and the voters in the log do not have it.
func TestLog_AMachineThatCannotStartIsFoundOut(t *testing.T) {
	l := open(t, memory(), storage.Options{})
	must(t, l.Append(voters(t, 0, 1, 2)), l.Flush())
	if why := engineStarts(l); why != "" {
		t.Error(why)
	}
	voted := kraft.ReplicaKey{ID: 3, DirectoryID: kraft.DirectoryID{15: 3}}
	must(t, l.Persist(kraft.QuorumState{Epoch: 1, Leader: kraft.NoNode, Voted: voted}, 1, kraft.VoterSet{}))
	if why := engineStarts(l); why == "" {
		t.Error("not found")
	}
}
