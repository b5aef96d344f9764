package org.apache.kafka.raft;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;

import java.io.File;

final class OracleFileLogFactory {
    static Object open(TopicPartition tp, Uuid topicId, File dir, Time time, Scheduler scheduler, int id, int segmentBytes, int batchBytes) {
        return kafka.raft.KafkaMetadataLog.apply(tp, topicId, dir, time, scheduler,
            new kafka.raft.MetadataLogConfig(segmentBytes, 1, Long.MAX_VALUE, 104857600L, 604800000L, batchBytes, batchBytes, 60000L, id));
    }
}
