package wire

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// captured is a frame of a real quorum with its header read: a request, or a response paired with its request.
type captured struct {
	source string // file and line
	dir    Direction
	frame  []byte
	header RequestHeader // of the request
	body   []byte
}

// captures reads the frames in testdata/frames: for each line the connection, the direction and the frame in hexadecimal,
// all that two real quorums (Kafka 4.1.2 and 4.4.0) said while they were captured.
func captures(t testing.TB) []captured {
	t.Helper()
	files, err := filepath.Glob("testdata/frames/*.txt.zst")
	if err != nil || len(files) == 0 {
		t.Fatal("no captured frames", err)
	}
	var all []captured
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := zstd.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		pairers := map[string]*Pairer{}
		lines := bufio.NewScanner(d)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			frame, err := hex.DecodeString(fields[2])
			if err != nil {
				t.Fatal(err)
			}
			p := pairers[fields[0]]
			if p == nil {
				p = new(Pairer)
				pairers[fields[0]] = p
			}
			c := captured{source: filepath.Base(file), frame: frame}
			if fields[1] == "request" {
				if c.header, c.body, err = ParseRequestHeader(frame); err != nil {
					t.Fatal(err)
				}
				p.Request(c.header, c.body, Stamp{}, 0)
			} else {
				x, err := p.Response(frame, Stamp{})
				if err != nil {
					t.Fatal(err)
				}
				c.dir, c.header, c.body = Response, x.Header, x.Response
				c.header.ClientID = bytes.Clone(x.Header.ClientID)
			}
			all = append(all, c)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// appendLine prints a captured frame.
func (c *captured) appendLine(d *Decoder, dst []byte) []byte {
	if c.dir == Request {
		return d.AppendRequestLine(dst, c.header, c.body)
	}
	return d.AppendResponseLine(dst, c.header.Key, c.header.Version, c.body)
}

// TestLines_OfRealQuorums shows each different line that the captures give, in order of first appearance, Fetch
// reduced to a few of each kind.
func TestLines_OfRealQuorums(t *testing.T) {
	var d Decoder
	var out []byte
	seen := map[string]int{}
	digits := regexp.MustCompile(`[0-9]+`)
	for _, c := range captures(t) {
		text := c.dir.String() + " " + string(c.appendLine(&d, nil))
		if strings.Contains(text, "undecodable") {
			t.Errorf("%s: %s", c.source, text)
		}
		kind := digits.ReplaceAllString(text, "N")
		if seen[kind]++; seen[kind] <= 2 {
			out = append(append(out, text...), '\n')
		}
	}
	golden(t, "lines.golden", out)
}
