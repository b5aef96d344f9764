package org.apache.kafka.raft;

import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.Writable;
import org.apache.kafka.server.common.serialization.RecordSerde;

/** Data records are raw bytes: raft never looks inside them. */
final class OracleSerde implements RecordSerde<byte[]> {
    @Override public int recordSize(byte[] d, ObjectSerializationCache c) {
        return d.length;
    }

    @Override public void write(byte[] d, ObjectSerializationCache c, Writable out) {
        out.writeByteArray(d);
    }

    @Override public byte[] read(Readable in, int size) {
        return in.readArray(size);
    }
}
