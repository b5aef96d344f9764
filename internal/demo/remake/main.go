// Command remake writes the recording that the demo plays, from a capture of real controllers with its truth.json:
//
//	go run ./internal/demo/remake CAPTURE-DIRECTORY RECORDING
//
// The capture is of a test cluster without secrets, so records are kept.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-kafka/understudy/internal/build"
	"github.com/understudy-kafka/understudy/internal/demo"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/recordings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: remake CAPTURE-DIRECTORY RECORDING")
		os.Exit(2)
	}
	if err := remake(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "remake:", err)
		os.Exit(4)
	}
}

// truth is the part of truth.json that the demo needs.
type truth struct {
	Title string `json:"title"`
	Nodes map[string]struct {
		Version string `json:"version"`
		Roles   string `json:"roles"`
		Port    int    `json:"port"`
	} `json:"nodes"`
	Actions []action `json:"actions"`
}

type action struct {
	T    int64  `json:"t"`
	What string `json:"what"`
}

func remake(dir, out string) error {
	file := filepath.Join(dir, "truth.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var known truth
	if err := json.Unmarshal(text, &known); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	listeners, err := known.listeners()
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	in, err := recordings.OpenAny(nil, filepath.Join(dir, "capture.pcap.zst"))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	config, err := known.config()
	if err != nil {
		return err
	}
	var recording bytes.Buffer
	if err := convert(in, &recording, listeners, config); err != nil {
		return err
	}
	for _, d := range in.Damage() {
		return d
	}
	return os.WriteFile(out, recording.Bytes(), 0o644)
}

func (t *truth) listeners() (map[string]kraft.NodeID, error) {
	nodes := map[string]kraft.NodeID{}
	for text, n := range t.Nodes {
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", text, err)
		}
		if n.Roles != "broker" { // what a broker's own listener carries is not in the capture
			nodes[net.JoinHostPort("127.0.0.1", strconv.Itoa(n.Port))] = kraft.NodeID(id)
		}
	}
	return nodes, nil
}

func (t *truth) config() (map[string]string, error) {
	done := slices.DeleteFunc(slices.Clone(t.Actions), func(a action) bool { // of the quorum, not of the capture
		return strings.HasSuffix(a.What, " capture")
	})
	actions, err := json.Marshal(done)
	return map[string]string{demo.ConfigTitle: t.Title, demo.ConfigActions: string(actions)}, err
}

// convert writes the capture as a recording. A capture does not say which node listens where; a recording does.
func convert(in recordings.Source, out io.Writer, listeners map[string]kraft.NodeID, config map[string]string) error {
	opts := recordings.Options{IncludeRecords: true, Tool: "understudy " + build.Version, Config: config}
	for at, node := range listeners {
		opts.Upstreams = append(opts.Upstreams, recordings.Upstream{Node: node, Endpoint: at, Target: at})
	}
	slices.SortFunc(opts.Upstreams, func(a, b recordings.Upstream) int { return int(a.Node) - int(b.Node) })
	w, err := recordings.NewWriter(out, opts)
	if err != nil {
		return err
	}
	var o recordings.Observation
	for {
		err := in.Next(&o)
		if errors.Is(err, io.EOF) {
			return w.Close()
		}
		if err != nil {
			return err
		}
		if o.Conn != nil {
			node, ok := listeners[o.Conn.Endpoint]
			if !ok {
				return fmt.Errorf("connection %d: no node of truth.json listens on %s", o.Conn.ID, o.Conn.Endpoint)
			}
			o.Conn.Node = node
		}
		if err := w.Write(&o); err != nil {
			return err
		}
	}
}
