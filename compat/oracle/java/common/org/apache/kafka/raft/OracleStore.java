package org.apache.kafka.raft;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.raft.generated.QuorumStateData;
import org.apache.kafka.server.common.KRaftVersion;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Optional;

/** The quorum-state file: keeps exactly what Kafka's file keeps, so version 0 loses the voted directory id. */
final class OracleStore implements QuorumStateStore {
    private final OracleEffects fx;
    private QuorumStateData data;
    private short version;

    OracleStore(OracleEffects fx) {
        this.fx = fx;
    }

    void seed(OracleSpec s) {
        version = (short) s.num("version", 1);
        data = new QuorumStateData().setLeaderId((int) s.num("leader", -1)).setLeaderEpoch((int) s.num("epoch", 0))
            .setVotedId((int) s.num("voted", -1));
        if (version > 0 && s.has("votedDir")) data.setVotedDirectoryId(Uuid.fromString(s.str("votedDir", "")));
        if (version == 0) data.setCurrentVoters(new ArrayList<>());
    }

    /** [epoch, leader, voted id, voted directory id or null, data version], null for no file. */
    Object describe() {
        if (data == null) return null;
        return Arrays.asList(data.leaderEpoch(), data.leaderId(), data.votedId(), version == 0 ? null : data.votedDirectoryId().toString(), version);
    }

    @Override public Optional<ElectionState> readElectionState() {
        return Optional.ofNullable(data).map(ElectionState::fromQuorumStateData);
    }

    @Override public void writeElectionState(ElectionState e, KRaftVersion v) {
        fx.attempt("persist");
        version = v.quorumStateVersion();
        data = e.toQuorumStateData(version);
        fx.add("persist", describe());
    }

    @Override public Path path() {
        return Path.of("quorum-state");
    }

    @Override public void clear() {
        data = null;
    }
}
