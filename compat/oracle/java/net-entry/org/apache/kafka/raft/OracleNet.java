package org.apache.kafka.raft;

import org.apache.kafka.common.network.ListenerName;

import java.util.ArrayDeque;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** Message queue and network channel since Kafka 4.4 (KAFKA-16213): queue and channel own the futures. */
final class OracleNet implements RaftMessageQueue, NetworkChannel {
    private record Entry(RaftMessage message, CompletableFuture<RaftMessage> future) implements QueueEntry { }

    private final ArrayDeque<QueueEntry> queue = new ArrayDeque<>();
    private final Map<RaftRequest.Outbound, CompletableFuture<RaftResponse.Inbound>> awaiting = new IdentityHashMap<>();
    private final ListenerName listener;
    private final Consumer<RaftRequest.Outbound> onSend;
    private int nextCorrelation;
    long lastWait = -1;
    boolean woken;
    Runnable during = () -> { };

    OracleNet(String listener, Consumer<RaftRequest.Outbound> onSend) {
        this.listener = new ListenerName(listener);
        this.onSend = onSend;
    }

    int depth() {
        return queue.size();
    }

    void request(KafkaRaftClient<?> client, RaftRequest.Inbound in, Consumer<RaftResponse.Outbound> done) {
        client.handle(in).whenComplete((r, t) -> done.accept(r));
    }

    void respond(RaftRequest.Outbound out, RaftResponse.Inbound in) {
        awaiting.remove(out).complete(in);
    }

    @Override public Optional<QueueEntry> poll(long timeoutMs) {
        lastWait = timeoutMs;
        during.run();
        woken = false;
        return Optional.ofNullable(queue.poll());
    }

    @Override public CompletionStage<RaftMessage> add(RaftMessage message) {
        if (message == null) throw new IllegalArgumentException("message cannot be null");
        Entry entry = new Entry(message, new CompletableFuture<>());
        queue.add(entry);
        return entry.future;
    }

    @Override public boolean isEmpty() {
        return queue.isEmpty();
    }

    @Override public void wakeup() {
        woken = true;
    }

    @Override public int newCorrelationId() {
        return nextCorrelation++;
    }

    @Override public CompletionStage<RaftResponse.Inbound> send(RaftRequest.Outbound request) {
        CompletableFuture<RaftResponse.Inbound> future = new CompletableFuture<>();
        awaiting.put(request, future);
        onSend.accept(request);
        return future;
    }

    @Override public ListenerName listenerName() {
        return listener;
    }

    @Override public void close() { }
}
