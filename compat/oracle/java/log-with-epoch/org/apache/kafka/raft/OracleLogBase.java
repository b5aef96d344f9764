package org.apache.kafka.raft;

import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

/** The metadata log interface of this build, reduced to what is the same in all of them. Kafka 4.0.1 to 4.2: a follower append is limited by epoch (KAFKA-18723). */
abstract class OracleLogBase implements ReplicatedLog {
    static final Class<?> INTERFACE = ReplicatedLog.class;

    abstract LogAppendInfo follow(Records records, int epoch);

    abstract LogFetchInfo fetch(long offset, Isolation isolation, int maxBytes);

    @Override public LogAppendInfo appendAsFollower(Records records, int epoch) {
        return follow(records, epoch);
    }

    @Override public LogFetchInfo read(long offset, Isolation isolation) {
        return fetch(offset, isolation, 8 << 20);
    }
}
