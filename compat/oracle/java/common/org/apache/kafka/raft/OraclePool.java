package org.apache.kafka.raft;

import org.apache.kafka.common.memory.MemoryPool;

import java.nio.ByteBuffer;

/** Small buffers instead of the 8 MiB ones of production; builders grow them on demand. */
final class OraclePool implements MemoryPool {
    @Override public ByteBuffer tryAllocate(int size) {
        return ByteBuffer.allocate(Math.min(size, 4096));
    }

    @Override public void release(ByteBuffer b) { }

    @Override public long size() {
        return Long.MAX_VALUE;
    }

    @Override public long availableMemory() {
        return Long.MAX_VALUE;
    }

    @Override public boolean isOutOfMemory() {
        return false;
    }
}
