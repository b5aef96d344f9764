package org.apache.kafka.common.record.internal;

/** Makes the package exist for on-demand imports: record classes live here only from Kafka 4.3 on. */
final class Moved { }
