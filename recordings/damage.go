package recordings

import (
	"errors"
	"fmt"
	"slices"
)

// Damage says where a file could not be read. What came before it, and what came behind it where reading could
// go on, is not affected.
type Damage struct {
	File   string
	Offset int64 // bytes
	Err    error
}

func (d *Damage) Error() string { return fmt.Sprintf("%s: offset %d: %v", d.File, d.Offset, d.Err) }

// Unwrap returns what was wrong there.
func (d *Damage) Unwrap() error { return d.Err }

// What can be wrong with a recording.
var (
	// ErrCut marks a file that ends in the middle: whoever wrote it died, or it was copied while it grew.
	ErrCut = errors.New("the file is cut off; everything before this was read")
	// ErrNoTrailer marks a segment that its recorder did not complete, or is still writing.
	ErrNoTrailer = errors.New("the recording was not closed in order, or is still being written")
	// ErrMissingSegment marks a recording of which a segment is not there.
	ErrMissingSegment = errors.New("a segment of the recording is missing before this one")
	// ErrNotRecording marks a file that this program did not record.
	ErrNotRecording = errors.New("not a recording of this program")
)

// damages collects what was wrong, up to a bound.
type damages struct {
	list []*Damage
	more int // how many are not in list
}

const maxDamages = 100

func (d *damages) add(file string, offset int64, err error) {
	if len(d.list) >= maxDamages {
		d.more++
		return
	}
	d.list = append(d.list, &Damage{file, offset, err})
}

// Damage lists what could not be read so far, in order. Of very many only the first hundred are kept.
func (d *damages) Damage() []*Damage { return slices.Clone(d.list) }
