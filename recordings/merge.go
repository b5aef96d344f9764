package recordings

import (
	"errors"
	"io"
	"slices"
)

// Merge joins sources by time, for instance the recordings of several proxies. Conn.Stream tells where a connection
// was seen: the streams of each source follow those of the sources before it. Connection ids are given anew, so that
// they are unique.
func Merge(sources ...Source) Source {
	m := &merged{}
	for i, src := range sources {
		m.heads = append(m.heads, &mergeHead{src: src, order: i, conns: map[*Conn]*Conn{}})
	}
	return m
}

// merged is a source made of several.
type merged struct {
	heads   []*mergeHead // those that have an observation, the earliest first
	begun   bool
	last    *mergeHead // whose observation was handed out
	opened  uint64
	streams int
}

// mergeHead is the next observation of a source.
type mergeHead struct {
	src    Source
	order  int
	o      Observation
	conns  map[*Conn]*Conn // as the source has them, as they are handed out
	stream map[int]int
}

// streamOf numbers the streams of all sources in order of appearance.
func (m *merged) streamOf(h *mergeHead, stream int) int {
	if h.stream == nil {
		h.stream = map[int]int{}
	}
	n, ok := h.stream[stream]
	if !ok {
		n = m.streams
		m.streams++
		h.stream[stream] = n
	}
	return n
}

// Next implements [Source].
func (m *merged) Next(o *Observation) error {
	if !m.begun {
		m.begun = true
		heads := m.heads
		m.heads = nil
		for _, h := range heads {
			m.streamOf(h, 0)
			if err := m.advance(h); err != nil {
				return err
			}
		}
	}
	if h := m.last; h != nil {
		m.last = nil
		if err := m.advance(h); err != nil {
			return err
		}
	}
	if len(m.heads) == 0 {
		return io.EOF
	}
	h := m.heads[0]
	m.heads = slices.Delete(m.heads, 0, 1)
	m.last = h
	*o = h.o
	o.Conn = m.conn(h, &h.o)
	return nil
}

// conn is what a connection is called here.
func (m *merged) conn(h *mergeHead, o *Observation) *Conn {
	c := h.conns[o.Conn]
	if c == nil {
		m.opened++
		renamed := *o.Conn
		renamed.ID, renamed.Stream = m.opened, m.streamOf(h, o.Conn.Stream)
		c = &renamed
		h.conns[o.Conn] = c
	}
	if o.Kind == KindClose {
		delete(h.conns, o.Conn)
	}
	return c
}

// advance reads the next observation of a source and puts the source where it belongs.
func (m *merged) advance(h *mergeHead) error {
	if err := h.src.Next(&h.o); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	i := len(m.heads)
	for i > 0 && later(m.heads[i-1], h) {
		i--
	}
	m.heads = slices.Insert(m.heads, i, h)
	return nil
}

// later reports whether the observation of a comes after that of b.
func later(a, b *mergeHead) bool {
	if a.o.At.Seen != b.o.At.Seen {
		return a.o.At.Seen > b.o.At.Seen
	}
	return a.order > b.order
}
