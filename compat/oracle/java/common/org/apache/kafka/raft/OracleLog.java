package org.apache.kafka.raft;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.utils.Time;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The log of one client: the memory log, or Kafka's own file log behind a tracer. Its interface has another name in
 * each group of builds, hence the calls by name.
 */
final class OracleLog {
    static final TopicPartition PARTITION = new TopicPartition("__cluster_metadata", 0);
    static final Uuid TOPIC_ID = new Uuid(0L, 1L);

    private final OracleEffects fx;
    private final Time time;
    private final int nodeId;
    private final int segmentBytes;
    private final String dir;
    final OracleMemLog memory; // null for the file log
    private Object log;
    private Object real; // the file log behind the tracer

    OracleLog(OracleEffects fx, Time time, OracleSpec spec) {
        this.fx = fx;
        this.time = time;
        nodeId = (int) spec.num("id", 0);
        segmentBytes = (int) spec.num("segmentBytes", 8 << 20);
        dir = spec.str("logDir", null);
        memory = dir == null ? new OracleMemLog(PARTITION, TOPIC_ID, fx, spec.flag("oneSegment", false)) : null;
        log = memory;
        if (dir != null) openFiles();
    }

    Object get() {
        return log;
    }

    /** What a restart of the process leaves. The file log always keeps what it wrote: the page cache survives. */
    void reopen(boolean keepUnflushed) {
        if (memory != null) {
            memory.reopen(keepUnflushed);
            return;
        }
        if (!keepUnflushed) throw new IllegalArgumentException("the file log cannot lose its unflushed tail");
        try {
            ((AutoCloseable) real).close();
        } catch (Exception e) {
            throw new IllegalStateException("closing the log of node " + nodeId + ": " + e, e);
        }
        openFiles();
    }

    private void openFiles() {
        real = OracleFileLogFactory.open(PARTITION, TOPIC_ID, new File(dir, "__cluster_metadata-0"), time,
            new OracleScheduler(), nodeId, segmentBytes, 8 << 20);
        log = Proxy.newProxyInstance(OracleLog.class.getClassLoader(), new Class<?>[] {OracleLogBase.INTERFACE}, (p, m, args) -> trace(m, args));
    }

    private static final Map<String, String> OPERATIONS = Map.of("appendAsLeader", "append", "appendAsFollower", "append",
        "truncateTo", "truncate", "truncateToEndOffset", "truncate", "truncateToLatestSnapshot", "truncateToSnapshot",
        "flush", "flush", "initializeLeaderEpoch", "epoch", "updateHighWatermark", "hw", "deleteBeforeSnapshot", "deleteBefore");

    private Object trace(Method m, Object[] args) throws Throwable {
        String operation = OPERATIONS.get(m.getName());
        if (operation != null) fx.attempt(operation);
        if (m.getName().equals("appendAsLeader")) args[0] = OracleCanon.controlBatches((Records) args[0]);
        Object r;
        try {
            r = m.invoke(real, args);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
        switch (m.getName()) {
            case "appendAsLeader", "appendAsFollower" ->
                fx.add("append", m.getName().equals("appendAsLeader") ? "leader" : "follower", OracleFields.get(r, "firstOffset"), OracleFields.get(r, "lastOffset"));
            case "truncateTo" -> fx.add("truncate", args[0]);
            // a default method runs on the real object, so its inner truncateTo is not seen here
            case "truncateToEndOffset" -> fx.add("truncate", r);
            case "truncateToLatestSnapshot" -> {
                if (r == Boolean.TRUE) fx.add("truncateToSnapshot");
            }
            case "flush" -> fx.add("flush", end());
            case "initializeLeaderEpoch" -> fx.add("epoch", args[0], end());
            case "updateHighWatermark" -> fx.add("hw", ((LogOffsetMetadata) args[0]).offset());
            default -> { }
        }
        return r;
    }

    /** Puts batches into an empty log, as if they had been there before the process started. */
    void seed(byte[] batches) {
        if (memory == null) throw new IllegalArgumentException("an initial log needs the memory log");
        memory.follow(MemoryRecords.readableRecords(ByteBuffer.wrap(batches)), Integer.MAX_VALUE);
        memory.settle();
        fx.clear();
    }

    long end() {
        return ((LogOffsetMetadata) call("endOffset")).offset();
    }

    private static final Map<String, Method> METHODS = new HashMap<>();

    Object call(String name, Object... args) {
        Method m = METHODS.computeIfAbsent(name + "/" + args.length, k -> Arrays.stream(OracleLogBase.INTERFACE.getMethods())
            .filter(x -> x.getName().equals(name) && x.getParameterCount() == args.length).findFirst()
            .orElseThrow(() -> new IllegalArgumentException("the log has no method " + k)));
        try {
            return m.invoke(real == null ? log : real, args);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof RuntimeException r) throw r;
            throw new IllegalStateException(e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}
