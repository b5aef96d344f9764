package org.apache.kafka.common.utils.internals;

/** Makes the package exist for on-demand imports: LogContext lives here only from Kafka 4.4 on. */
final class Moved { }
