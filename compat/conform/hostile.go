package conform

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/understudy-kafka/understudy/compat"
	"github.com/understudy-kafka/understudy/wire"
)

// Hostility says how far the suite goes.
type Hostility int

// The degrees of hostility.
const (
	Peaceful Hostility = iota
	Hostile            // also what must not end a node
	Killers            // also what ends nodes of some releases of Kafka; Options.Restart brings the target back
)

// Attack is something that a node must live through: afterwards it answers on the connections that it had and on new ones, in the
// epoch and under the leader that it had.
type Attack struct {
	Case
	strike func(*striker) error // an error: the target's reaction is wrong, though it may live
}

// killer says which releases of Kafka do not live through something, though they should.
type killer struct {
	issue string // where Kafka's developers tell of it, or the class where it happens
	dies  func(compat.Profile) bool
}

// every release dies.
func every(compat.Profile) bool { return true }

// releases are those that die, for a reader.
func (k *killer) releases() string {
	var first, last string
	for _, p := range compat.Profiles() {
		if k.dies(p) {
			if first == "" {
				first = p.Covers[0]
			}
			last = p.Covers[len(p.Covers)-1]
		}
	}
	return first + " to " + last
}

// ended is the result of a target that is gone: known, if Kafka's own nodes of its release go too.
func (k *killer) ended(p compat.Profile, how error) (Outcome, string) {
	if k == nil || !k.dies(p) {
		return Failed, how.Error()
	}
	return Known, fmt.Sprintf("%v; so do Kafka's nodes of %s (%s)", how, k.releases(), k.issue)
}

// explain adds to a case what is known of it.
func (k *killer) explain() string {
	return fmt.Sprintf("It ends nodes of Kafka %s (%s), so it is sent only if killers are asked for.", k.releases(), k.issue)
}

// Attacks are all cases of the hostile group against a node of which nothing is configured, in the order in which they are made.
func Attacks(p compat.Profile) []Attack {
	all := slices.Concat(byteAttacks(), connectionAttacks(), headerAttacks(), bodyAttacks(p), listAttacks(p), valueAttacks(p), killerAttacks(p))
	for i := range all {
		a := &all[i]
		a.ID, a.Level = "hostile/"+a.ID, Must
		if a.kills == nil {
			a.Says = "a node lives on when " + a.Says
		} else {
			a.Says += ". " + a.kills.explain()
		}
	}
	return all
}

// choose are those attacks that the degree of hostility allows.
func (h Hostility) choose(all []Attack) []Attack {
	return slices.DeleteFunc(all, func(a Attack) bool { return !h.allows(true, a.kills) })
}

// allows reports whether a case of the hostile group, or of another one, may be tried.
func (h Hostility) allows(hostile bool, kills *killer) bool {
	return !hostile || h >= Killers || h == Hostile && kills == nil
}

// striker makes one attack.
type striker struct {
	ctx    context.Context
	o      *Options
	t      *Target
	random *rand.Rand
	held   []net.Conn // open until the target has shown that it lives
	opened int        // connections
	spared bool       // fewer than the attack has
}

func newStriker(ctx context.Context, o *Options, t *Target, id string) *striker {
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(id)) // the same bytes in each run
	return &striker{ctx: ctx, o: o, t: t, random: rand.New(rand.NewPCG(seed.Sum64(), 0))}
}

func (s *striker) close() {
	for _, c := range s.held {
		_ = c.Close()
	}
	s.held = nil
}

// dial opens a connection that lasts until the target has shown that it lives.
func (s *striker) dial() (net.Conn, error) {
	dialer := s.o.strike
	if dialer == nil {
		dialer = s.o.dialer()
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.o.patience())
	defer cancel()
	conn, err := dialer(ctx, s.o.Address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoConnection, err)
	}
	s.opened++
	s.held = append(s.held, conn)
	return conn, conn.SetDeadline(time.Now().Add(s.o.patience()))
}

// errSilence says that a whole frame was taken without a reaction.
var errSilence = errors.New("a whole frame is neither answered nor does it end the connection")

// throw sends bytes on a connection of their own. What is whole must be answered, or end the connection; the rest is left to
// the target: the connection stays as it is.
func (s *striker) throw(bytes []byte, whole bool) error {
	conn, err := s.dial()
	if err != nil {
		return err
	}
	_, err = conn.Write(bytes)
	if err != nil || !whole {
		return nil //nolint:nilerror // a target that has heard enough ends the connection
	}
	var one [1]byte
	if _, err = conn.Read(one[:]); isTimeout(err) {
		return errSilence
	}
	s.held = s.held[:len(s.held)-1]
	_ = conn.Close()
	return nil
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// witness is a connection from before an attack. A target that ends and is started again at once loses it.
type witness struct {
	client *client
	t      *Target
	since  time.Time
}

func newWitness(ctx context.Context, o *Options, t *Target) (*witness, error) {
	c, err := dial(ctx, o, o.Address)
	if err != nil {
		return nil, err
	}
	w := &witness{c, t, time.Now()}
	if err := w.speaks(); err != nil {
		c.close()
		return nil, err
	}
	return w, nil
}

func (w *witness) speaks() error {
	_, err := w.client.request(baseline(wire.KeyDescribeQuorum, 0))
	return err
}

// errChanged says that the quorum is not what it was. That may be an accident.
var errChanged = errors.New("the quorum is not what it was")

// check is nil if the target lives as it did.
func (w *witness) check(ctx context.Context, o *Options) error {
	old := w.speaks()
	now, err := discover(ctx, o)
	switch {
	case err != nil && old != nil:
		return fmt.Errorf("the target has ended: it closes what it had (%w) and answers nobody (%w)", old, err)
	case err != nil:
		return fmt.Errorf("%w: %w", errNobodyNew, err)
	case old != nil:
		return fmt.Errorf("%w: %w", errDropped, old)
	case !now.same(w.t):
		return fmt.Errorf("%w: it was %s, and is %s", errChanged, w.t, now)
	}
	return nil
}
