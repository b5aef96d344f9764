package org.apache.kafka.raft;

import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

/** The metadata log interface of this build, reduced to what is the same in all of them. Kafka 4.3 and later: RaftLog, whose reads take a limit in bytes (KIP-1219). */
abstract class OracleLogBase implements RaftLog {
    static final Class<?> INTERFACE = RaftLog.class;

    abstract LogAppendInfo follow(Records records, int epoch);

    abstract LogFetchInfo fetch(long offset, Isolation isolation, int maxBytes);

    @Override public LogAppendInfo appendAsFollower(Records records, int epoch) {
        return follow(records, epoch);
    }

    @Override public LogFetchInfo read(long offset, Isolation isolation, int maxBytes) {
        return fetch(offset, isolation, maxBytes);
    }
}
