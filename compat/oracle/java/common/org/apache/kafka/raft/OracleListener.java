package org.apache.kafka.raft;

import org.apache.kafka.snapshot.SnapshotReader;

import java.util.ArrayList;
import java.util.List;

/** The state machine above raft. It reads everything at once, or keeps its readers open until it is told to go on. */
final class OracleListener implements RaftClient.Listener<byte[]> {
    private final OracleEffects fx;
    private final List<Runnable> held = new ArrayList<>();
    private boolean hold;

    OracleListener(OracleEffects fx) {
        this.fx = fx;
    }

    /** Keeps the readers handed over from now on open, as a slow state machine does. */
    void hold() {
        hold = true;
    }

    /** Reads and closes all held readers; later ones are read at once. */
    void release() {
        hold = false;
        List<Runnable> all = new ArrayList<>(held);
        held.clear();
        all.forEach(Runnable::run);
    }

    int heldReaders() {
        return held.size();
    }

    private void read(Runnable work) {
        if (hold) held.add(work);
        else work.run();
    }

    @Override public void handleCommit(BatchReader<byte[]> reader) {
        if (hold) fx.add("commitHeld", reader.baseOffset());
        read(() -> {
            try (reader) {
                while (reader.hasNext()) {
                    Batch<byte[]> b = reader.next();
                    fx.add("commit", b.baseOffset(), b.lastOffset(), b.epoch(), b.records().size());
                }
            }
        });
    }

    @Override public void handleLoadSnapshot(SnapshotReader<byte[]> reader) {
        load("loadSnapshot", reader);
    }

    /** Called from Kafka 4.3 on (KAFKA-20164); older builds hand the bootstrap snapshot to handleLoadSnapshot. */
    public void handleLoadBootstrap(SnapshotReader<byte[]> reader) {
        load("loadBootstrap", reader);
    }

    private void load(String what, SnapshotReader<byte[]> reader) {
        read(() -> {
            try (reader) {
                int n = 0;
                while (reader.hasNext()) n += reader.next().records().size();
                fx.add(what, reader.snapshotId().offset(), reader.snapshotId().epoch(), n);
            }
        });
    }

    @Override public void handleLeaderChange(LeaderAndEpoch l) {
        fx.add("leaderChange", l.leaderId().orElse(-1), l.epoch());
    }

    @Override public void beginShutdown() {
        fx.add("beginShutdown");
    }
}
