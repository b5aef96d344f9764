package main

import (
	"fmt"
	"io"
	"log"
	"math"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

var payload = make([]byte, 64)

// etcdNode is node 1 of three.
type etcdNode struct {
	*raft.RawNode
	storage *raft.MemoryStorage
}

func newEtcdNode() (*etcdNode, error) {
	storage := raft.NewMemoryStorage()
	// The members are known from a snapshot, as an application is told to do it (NewRawNode).
	members := raftpb.ConfState{Voters: []uint64{1, 2, 3}}
	err := storage.ApplySnapshot(raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{ConfState: members, Index: 1, Term: 1}})
	if err != nil {
		return nil, err
	}
	node, err := raft.NewRawNode(&raft.Config{
		ID: 1, ElectionTick: 10, HeartbeatTick: 1, Storage: storage, Applied: 1,
		MaxSizePerMsg: math.MaxUint64, MaxInflightMsgs: 1 << 20,
		Logger: &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)},
	})
	return &etcdNode{node, storage}, err
}

// handle is what an application does with a Ready, as far as it must.
func (e *etcdNode) handle() error {
	ready := e.Ready()
	if !raft.IsEmptyHardState(ready.HardState) {
		if err := e.storage.SetHardState(ready.HardState); err != nil {
			return err
		}
	}
	if len(ready.Entries) > 0 {
		if err := e.storage.Append(ready.Entries); err != nil {
			return err
		}
	}
	e.Advance(ready)
	return nil
}

func (e *etcdNode) step(m raftpb.Message) error {
	if err := e.Step(m); err != nil {
		return err
	}
	for e.HasReady() {
		if err := e.handle(); err != nil {
			return err
		}
	}
	return nil
}

// etcdLeader has committed the entry that a term begins with. Node 3 is not there, so nothing is sent to it.
func etcdLeader() (*etcdNode, error) {
	e, err := newEtcdNode()
	if err != nil {
		return nil, err
	}
	if err := e.Campaign(); err != nil {
		return nil, err
	}
	for e.HasReady() {
		if err := e.handle(); err != nil {
			return nil, err
		}
	}
	term := e.BasicStatus().Term
	if err := e.step(raftpb.Message{Type: raftpb.MsgVoteResp, From: 2, To: 1, Term: term}); err != nil {
		return nil, err
	}
	return e, e.step(e.acknowledgement(2))
}

func (e *etcdNode) acknowledgement(index uint64) raftpb.Message {
	return raftpb.Message{Type: raftpb.MsgAppResp, From: 2, To: 1, Term: e.BasicStatus().Term, Index: index}
}

// etcdLeaderAcknowledged proposes n entries and commits them one by one.
func etcdLeaderAcknowledged(n int) (time.Duration, error) {
	e, err := etcdLeader()
	if err != nil {
		return 0, err
	}
	for range n {
		if err := e.Propose(payload); err != nil {
			return 0, err
		}
	}
	for e.HasReady() {
		if err := e.handle(); err != nil {
			return 0, err
		}
	}
	m := e.acknowledgement(e.BasicStatus().Commit)
	want := m.Index + uint64(n)
	start := time.Now()
	for range n {
		m.Index++
		if err := e.Step(m); err != nil {
			return 0, err
		}
		if err := e.handle(); err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	if got := e.BasicStatus().Commit; got != want {
		return 0, fmt.Errorf("etcd/raft has committed %d, want %d", got, want)
	}
	return took, nil
}

// etcdFollowerAppends is sent one entry at a time.
func etcdFollowerAppends(n int) (time.Duration, error) {
	e, err := newEtcdNode()
	if err != nil {
		return 0, err
	}
	if err := e.step(raftpb.Message{Type: raftpb.MsgHeartbeat, From: 2, To: 1, Term: 1}); err != nil {
		return 0, err
	}
	entries := make([]raftpb.Entry, n)
	for i := range entries {
		entries[i] = raftpb.Entry{Term: 1, Index: uint64(i + 2), Data: payload}
	}
	m := raftpb.Message{Type: raftpb.MsgApp, From: 2, To: 1, Term: 1, LogTerm: 1}
	start := time.Now()
	for i := range n {
		m.Index, m.Commit, m.Entries = uint64(i+1), uint64(i+1), entries[i:i+1:i+1]
		if err := e.Step(m); err != nil {
			return 0, err
		}
		if err := e.handle(); err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	if last, err := e.storage.LastIndex(); err != nil || last != uint64(n+1) {
		return 0, fmt.Errorf("etcd/raft has appended up to %d, want %d: %w", last, n+1, err)
	}
	return took, nil
}

// etcdHeartbeatAnswered takes what a follower without news sends: the answer to a heartbeat. There is nothing to be done, which HasReady
// tells.
func etcdHeartbeatAnswered(n int) (time.Duration, error) {
	return etcdNoNews(n, raftpb.MsgHeartbeatResp)
}

// etcdAcknowledgedAgain takes an acknowledgement that is known already, the cheapest message of all. No follower sends it in quiet times.
func etcdAcknowledgedAgain(n int) (time.Duration, error) { return etcdNoNews(n, raftpb.MsgAppResp) }

func etcdNoNews(n int, kind raftpb.MessageType) (time.Duration, error) {
	e, err := etcdLeader()
	if err != nil {
		return 0, err
	}
	m := e.acknowledgement(e.BasicStatus().Commit)
	if m.Type = kind; kind == raftpb.MsgHeartbeatResp {
		m.Index = 0
	}
	news := 0
	start := time.Now()
	for range n {
		if err := e.Step(m); err != nil {
			return 0, err
		}
		if e.HasReady() {
			news++
		}
	}
	took := time.Since(start)
	if news > 0 {
		return 0, fmt.Errorf("etcd/raft saw news %d times", news)
	}
	return took, nil
}
