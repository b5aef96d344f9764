package wire

// Part is a stretch of a body, bytes.
type Part struct{ Start, End int }

// SecretParts appends where in a body the fields lie that hold credentials, or may hold them. What Kafka does not define,
// unknown tags and bytes behind the message, may hold them too. It reports false if the layout is not known or
// the body does not follow it.
func SecretParts(dst []Part, key, version int16, dir Direction, body []byte) ([]Part, bool) {
	if dir == Response {
		version = responseVersion(key, version, body)
	}
	s := messageSchema(key, version, dir)
	if s == nil {
		return dst, false
	}
	w := walk{collect: true, parts: dst}
	if !w.run(s, version, body) {
		return dst, false
	}
	if w.r.rest() > 0 {
		w.parts = append(w.parts, Part{w.r.at, len(body)})
	}
	return w.parts, true
}

// secret notes the n bytes just read.
func (w *walk) secret(n int) {
	if w.collect && n > 0 {
		w.parts = append(w.parts, Part{w.r.at - n, w.r.at})
	}
}
