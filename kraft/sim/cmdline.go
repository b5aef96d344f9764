package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Replay are the flags of "understudy sim" that play the options of a shrunk run again. What they do not say is drawn from the seed.
func (o *Options) Replay() string {
	drawn := Draw(o.Seed)
	s := fmt.Sprintf("--seed %d", o.Seed)
	var less []string
	for k := range kinds {
		if drawn.Kinds.Has(k) && !o.Kinds.Has(k) {
			less = append(less, k.String())
		}
	}
	if len(less) > 0 {
		s += " --without " + strings.Join(less, ",")
	}
	if len(o.Skip) > 0 {
		var list []string
		for _, f := range slices.Sorted(maps.Keys(o.Skip)) {
			list = append(list, strconv.Itoa(f))
		}
		s += " --skip-faults " + ranges(list)
	}
	if o.Voters != drawn.Voters || o.Spares != drawn.Spares || o.Observers != drawn.Observers {
		s += fmt.Sprintf(" --nodes %d,%d,%d", o.Voters, o.Spares, o.Observers)
	}
	if o.AppendEvery != drawn.AppendEvery {
		s += fmt.Sprintf(" --append-every %dus", o.AppendEvery)
	}
	if o.AutoJoin != drawn.AutoJoin || o.Wire != drawn.Wire {
		s += " --plain"
	}
	if o.Events != drawn.Events {
		s += fmt.Sprintf(" --events %d", o.Events)
	}
	return s
}

// ranges writes ascending numbers with "a-b" for runs of them.
func ranges(list []string) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && atoi(list[j+1]) == atoi(list[j])+1 {
			j++
		}
		if j > i {
			parts = append(parts, list[i]+"-"+list[j])
		} else {
			parts = append(parts, list[i])
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// ParseFaults reads the numbers of faults as Replay writes them: "3,7-12".
func ParseFaults(text string) (map[int]bool, error) {
	set := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || from < 1 || to < from || to > 1_000_000 {
			return nil, fmt.Errorf("faults %q: want numbers and ranges such as 3,7-12", text)
		}
		for i := from; i <= to; i++ {
			set[i] = true
		}
	}
	return set, nil
}

// Resize changes the numbers of nodes and draws releases for those that are added.
func (o *Options) Resize(voters, spares, observers int) error {
	if voters < 1 || voters > 7 || spares < 0 || observers < 0 || voters+spares+observers > maxNodes {
		return fmt.Errorf("%d voters, %d spares, %d observers: want 1 to 7 voters and at most %d nodes", voters, spares, observers, maxNodes)
	}
	o.Voters, o.Spares, o.Observers = voters, spares, observers
	for len(o.Profiles) < o.nodes() {
		o.Profiles = append(o.Profiles, o.Profiles[len(o.Profiles)%max(1, len(o.Profiles))])
	}
	o.Profiles = o.Profiles[:o.nodes()]
	return nil
}
