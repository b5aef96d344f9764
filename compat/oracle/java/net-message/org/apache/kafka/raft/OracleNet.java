package org.apache.kafka.raft;

import org.apache.kafka.common.network.ListenerName;

import java.util.ArrayDeque;
import java.util.function.Consumer;

/** Message queue and network channel before Kafka 4.4: the futures ride on the messages. */
final class OracleNet implements RaftMessageQueue, NetworkChannel {
    private final ArrayDeque<RaftMessage> queue = new ArrayDeque<>();
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
        in.completion.whenComplete((r, t) -> done.accept(r));
        client.handle(in);
    }

    void respond(RaftRequest.Outbound out, RaftResponse.Inbound in) {
        out.completion.complete(in);
    }

    @Override public RaftMessage poll(long timeoutMs) {
        lastWait = timeoutMs;
        during.run();
        woken = false;
        return queue.poll();
    }

    @Override public void add(RaftMessage message) {
        queue.add(message);
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

    @Override public void send(RaftRequest.Outbound request) {
        onSend.accept(request);
    }

    @Override public ListenerName listenerName() {
        return listener;
    }
}
