package main

import (
	"errors"
	"io"
	"os"

	"github.com/understudy-kafka/understudy/internal/demo"
	"github.com/understudy-kafka/understudy/kraft"
	"github.com/understudy-kafka/understudy/proxy/shadow"
	"github.com/understudy-kafka/understudy/recordings"
)

// inspect shows what is in the recording and how to see more of it.
func (s *show) inspect(first *demoAct) error {
	act := s.act("inspect")
	act.Recording = first.Recording
	leaders := demo.Leaders(first.report)
	if len(leaders) == 0 {
		return unexpected("no leader was seen")
	}
	if err := s.election(first.Recording, leaders); err != nil {
		return err
	}
	demo.Verdict(s.out, s.style, first.report)
	s.say("Leaders: %s.", demo.LeaderText(leaders))
	s.recording(first.Recording)
	act.OK = true
	return nil
}

// recording says where a recording is and what can be done with it.
func (s *show) recording(file string) {
	size := int64(0)
	if info, err := os.Stat(file); err == nil {
		size = info.Size()
	}
	s.say("The recording, %d kB:", (size+999)/1000)
	s.say("  understudy dump --key Vote %s", file)
	s.say("  understudy check %s", file)
	s.say("  wireshark %s   (one built with zstd; if not: zstd -d first)", file)
}

// election shows the frames of the last election: from the end of the leader before on.
func (s *show) election(file string, leaders []demo.Led) error {
	last := leaders[len(leaders)-1]
	first := kraft.Epoch(0)
	if n := len(leaders); n > 1 {
		first = leaders[n-2].Epoch + 1
	}
	s.say("How node %s came to lead epoch %d, frame by frame (pre-votes left out):", last.Leader, last.Epoch)
	source, err := recordings.Open(file)
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	defer func() { _ = source.Close() }()
	n, err := demo.ElectionFrames(s.out, source, first, last.Epoch)
	if err != nil {
		return &exitError{exitRuntime, err}
	}
	if n == 0 {
		return unexpected("the recording %s has no frame of the election of epoch %d", file, last.Epoch)
	}
	return nil
}

// judge checks a recording as understudy check does.
func judge(file string, asPeer bool) (*shadow.Report, error) {
	source, err := recordings.OpenAny(nil, file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()
	checker := shadow.New(shadow.Options{FaultAsPeer: asPeer, Tier2: defaultTier == 2})
	var o recordings.Observation
	for {
		err := source.Next(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		checker.Observe(&o)
	}
	for _, d := range source.Damage() {
		return nil, d
	}
	return checker.Finish(), nil
}
