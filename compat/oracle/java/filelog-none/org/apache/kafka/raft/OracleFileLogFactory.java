package org.apache.kafka.raft;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;

import java.io.File;

/** For a class path of four jars: only the memory log is available. */
final class OracleFileLogFactory {
    static Object open(TopicPartition tp, Uuid topicId, File dir, Time time, Scheduler scheduler, int id, int segmentBytes, int batchBytes) {
        throw new UnsupportedOperationException("built without the file log");
    }
}
