package conform

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/wire"
)

// request is what the target asked of a peer.
type request struct {
	peer    kraft.NodeID
	version int16
	message kmsg.Request
	at      time.Time
}

func (r *request) String() string {
	var d wire.Decoder
	return fmt.Sprintf("to node %s: %s", r.peer, d.AppendRequestLine(nil, wire.RequestHeader{Key: r.message.Key(), Version: r.version}, r.message.AppendTo(nil)))
}

// peers are the voters that the suite plays. They answer at once; how is set by the scenario.
type peers struct {
	inbox     chan *request
	listeners []net.Listener
	guard     func(net.Listener) net.Listener
	all       sync.WaitGroup

	mu        sync.Mutex
	open      map[net.Conn]bool
	closed    bool
	addresses map[kraft.NodeID]string
	leader    kraft.NodeID // the peer that leads, or NoNode
	epoch     kraft.Epoch
	upTo      kraft.Offset // batches up to it are given to the target, again if it asks again
	end       kraft.Offset // the target's log end, as it last said
	endEpoch  kraft.Epoch
	knowsEnd  bool
	directory [16]byte // the target's directory id, once it has told one
	vote      func(peer kraft.NodeID, v *kmsg.VoteRequestTopicPartition) bool
	fetch     func(f *kmsg.FetchRequest, version int16) kmsg.Response // next answer to a Fetch or nil
	snapshot  func(f *kmsg.FetchSnapshotRequest) kmsg.Response        // answer to a FetchSnapshot or nil
	spoil     func(frame []byte) []byte                               // of the leading peer's next answer to a Fetch
	mute      bool                                                    // the peers answer nothing
	odd       error                                                   // what is wrong with the last request that no node asks
}

// newPeers listens for the voters at their addresses, or where listen says. A guard puts TLS and SASL on the listeners; it may be nil.
func newPeers(addresses, listen map[kraft.NodeID]string, guard func(net.Listener) net.Listener) (*peers, error) {
	p := &peers{inbox: make(chan *request, 4096), open: map[net.Conn]bool{}, addresses: maps.Clone(addresses), leader: kraft.NoNode, guard: guard}
	for id, address := range addresses {
		if behind, ok := listen[id]; ok {
			address = behind
		}
		if _, err := p.listen(id, address); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// listen answers as the node at an address, and returns the one that was bound.
func (p *peers) listen(id kraft.NodeID, address string) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", fmt.Errorf("own quorum: listen as voter %s: %w", id, err)
	}
	bound := l.Addr().String()
	if p.guard != nil {
		l = p.guard(l)
	}
	p.listeners = append(p.listeners, l)
	p.all.Go(func() { p.accept(id, l) })
	return bound, nil
}

func (p *peers) close() {
	for _, l := range p.listeners {
		_ = l.Close()
	}
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

func (p *peers) accept(id kraft.NodeID, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.closed {
			_ = conn.Close()
		} else {
			p.open[conn] = true
		}
		p.mu.Unlock()
		p.all.Go(func() {
			p.serve(id, conn)
			_ = conn.Close()
			p.mu.Lock()
			delete(p.open, conn)
			p.mu.Unlock()
		})
	}
}

// serve answers the requests of one connection.
func (p *peers) serve(id kraft.NodeID, conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		h, message, err := readRequest(in)
		if err != nil {
			return
		}
		r := &request{peer: id, version: h.Version, message: message, at: time.Now()}
		if err := onePartition(message); err != nil {
			p.set(func(p *peers) { p.odd = fmt.Errorf("%s v%d to node %s: %w", apiName(h.Key), h.Version, id, err) })
			return
		}
		resp := p.answer(r)
		select {
		case p.inbox <- r:
		default: // nobody has listened for long: the oldest is of no use
			select {
			case <-p.inbox:
			default:
			}
		}
		if resp == nil {
			return
		}
		frame := responseFrame(h, resp)
		if spoil := p.spoils(r); spoil != nil {
			frame = spoil(frame)
		}
		if _, err := conn.Write(frame); err != nil {
			return
		}
	}
}

// errShape says that a message is not about the metadata topic's only partition.
var errShape = errors.New("one topic with one partition is wanted")

// onePartition is nil if a request of the quorum has one topic with one partition, as those of nodes have: what it lets pass may be read
// without another look. Other requests pass: they are not read.
func onePartition(message kmsg.Request) error {
	switch message.Key() {
	case wire.KeyFetch, wire.KeyVote, wire.KeyBeginQuorumEpoch, wire.KeyEndQuorumEpoch, wire.KeyDescribeQuorum, wire.KeyFetchSnapshot:
	default:
		return nil
	}
	topics := reflect.ValueOf(message).Elem().FieldByName("Topics")
	if topics.Len() != 1 {
		return fmt.Errorf("%w, not %d topics", errShape, topics.Len())
	}
	if n := topics.Index(0).FieldByName("Partitions").Len(); n != 1 {
		return fmt.Errorf("%w, not %d partitions", errShape, n)
	}
	return nil
}

// spoils takes what the answer to a Fetch of the leading peer is to be spoilt by.
func (p *peers) spoils(r *request) (spoil func([]byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.message.Key() == wire.KeyFetch && r.peer == p.leader {
		spoil, p.spoil = p.spoil, nil
	}
	return spoil
}

func readRequest(in *bufio.Reader) (h wire.RequestHeader, message kmsg.Request, err error) {
	frame, err := wire.ReadFrame(in, nil, maxAnswer)
	if err != nil {
		return h, nil, err
	}
	h, body, err := wire.ParseRequestHeader(frame)
	if err != nil {
		return h, nil, err
	}
	if message = kmsg.RequestForKey(h.Key); message == nil {
		return h, nil, errors.New("api key not known")
	}
	message.SetVersion(h.Version)
	if h.Key == wire.KeyAPIVersions && h.Version > message.MaxVersion() {
		return h, message, nil
	}
	return h, message, message.ReadFrom(body)
}

func responseFrame(h wire.RequestHeader, resp kmsg.Response) []byte {
	frame := binary.BigEndian.AppendUint32(make([]byte, 4, 256), uint32(h.CorrelationID))
	if h.Key != wire.KeyAPIVersions && wire.Flexible(h.Key, h.Version) {
		frame = append(frame, 0)
	}
	frame = resp.AppendTo(frame)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// reset forgets what a scenario has set.
func (p *peers) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.vote, p.fetch, p.snapshot, p.spoil, p.mute, p.upTo, p.odd = nil, nil, nil, nil, false, 0, nil
}

func (p *peers) setLeader(id kraft.NodeID, epoch kraft.Epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leader, p.epoch = id, epoch
}

// give lets the leading peer give batches of one record up to an offset; 0: none.
func (p *peers) give(upTo kraft.Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upTo = upTo
}

// set changes how peers answer.
func (p *peers) set(change func(*peers)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *peers) logEnd() (kraft.Offset, kraft.Epoch, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end, p.endEpoch, p.knowsEnd
}

// drain forgets what has arrived so far.
func (p *peers) drain() {
	for {
		select {
		case <-p.inbox:
		default:
			return
		}
	}
}

// address is a peer's host and port.
func (p *peers) address(id kraft.NodeID) (host string, port uint16) {
	host, text, _ := net.SplitHostPort(p.addresses[id])
	n, _ := strconv.ParseUint(text, 10, 16)
	return host, uint16(n)
}
