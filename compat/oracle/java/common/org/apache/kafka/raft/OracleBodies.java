package org.apache.kafka.raft;

import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchSnapshotResponseData;
import org.apache.kafka.common.network.TransferableChannel;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Base64;

/** Message bodies, without header, to and from base64. */
final class OracleBodies {
    private OracleBodies() { }

    static ApiMessage request(short api, short version, byte[] body) {
        return read(ApiMessageType.fromApiKey(api).newRequest(), version, body);
    }

    static ApiMessage response(short api, short version, byte[] body) {
        return read(ApiMessageType.fromApiKey(api).newResponse(), version, body);
    }

    private static ApiMessage read(ApiMessage data, short version, byte[] body) {
        data.read(new ByteBufferAccessor(ByteBuffer.wrap(body)), version);
        return data;
    }

    /** Encodes now: records of the file log would follow a later truncation. */
    static String encode(ApiMessage m, short version) {
        if (m instanceof FetchResponseData f)
            f.responses().forEach(t -> t.partitions().forEach(p -> p.setRecords(memory(p.records()))));
        else if (m instanceof FetchSnapshotResponseData f)
            f.topics().forEach(t -> t.partitions().forEach(p -> p.setUnalignedRecords(memory(p.unalignedRecords()))));
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer b = ByteBuffer.allocate(m.size(cache, version));
        m.write(new ByteBufferAccessor(b), cache, version);
        return Base64.getEncoder().encodeToString(b.array());
    }

    private static MemoryRecords memory(BaseRecords r) {
        if (r == null) return null;
        if (r instanceof MemoryRecords m) return m;
        if (r instanceof UnalignedMemoryRecords u) return MemoryRecords.readableRecords(u.buffer());
        Sink sink = new Sink();
        try {
            int n = ((TransferableRecords) r).sizeInBytes();
            int done = 0;
            while (done < n) done += (int) ((TransferableRecords) r).writeTo(sink, done, n - done);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return MemoryRecords.readableRecords(ByteBuffer.wrap(sink.out.toByteArray()));
    }

    /** A channel that takes file records into memory. */
    private static final class Sink implements TransferableChannel {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();

        @Override public boolean hasPendingWrites() {
            return false;
        }

        @Override public long transferFrom(FileChannel f, long position, long count) throws IOException {
            ByteBuffer b = ByteBuffer.allocate((int) count);
            while (b.hasRemaining() && f.read(b, position + b.position()) > 0) { }
            out.write(b.array(), 0, b.position());
            return b.position();
        }

        @Override public long write(ByteBuffer[] s, int o, int l) {
            throw new UnsupportedOperationException();
        }

        @Override public long write(ByteBuffer[] s) {
            throw new UnsupportedOperationException();
        }

        @Override public int write(ByteBuffer s) {
            throw new UnsupportedOperationException();
        }

        @Override public boolean isOpen() {
            return true;
        }

        @Override public void close() { }
    }
}
