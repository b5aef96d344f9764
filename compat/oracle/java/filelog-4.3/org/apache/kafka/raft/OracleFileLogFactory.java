package org.apache.kafka.raft;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.raft.internals.KafkaRaftLog;
import org.apache.kafka.server.util.Scheduler;

import java.io.File;
import java.util.Map;

final class OracleFileLogFactory {
    static Object open(TopicPartition tp, Uuid topicId, File dir, Time time, Scheduler scheduler, int id, int segmentBytes, int batchBytes) {
        try {
            return KafkaRaftLog.createLog(tp, topicId, dir, time, scheduler,
                new MetadataLogConfig(new AbstractConfig(MetadataLogConfig.CONFIG_DEF, Map.of(
                    "internal.metadata.log.segment.bytes", segmentBytes,
                    "internal.metadata.max.batch.size.in.bytes", batchBytes), false)), id);
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
