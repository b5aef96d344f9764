package kraft

// Actions is the storage of the actions of one event. It belongs to the driver, so that a clone of a machine carries none, and
// is used again with every event: on the steady paths nothing is allocated.
type Actions struct {
	list  []Action
	event uint64     // counts the events: a slab filled during an earlier one is free
	role  RoleAction // of Turn

	transitionedTo      slab[TransitionedTo]
	persist             slab[PersistQuorumState]
	assignEpoch         slab[AssignEpoch]
	resetTimer          slab[ResetTimer]
	cancelTimer         slab[CancelTimer]
	chooseBootstrap     slab[ChooseBootstrap]
	appendLeaderChange  slab[AppendLeaderChange]
	appendControl       slab[AppendControl]
	appendRecords       slab[AppendRecords]
	appendFetched       slab[AppendFetched]
	flushLog            slab[FlushLog]
	truncateTo          slab[TruncateTo]
	highWatermark       slab[AdvanceHighWatermark]
	beginSnapshot       slab[BeginSnapshotFetch]
	appendSnapshot      slab[AppendSnapshot]
	abandonSnapshot     slab[AbandonSnapshotFetch]
	installSnapshot     slab[InstallSnapshot]
	park                slab[Park]
	accepted            slab[Accepted]
	refused             slab[Refused]
	shutdownDone        slab[ShutdownDone]
	fatal               slab[Fatal]
	sendVote            slab[SendVoteRequest]
	sendBegin           slab[SendBeginQuorumEpoch]
	sendEnd             slab[SendEndQuorumEpoch]
	sendFetch           slab[SendFetch]
	sendFetchSnapshot   slab[SendFetchSnapshot]
	sendAPIVersions     slab[SendAPIVersions]
	sendUpdateVoter     slab[SendUpdateVoter]
	sendAddVoter        slab[SendAddRaftVoter]
	sendRemoveVoter     slab[SendRemoveRaftVoter]
	replyVote           slab[ReplyVote]
	replyBegin          slab[ReplyBeginQuorumEpoch]
	replyEnd            slab[ReplyEndQuorumEpoch]
	replyFetch          slab[ReplyFetch]
	replyDiverging      slab[ReplyDivergingEpoch]
	replyFetchSnapshot  slab[ReplyFetchSnapshot]
	replyDescribeQuorum slab[ReplyDescribeQuorum]
	replyAddVoter       slab[ReplyAddRaftVoter]
	replyRemoveVoter    slab[ReplyRemoveRaftVoter]
	replyUpdateVoter    slab[ReplyUpdateRaftVoter]
}

// slab hands out pointers that stay valid until the next event.
type slab[T any] struct {
	items []*T
	used  int
	event uint64
}

func (s *slab[T]) next(event uint64) *T {
	if s.event != event {
		s.event, s.used = event, 0
	}
	if s.used == len(s.items) {
		s.items = append(s.items, new(T))
	}
	item := s.items[s.used]
	s.used++
	return item
}

// List is what the last event asked for, in order.
func (a *Actions) List() []Action { return a.list }

// reset begins a new event.
func (a *Actions) reset() {
	a.list = a.list[:0]
	a.event++
}
