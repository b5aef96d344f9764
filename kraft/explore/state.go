package explore

import (
	"slices"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/kraft/safety"
)

// state is the whole quorum at a moment: which node is in which local state, which packets are on their way, what is left of the budget,
// and what has happened that must stay true (who led which epoch, what was committed).
type state struct {
	nodes   [maxNodes]uint32
	commit  uint32
	leaders uint32 // four bits per epoch: the node + 1
	budget  uint64 // four bits each
	packets []uint32
}

func (s *state) copyFrom(o *state) {
	packets := append(s.packets[:0], o.packets...)
	*s = *o
	s.packets = packets
}

// pack appends the state to a list of numbers, unpack reads it back and returns the rest.
func (s *state) pack(list []uint32, nodes int) []uint32 {
	list = append(list, uint32(len(s.packets)), s.commit, s.leaders, uint32(s.budget), uint32(s.budget>>32))
	list = append(list, s.nodes[:nodes]...)
	return append(list, s.packets...)
}

func (s *state) unpack(list []uint32, nodes int) []uint32 {
	n := int(list[0])
	s.commit, s.leaders, s.budget = list[1], list[2], uint64(list[3])|uint64(list[4])<<32
	copy(s.nodes[:], list[5:5+nodes])
	s.packets = append(s.packets[:0], list[5+nodes:5+nodes+n]...)
	return list[5+nodes+n:]
}

func (s *state) has(budget int8) bool { return budget == free || s.budget>>(4*budget)&15 > 0 }

func (s *state) pay(budget int8) {
	if budget != free {
		s.budget -= 1 << (4 * budget)
	}
}

func (s *state) leader(epoch kraft.Epoch) uint32 { return s.leaders >> (4 * epoch) & 15 }

func (s *state) add(id uint32) {
	i, _ := slices.BinarySearch(s.packets, id)
	s.packets = slices.Insert(s.packets, i, id)
}

// sum is the canonical sum of a state: the smallest one that any renaming of its nodes has. images counts the different ones.
func (x *explorer) sum(s *state) (least uint64, images int) {
	k := len(x.names)
	var totals [24]uint64
	base := mix(s.budget + 1)
	for p := range k {
		totals[p] = base + x.commitSums[int(s.commit)*k+p]
		if s.leaders != 0 {
			totals[p] += mix(x.renameLeaders(s.leaders, p) + 1<<40)
		}
	}
	for _, n := range s.nodes[:x.model.Nodes] {
		row := x.localSums[int(n)*k : int(n)*k+k]
		for p, v := range row {
			totals[p] += v
		}
	}
	for _, n := range s.packets {
		row := x.packetSums[int(n)*k : int(n)*k+k]
		for p, v := range row {
			totals[p] += v
		}
	}
	least = mix(totals[0])
	for p := 1; p < k; p++ {
		least = min(least, mix(totals[p]))
	}
	if x.countImages {
		all := totals[:k]
		slices.Sort(all)
		images = len(slices.Compact(all))
	}
	return least, images
}

func (x *explorer) renameLeaders(leaders uint32, p int) uint64 {
	var out uint32
	for shift := 0; leaders>>shift != 0; shift += 4 {
		if n := leaders >> shift & 15; n != 0 {
			out |= uint32(x.permutations[p][n-1]+1) << shift
		}
	}
	return uint64(out)
}

// verdict is what follows for what is committed when a node's log has changed.
type verdict struct {
	commit uint32
	broken *safety.Violation
}

// judge holds a node's log against what is committed: up to its high watermark the two must agree, and the longer one counts from then on.
func (x *explorer) judge(commit uint32, l *local) verdict {
	key := uint64(commit)<<36 | uint64(l.epoch)<<32 | uint64(l.logID)
	if v, ok := x.judged[key]; ok {
		return v
	}
	v := x.compare(commit, l)
	x.judged[key] = v
	return v
}

func (x *explorer) compare(commit uint32, l *local) verdict {
	log, known := l.log, x.commits[commit]
	v := verdict{commit: commit}
	if id, ok := log.LatestSnapshot(); ok && id.Offset > 0 {
		i := slices.IndexFunc(known, func(b committed) bool { return b.Last+1 == id.Offset })
		if i < 0 || known[i].Epoch != id.Epoch {
			v.broken = violation(safety.SnapshotIsPrefix, l.id(), "snapshot %v, committed is %v", id, known)
			return v
		}
	}
	skip := slices.IndexFunc(known, func(b committed) bool { return b.Base >= log.Start })
	if skip < 0 {
		skip = len(known)
	}
	own := log.Batches(log.Start, log.HighWatermark, 1<<30)
	for i := range own {
		if skip+i >= len(known) {
			longer := slices.Clone(known)
			for _, b := range own[i:] {
				longer = append(longer, committed{b, l.epoch})
			}
			v.commit = x.internCommit(longer)
			return v
		}
		if !sameBatch(&known[skip+i].Batch, &own[i]) {
			v.broken = violation(safety.StateMachineSafety, l.id(), "counts %v as committed, and %v was", own[i], known[skip+i].Batch)
			return v
		}
	}
	return v
}

func sameBatch(a, b *kraft.Batch) bool {
	return a.Base == b.Base && a.Last == b.Last && a.Epoch == b.Epoch && len(a.Control) == len(b.Control)
}

// committed is a batch, and the epoch in which it was committed.
type committed struct {
	kraft.Batch
	in kraft.Epoch
}

// complete: a new leader holds everything that was committed in earlier epochs.
func (x *explorer) complete(commit uint32, l *local) *safety.Violation {
	for i := range x.commits[commit] {
		b := &x.commits[commit][i]
		if b.Last < l.log.Start || b.in >= l.epoch {
			continue
		}
		own := l.log.Batches(b.Base, b.Last+1, 1<<30)
		if len(own) != 1 || !sameBatch(&b.Batch, &own[0]) {
			return violation(safety.LeaderCompleteness, l.id(), "leads epoch %d without %v, which was committed in epoch %d: %v", l.epoch, b.Batch, b.in, l.log)
		}
	}
	return nil
}

// match compares the logs of two nodes.
func (x *explorer) match(a, b *local) *safety.Violation {
	key := uint64(a.logID)<<32 | uint64(b.logID)
	if v, ok := x.matched[key]; ok {
		return v
	}
	v := safety.States([]safety.Node{{ID: a.id(), Log: x.logs[a.logID]}, {ID: b.id(), Log: x.logs[b.logID]}})
	x.matched[key] = v
	return v
}
