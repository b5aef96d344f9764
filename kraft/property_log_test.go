package kraft

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// record is one record of a naive log, which knows the epoch of each.
type naiveLog []Epoch

// drawLog draws a log and the view of it. Its epochs do not fall.
func drawLog(t *rapid.T, name string) (naiveLog, *LogView) {
	var log naiveLog
	view := &LogView{}
	epoch := Epoch(0)
	for range rapid.IntRange(0, 6).Draw(t, name+" batches") {
		epoch += Epoch(rapid.IntRange(0, 2).Draw(t, name+" epoch"))
		n := rapid.IntRange(1, 3).Draw(t, name+" records")
		view.Append(view.End, view.End+Offset(n)-1, epoch)
		for range n {
			log = append(log, epoch)
		}
	}
	return log, view
}

// lastNotAbove is the greatest epoch of the log up to the given one, and where its records end.
func (l naiveLog) lastNotAbove(epoch Epoch) (Epoch, Offset, bool) {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i] <= epoch {
			return l[i], Offset(i + 1), true
		}
	}
	return 0, 0, false
}

func TestLogView_EndOffsetForEpochEqualsCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log, view := drawLog(t, "log")
		asked := Epoch(rapid.IntRange(0, 14).Draw(t, "epoch"))
		got := view.EndOffsetForEpoch(asked)
		want := OffsetAndEpoch{Offset: view.End}
		switch epoch, end, ok := log.lastNotAbove(asked); {
		case len(log) == 0:
		case asked > log[len(log)-1]: // Kafka answers with the log end
			want.Epoch = log[len(log)-1]
		case ok:
			want = OffsetAndEpoch{Offset: end, Epoch: epoch}
		default: // older than all: the start of the first, under the name asked for
			want = OffsetAndEpoch{Offset: 0, Epoch: asked}
		}
		if got != want {
			t.Fatalf("epoch %d of %v ends at %v, want %v", asked, log, got, want)
		}
	})
}

// A position is valid if and only if the log up to it could be the asker's: it ends with that epoch.
func TestLogView_ValidateEqualsComparingTheRecordBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log, view := drawLog(t, "log")
		offset := Offset(rapid.IntRange(0, len(log)+3).Draw(t, "offset"))
		epoch := Epoch(rapid.IntRange(0, 14).Draw(t, "epoch"))
		position, at := view.Validate(offset, epoch)
		has := slices.Contains(log, epoch)
		_, end, _ := log.lastNotAbove(epoch)
		valid := offset == 0 || has && offset <= end
		if len(log) == 0 {
			valid = offset == 0 || epoch == 0 && offset <= view.End
		}
		if (position == ValidPosition) != valid {
			t.Fatalf("%d@%d in %v: %v", offset, epoch, log, position)
		}
		if position == DivergingPosition && (at.Epoch > epoch || at.Offset > view.End) {
			t.Fatalf("%d@%d in %v diverges at %v", offset, epoch, log, at)
		}
	})
}

// However two logs differ, truncating where the leader says until the position is valid ends with a prefix of the leader's log, and never
// cuts below what both have in common.
func TestLogView_TruncationReachesTheCommonPrefix(t *testing.T) {
	rapid.Check(t, truncationReachesThePrefix)
}

func FuzzTruncation(f *testing.F) { f.Fuzz(rapid.MakeFuzz(truncationReachesThePrefix)) }

func truncationReachesThePrefix(t *rapid.T) {
	// Two logs as a quorum can have them: a common past, then epochs that only one of the two has seen.
	common, leader := drawLog(t, "common")
	follower := *leader
	mine, theirs := slices.Clone(common), slices.Clone(common)
	epoch := Epoch(1)
	if n := len(common); n > 0 {
		epoch = common[n-1] + 1
	}
	for range rapid.IntRange(0, 5).Draw(t, "epochs") {
		n := rapid.IntRange(1, 3).Draw(t, "records")
		if rapid.Bool().Draw(t, "leader's") {
			leader.Append(leader.End, leader.End+Offset(n)-1, epoch)
			theirs = append(theirs, slices.Repeat(naiveLog{epoch}, n)...)
		} else {
			follower.Append(follower.End, follower.End+Offset(n)-1, epoch)
			mine = append(mine, slices.Repeat(naiveLog{epoch}, n)...)
		}
		epoch++
	}
	for rounds := 0; ; rounds++ {
		last, _ := follower.LastEpoch()
		position, at := leader.Validate(follower.End, last)
		if position == ValidPosition {
			break
		}
		if rounds > 20 {
			t.Fatalf("%v does not get to %v", mine, theirs)
		}
		to := follower.TruncationPoint(at)
		follower.TruncateTo(to)
		mine = mine[:min(int(to), len(mine))]
	}
	if len(mine) < len(common) || !slices.Equal(mine, theirs[:len(mine)]) {
		t.Fatalf("the follower ends with %v, the leader has %v, common is %v", mine, theirs, common)
	}
	if int(follower.End) != len(mine) {
		t.Fatalf("the view ends at %d, want %d", follower.End, len(mine))
	}
}

// The view of a log is what its records say, whatever is appended and truncated.
func TestLogView_EqualsRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log, view := drawLog(t, "log")
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			to := Offset(rapid.IntRange(0, len(log)+1).Draw(t, "to"))
			view.TruncateTo(to)
			log = log[:min(int(to), len(log))]
			epoch := Epoch(0)
			if n := len(log); n > 0 {
				epoch = log[n-1]
			}
			if got, ok := view.LastEpoch(); view.End != Offset(len(log)) || !ok || got != epoch {
				t.Fatalf("%v, want %v", view, log)
			}
			epoch += Epoch(rapid.IntRange(0, 1).Draw(t, "next"))
			view.Append(view.End, view.End, epoch)
			log = append(log, epoch)
			if got := view.EndOffset(); got != (LogEnd{epoch, Offset(len(log))}) {
				t.Fatalf("%v, want %d@%d", got, len(log), epoch)
			}
		}
	})
}

// Logs are compared by their last record: whose epoch is newer wins, then who is longer.
func TestLogEnd_OrderIsThatOfTheRaftPaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := func(name string) LogEnd {
			return LogEnd{Epoch(rapid.IntRange(-1, 3).Draw(t, name)), Offset(rapid.IntRange(-1, 3).Draw(t, name))}
		}
		a, b, c := end("a"), end("b"), end("c")
		newer := a.LastEpoch > b.LastEpoch || a.LastEpoch == b.LastEpoch && a.LastOffset > b.LastOffset
		if (a.Compare(b) > 0) != newer || (a.Compare(b) == 0) != (a == b) || a.Compare(b) != -b.Compare(a) {
			t.Fatalf("%v and %v: %d", a, b, a.Compare(b))
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			t.Fatalf("%v, %v, %v: no order", a, b, c)
		}
	})
}

// Replica keys are in one order, which is that of the ids.
func TestCompareKeys_IsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := func(name string) ReplicaKey {
			k := ReplicaKey{ID: NodeID(rapid.IntRange(0, 2).Draw(t, name))}
			copy(k.DirectoryID[:], rapid.SliceOfN(rapid.ByteRange(0x7e, 0x81), 0, 16).Draw(t, name))
			return k
		}
		a, b, c := key("a"), key("b"), key("c")
		if compareKeys(a, b) != -compareKeys(b, a) || (compareKeys(a, b) == 0) != (a == b) {
			t.Fatalf("%v and %v: %d", a, b, compareKeys(a, b))
		}
		if a.ID != b.ID && compareKeys(a, b) != cmp.Compare(a.ID, b.ID) {
			t.Fatalf("%v and %v are not in order of their ids", a, b)
		}
		if compareKeys(a, b) <= 0 && compareKeys(b, c) <= 0 && compareKeys(a, c) > 0 {
			t.Fatalf("%v, %v, %v: no order", a, b, c)
		}
	})
}

func TestDirectoryID_TextComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d DirectoryID
		copy(d[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "directory"))
		if got, err := ParseDirectoryID(d.String()); err != nil || got != d {
			t.Fatalf("%v, %v, want %v", got, err, d)
		}
		text := rapid.StringN(0, 30, -1).Draw(t, "text")
		if got, err := ParseDirectoryID(text); err == nil && got.String() != text {
			t.Fatalf("%q is read as %v", text, got)
		}
	})
}
