package shadow

import (
	"encoding/binary"

	"github.com/understudy-kafka/understudy/wire"
)

// offer is the versions that a server offers, by api key.
type offer [wireKeys]versionRange

// wireKeys bounds the api keys whose versions are remembered.
const wireKeys = 96

// versionRange is a range of versions; a key that is not offered has min above max.
type versionRange struct{ min, max int16 }

var noVersion = versionRange{0, -1}

// offered takes in the answer to an ApiVersions request. A client chooses by the answer that it got, so an altered
// one says nothing here.
func (k *conn) offered(x *wire.Exchange, altered bool) {
	o, ok := parseOffer(x.Header.Version, x.Response)
	if !ok {
		return
	}
	k.decoded = true
	if altered {
		return
	}
	if k.ep.offer == nil || *k.ep.offer != o { // it rarely changes, so it is shared
		kept := o
		k.ep.offer = &kept
	}
	k.versions = k.ep.offer
}

// parseOffer reads the api keys of an ApiVersions response. The answer to a version that the server does not know is an
// error, and offers nothing.
func parseOffer(version int16, body []byte) (o offer, ok bool) {
	if len(body) < 2 || binary.BigEndian.Uint16(body) != 0 {
		return o, false
	}
	for i := range o {
		o[i] = noVersion
	}
	body = body[2:]
	count, tags := 0, 0
	if version >= 3 {
		n, size := binary.Uvarint(body)
		if size <= 0 || n == 0 || n > 1<<15 {
			return o, false
		}
		count, tags, body = int(n)-1, 1, body[size:]
	} else {
		if len(body) < 4 {
			return o, false
		}
		count, body = int(int32(binary.BigEndian.Uint32(body))), body[4:]
	}
	if count < 0 || len(body) < count*(6+tags) {
		return o, false
	}
	for range count {
		key := int16(binary.BigEndian.Uint16(body))
		if tags == 1 && body[6] != 0 {
			return o, false // tags of a version to come
		}
		if key >= 0 && key < wireKeys {
			o[key] = versionRange{int16(binary.BigEndian.Uint16(body[2:])), int16(binary.BigEndian.Uint16(body[4:]))}
		}
		body = body[6+tags:]
	}
	return o, true
}
