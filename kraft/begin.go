package kraft

// onBeginQuorumEpoch follows the leader that announces itself (KIP-595; Kafka: handleBeginQuorumEpochRequest). The announcement
// counts before the voter key is looked at.
func (m *QuorumStateMachine) onBeginQuorumEpoch(e *ReceiveBeginQuorumEpoch) {
	if err := m.checkMessage(&e.Request); err != None {
		a := slot(m, &m.turn.out.replyBegin)
		a.Request, a.Error = e.ID, err
		return
	}
	err := m.checkVoterOnly(e.LeaderID, e.LeaderEpoch)
	if err == None {
		m.maybeTransition(e.LeaderID, e.LeaderEpoch, m.endpointsOr(e.LeaderEndpoints, e.LeaderID))
		if !m.isAddressedToSelf(e.VoterID, e.VoterDirectoryID) {
			err = InvalidVoterKey
		}
	}
	a := slot(m, &m.turn.out.replyBegin)
	a.Request = e.ID
	m.describe(&a.PartitionReply, e.Version, 1, e.Listener, err)
}

// sendBeginQuorumEpoch announces the leadership when the timer says so: at once after the election, then twice per fetch
// timeout. The timer starts anew whether or not anyone had to be told (Kafka: maybeSendBeginQuorumEpochRequests).
func (m *QuorumStateMachine) sendBeginQuorumEpoch() {
	if !m.dueKind(BeginQuorumEpochTimer) {
		m.waitForKind(BeginQuorumEpochTimer)
		return
	}
	if m.cfg.Rules.BeginOnlyToSilent {
		for i := range m.leader.Voters {
			if v := &m.leader.Voters[i]; v.LastFetch < 0 || m.due(Timer{SilenceTimer, v.Key}) || contains(m.turn.silent, v.Key.ID) {
				m.sendBeginTo(v.Key)
			}
		}
	} else {
		voters := m.history.lastVoters()
		for i := range voters.Len() {
			m.sendBeginTo(voters.At(i).Key)
		}
	}
	m.resetKind(BeginQuorumEpochTimer, m.cfg.Timeouts.FetchMs/2)
}

func (m *QuorumStateMachine) sendBeginTo(voter ReplicaKey) {
	if voter.ID == m.cfg.ID {
		return
	}
	address, ok := m.voterAddress(voter.ID)
	if !ok {
		return
	}
	to, ok := m.trySend(voter.ID, address)
	if !ok {
		return
	}
	a := slot(m, &m.turn.out.sendBegin)
	a.Destination, a.Epoch, a.Leader, a.Voter, a.Endpoints = to, m.epoch, m.cfg.ID, voter, m.cfg.Endpoints
}

// voterAddress is where a voter listens on the channel listener. That it does not is a broken voter set and ends the process.
func (m *QuorumStateMachine) voterAddress(id NodeID) (Address, bool) {
	address, ok := m.history.lastVoters().Listeners(id).Address(m.cfg.Listener)
	if !ok {
		m.fatal(FatalNoEndpoint)
	}
	return address, ok
}

// onBeginQuorumEpochResponse notes that a voter knows the leader. Nothing depends on it since announcements are repeated
// (KAFKA-16536).
func (m *QuorumStateMachine) onBeginQuorumEpochResponse(e *ReceiveBeginQuorumEpochResponse) bool {
	if e.Response.Error != None {
		return m.onTopLevelError(e.Response.Error)
	}
	if e.WrongPartition {
		return false
	}
	if handled, success := m.common(&e.PartitionAnswer); handled {
		return success
	}
	if e.PartitionAnswer.Error != None {
		return false
	}
	if m.kind == LeaderRole {
		r := m.leader.voter(e.From)
		if r == nil {
			m.fatal(FatalNotAVoter)
			return false
		}
		r.Acknowledged = true
	}
	return true
}
