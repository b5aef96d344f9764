package org.apache.kafka.raft;

import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RawSnapshotReader;
import org.apache.kafka.snapshot.RawSnapshotWriter;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Batches kept as bytes in memory, with the rules of the file based metadata log. */
final class OracleMemLog extends OracleLogBase {
    private record Entry(long base, long last, int epoch, long timestamp, byte[] bytes) { }

    private final TopicPartition tp;
    private final Uuid topicId;
    private final OracleEffects fx;
    private final List<Entry> batches = new ArrayList<>();
    private final TreeMap<Integer, Long> epochs = new TreeMap<>();
    private final TreeMap<OffsetAndEpoch, byte[]> snapshots = new TreeMap<>();
    private final boolean oneSegment; // as a file log that never rolls: a restart finds again what the log start had left behind
    private long segment; // base offset of the first segment
    private long start;
    private long end;
    private long hw;
    private long flushed;

    OracleMemLog(TopicPartition tp, Uuid topicId, OracleEffects fx, boolean oneSegment) {
        this.oneSegment = oneSegment;
        this.tp = tp;
        this.topicId = topicId;
        this.fx = fx;
    }

    /** What a restart leaves: everything, or everything flushed. An epoch that starts at the end, and snapshots below the start, are forgotten. */
    void reopen(boolean keepUnflushed) {
        start = segment;
        // A log that ends before its start begins anew there (LogLoader.recoverLog).
        cut(keepUnflushed ? end : Math.max(start, Math.min(flushed, end)));
        // A truncation inside a batch left a gap before the end. On disk there are only batches.
        cut(batches.isEmpty() ? start : batches.get(batches.size() - 1).last + 1);
        // Recovery reads every batch over the epochs as they were (LogSegment.recover). Where a leader has written an older epoch behind a
        // newer one, the newer one comes back.
        for (Entry b : batches) if (epochs.isEmpty() || b.epoch > epochs.lastKey()) assignEpoch(b.epoch, b.base);
        flushed = end;
        hw = start;
        snapshots.keySet().removeIf(id -> id.offset() < start);
        truncateToLatestSnapshot();
    }

    /** Makes everything durable without an effect. */
    void settle() {
        flushed = end;
    }

    long flushedOffset() {
        return flushed;
    }

    Map<OffsetAndEpoch, byte[]> snapshots() {
        return snapshots;
    }

    List<Object> epochs() {
        List<Object> l = new ArrayList<>();
        epochs.forEach((e, o) -> l.add(List.of(e, o)));
        return l;
    }

    byte[] bytes(long from) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (Entry b : batches) if (b.last >= from) out.writeBytes(b.bytes);
        return out.toByteArray();
    }

    @Override public LogAppendInfo appendAsLeader(Records records, int epoch) {
        return append(OracleCanon.controlBatches(records), epoch, true);
    }

    @Override LogAppendInfo follow(Records records, int epoch) {
        return append(records, epoch, false);
    }

    private LogAppendInfo append(Records records, int epoch, boolean leader) {
        if (records.sizeInBytes() == 0) throw new IllegalArgumentException("Attempt to append an empty record set");
        List<Entry> add = new ArrayList<>();
        boolean skip = false; // the first newer epoch and all behind it, which is read nevertheless (UnifiedLog.analyzeAndValidateRecords)
        for (RecordBatch b : records.batches()) {
            skip |= !leader && b.partitionLeaderEpoch() > epoch;
            if (skip) continue;
            if (leader && b.partitionLeaderEpoch() != epoch) throw new org.apache.kafka.common.InvalidRecordException("epoch of batch");
            b.ensureValid();
            if (!leader && !add.isEmpty() && b.lastOffset() <= add.get(add.size() - 1).last) throw new IllegalStateException("Out of order offsets");
            ByteBuffer buf = ByteBuffer.allocate(b.sizeInBytes());
            ((MutableRecordBatch) b).writeTo(buf);
            add.add(new Entry(b.baseOffset(), b.lastOffset(), b.partitionLeaderEpoch(), b.maxTimestamp(), buf.array()));
        }
        if (add.isEmpty()) throw new CorruptRecordException("Append failed unexpectedly");
        if (add.get(0).base < end) throw new IllegalStateException("Unexpected offset in append, expected " + end + " got " + add.get(0).base);
        fx.attempt("append"); // what is refused never came to the disk
        for (Entry e : add) {
            assignEpoch(e.epoch, e.base);
            batches.add(e);
            end = e.last + 1;
        }
        fx.add("append", leader ? "leader" : "follower", add.get(0).base, add.get(add.size() - 1).last,
            add.stream().map(e -> List.of(e.base, e.epoch, e.bytes.length, e.timestamp)).toList());
        return new LogAppendInfo(add.get(0).base, add.get(add.size() - 1).last);
    }

    private void assignEpoch(int epoch, long offset) {
        if (epoch < 0 || offset < 0) throw new IllegalArgumentException("Received invalid partition leader epoch entry");
        Map.Entry<Integer, Long> last = epochs.lastEntry();
        if (last != null && last.getKey() == epoch && offset >= last.getValue()) return;
        while ((last = epochs.lastEntry()) != null && (last.getKey() >= epoch || last.getValue() >= offset)) epochs.remove(last.getKey());
        epochs.put(epoch, offset);
    }

    @Override public void initializeLeaderEpoch(int epoch) {
        fx.attempt("epoch");
        assignEpoch(epoch, end);
        fx.add("epoch", epoch, end);
    }

    @Override LogFetchInfo fetch(long offset, Isolation isolation, int maxBytes) {
        if (offset > end || offset < start)
            throw new OffsetOutOfRangeException("Received request for offset " + offset + ", but we only have " + start + " to " + end);
        long limit = isolation == Isolation.COMMITTED ? hw : end;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        long first = offset;
        if (offset < limit) {
            if (maxBytes < 0) throw new IllegalArgumentException("Invalid max size " + maxBytes);
            // A high watermark within a batch stands at the begin of it, as a position in the file (UnifiedLog.fetchHighWatermarkMetadata).
            for (int i = find(offset); i < batches.size() && batches.get(i).last < limit; i++) {
                Entry e = batches.get(i);
                if (out.size() == 0) {
                    first = e.base;
                    out.writeBytes(e.bytes);
                } else if (out.size() >= maxBytes) {
                    break;
                } else {
                    out.write(e.bytes, 0, Math.min(e.bytes.length, maxBytes - out.size()));
                }
            }
        }
        return new LogFetchInfo(MemoryRecords.readableRecords(ByteBuffer.wrap(out.toByteArray())), new LogOffsetMetadata(first));
    }

    private int find(long offset) {
        int lo = 0, hi = batches.size();
        while (lo < hi) {
            int mid = (lo + hi) >>> 1;
            if (batches.get(mid).last < offset) lo = mid + 1; else hi = mid;
        }
        return lo;
    }

    @Override public int lastFetchedEpoch() {
        if (!epochs.isEmpty()) return epochs.lastKey();
        Optional<OffsetAndEpoch> id = latestSnapshotId();
        if (id.isPresent() && (id.get().offset() != start || id.get().offset() != end))
            throw new KafkaException("The log starts at " + start + " and ends at " + end + " without an epoch, but its snapshot is " + id.get());
        return id.map(OffsetAndEpoch::epoch).orElse(0);
    }

    @Override public OffsetAndEpoch endOffsetForEpoch(int epoch) {
        if (epochs.isEmpty() || epochs.higherKey(epoch) == null && epochs.lastKey() != epoch) return new OffsetAndEpoch(end, lastFetchedEpoch());
        OffsetAndEpoch found;
        if (epochs.lastKey() == epoch) {
            found = new OffsetAndEpoch(end, epoch);
        } else {
            Integer floor = epochs.floorKey(epoch);
            found = new OffsetAndEpoch(epochs.higherEntry(epoch).getValue(), floor == null ? epoch : floor);
        }
        Optional<OffsetAndEpoch> oldest = earliestSnapshotId();
        if (oldest.isPresent() && found.offset() == oldest.get().offset() && found.epoch() == epoch) return oldest.get();
        return found;
    }

    @Override public LogOffsetMetadata endOffset() {
        return new LogOffsetMetadata(end);
    }

    @Override public LogOffsetMetadata highWatermark() {
        return new LogOffsetMetadata(hw);
    }

    @Override public long startOffset() {
        return start;
    }

    @Override public void truncateTo(long offset) {
        if (offset < hw) throw new IllegalArgumentException("Attempt to truncate to offset " + offset + ", which is below the current high watermark " + hw);
        fx.attempt("truncate");
        fx.add("truncate", offset);
        cut(offset);
    }

    private void cut(long offset) {
        while (!batches.isEmpty() && batches.get(batches.size() - 1).last >= offset) batches.remove(batches.size() - 1);
        end = Math.min(end, offset);
        while (!epochs.isEmpty() && epochs.lastEntry().getValue() >= offset) epochs.remove(epochs.lastKey());
        flushed = Math.min(flushed, end);
    }

    @Override public boolean truncateToLatestSnapshot() {
        int latest = epochs.isEmpty() ? 0 : epochs.lastKey();
        Optional<OffsetAndEpoch> id = latestSnapshotId();
        if (id.isEmpty() || id.get().epoch() < latest || id.get().epoch() == latest && id.get().offset() <= end) return false;
        fx.add("truncateToSnapshot", id.get().offset(), id.get().epoch());
        batches.clear();
        epochs.clear();
        segment = start = end = flushed = id.get().offset();
        hw = Math.max(hw, start);
        if (hw > end) hw = end;
        snapshots.headMap(id.get(), false).clear();
        return true;
    }

    @Override public void updateHighWatermark(LogOffsetMetadata m) {
        fx.attempt("hw");
        hw = Math.max(start, Math.min(end, m.offset()));
        fx.add("hw", m.offset());
    }

    @Override public boolean deleteBeforeSnapshot(OffsetAndEpoch id) {
        if (!snapshots.containsKey(id) || start >= id.offset() || id.offset() > hw) return false;
        fx.add("deleteBefore", id.offset(), id.epoch());
        start = id.offset();
        if (!oneSegment) {
            batches.removeIf(b -> b.last < start);
            segment = start;
        }
        Map.Entry<Integer, Long> floor = null;
        while (!epochs.isEmpty() && epochs.firstEntry().getValue() <= start) floor = epochs.pollFirstEntry();
        if (floor != null) epochs.put(floor.getKey(), start);
        snapshots.headMap(id, false).clear();
        return true;
    }

    @Override public void flush(boolean force) {
        fx.attempt("flush");
        fx.add("flush", end);
        flushed = end;
    }

    @Override public boolean maybeClean() {
        fx.add("clean");
        return false;
    }

    @Override public TopicPartition topicPartition() {
        return tp;
    }

    @Override public Uuid topicId() {
        return topicId;
    }

    @Override public Optional<RawSnapshotWriter> createNewSnapshot(OffsetAndEpoch id) {
        if (id.offset() < start) return Optional.empty();
        if (id.offset() > hw)
            throw new IllegalArgumentException("Cannot create a snapshot with an id (" + id + ") greater than the high-watermark (" + hw + ")");
        ValidOffsetAndEpoch v = validateOffsetAndEpoch(id.offset(), id.epoch());
        if (v.kind() != ValidOffsetAndEpoch.Kind.VALID)
            throw new IllegalArgumentException("Snapshot id (" + id + ") is not valid according to the log: " + v);
        int at = find(id.offset());
        if (at < batches.size() && batches.get(at).base != id.offset())
            throw new IllegalArgumentException("Cannot create snapshot at offset (" + id.offset() + ") because it is not batch aligned.");
        return createNewSnapshotUnchecked(id);
    }

    @Override public Optional<RawSnapshotWriter> createNewSnapshotUnchecked(OffsetAndEpoch id) {
        return snapshots.containsKey(id) ? Optional.empty() : Optional.of(new Writer(id));
    }

    @Override public Optional<RawSnapshotReader> readSnapshot(OffsetAndEpoch id) {
        return Optional.ofNullable(snapshots.get(id)).map(b -> new Reader(id, b));
    }

    @Override public Optional<RawSnapshotReader> latestSnapshot() {
        return latestSnapshotId().flatMap(this::readSnapshot);
    }

    @Override public Optional<OffsetAndEpoch> latestSnapshotId() {
        return snapshots.isEmpty() ? Optional.empty() : Optional.of(snapshots.lastKey());
    }

    @Override public Optional<OffsetAndEpoch> earliestSnapshotId() {
        return snapshots.isEmpty() ? Optional.empty() : Optional.of(snapshots.firstKey());
    }

    @Override public void onSnapshotFrozen(OffsetAndEpoch id) { }

    @Override public void close() { }

    private record Reader(OffsetAndEpoch snapshotId, byte[] bytes) implements RawSnapshotReader {
        @Override public long sizeInBytes() {
            return bytes.length;
        }

        @Override public UnalignedRecords slice(long position, int size) {
            int from = Math.toIntExact(position);
            return new UnalignedMemoryRecords(ByteBuffer.wrap(bytes, from, Math.min(size, bytes.length - from)).slice());
        }

        @Override public Records records() {
            return MemoryRecords.readableRecords(ByteBuffer.wrap(bytes));
        }
    }

    private final class Writer implements RawSnapshotWriter {
        private final OffsetAndEpoch id;
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private boolean frozen;

        Writer(OffsetAndEpoch id) {
            this.id = id;
        }

        @Override public OffsetAndEpoch snapshotId() {
            return id;
        }

        @Override public long sizeInBytes() {
            return out.size();
        }

        private void add(ByteBuffer b) {
            fx.attempt("snapshotAppend");
            byte[] a = new byte[b.remaining()];
            b.duplicate().get(a);
            out.writeBytes(a);
        }

        @Override public void append(UnalignedMemoryRecords r) {
            add(r.buffer());
        }

        @Override public void append(MemoryRecords r) {
            add(r.buffer());
        }

        @Override public boolean isFrozen() {
            return frozen;
        }

        @Override public void freeze() {
            if (frozen) throw new IllegalStateException("already frozen");
            fx.attempt("freeze");
            frozen = true;
            snapshots.putIfAbsent(id, out.toByteArray());
            fx.add("freeze", id.offset(), id.epoch(), out.size());
        }

        @Override public void close() { }
    }
}
