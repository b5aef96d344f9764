package org.apache.kafka.raft;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.common.utils.internals.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.RawSnapshotWriter;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;
import org.apache.kafka.snapshot.SnapshotWriter;
import org.apache.kafka.snapshot.Snapshots;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

/** One real KafkaRaftClient whose clock, randomness, storage, network and scheduling belong to the driver. */
final class OracleNode {
    private static final int SETTLE_LIMIT = 100;

    private final OracleSpec spec;
    private final OracleEffects fx = new OracleEffects();
    private final OracleTime time = new OracleTime();
    private final OracleSends sends = new OracleSends(fx);
    private final OracleStore store = new OracleStore(fx);
    private final OracleRandom random;
    private final OracleLog log;
    private List<Long> waits = new ArrayList<>();
    private OracleNet net;
    private OracleExpiration expiration;
    private OracleListener listener;
    private Metrics metrics;
    private KafkaRaftClient<byte[]> client;
    private String fatal;
    private long duringMs;
    private Runnable inside = () -> { }; // what another thread does while the next turn waits for a message

    OracleNode(OracleSpec fields) {
        spec = fields;
        time.now = spec.num("now", 0);
        random = new OracleRandom(spec.has("seed") ? spec.num("seed", 0) : null, time::milliseconds, (bounds, v) -> fx.add("draw", bounds, v));
        log = new OracleLog(fx, time, spec);
        settings(spec);
        if (spec.has("state")) store.seed(new OracleSpec(spec.map("state")));
        seedLog();
        boot(spec.flag("hold", false));
    }

    // ---- start and restart

    private void seedLog() {
        if (spec.has("log") && log.end() == 0) log.seed(spec.bytes("log"));
        else if (spec.num("kraft", 0) == 1 && spec.has("voters") && log.end() == 0 && ((Optional<?>) log.call("latestSnapshotId")).isEmpty())
            bootstrapCheckpoint();
        spec.remove("log");
    }

    private void bootstrapCheckpoint() {
        RawSnapshotWriter raw = ((Optional<RawSnapshotWriter>) log.call("createNewSnapshotUnchecked", Snapshots.BOOTSTRAP_SNAPSHOT_ID)).get();
        // setTime: else the snapshot header carries the wall clock
        try (RecordsSnapshotWriter<byte[]> w = new RecordsSnapshotWriter.Builder().setTime(time).setRawSnapshotWriter(raw)
            .setKraftVersion(KRaftVersion.KRAFT_VERSION_1).setVoterSet(Optional.of(spec.voters("voters", true))).build(new OracleSerde())) {
            w.freeze();
        }
        fx.clear();
    }

    @SuppressWarnings("unchecked")
    private void boot(boolean hold) {
        String channel = spec.str("listener", "CONTROLLER");
        sends.clear();
        net = new OracleNet(channel, sends::onSend);
        expiration = new OracleExpiration(time);
        listener = new OracleListener(fx);
        if (hold) listener.hold();
        metrics = new Metrics(time);
        List<InetSocketAddress> servers = new ArrayList<>();
        for (Object s : spec.list("bootstrapServers")) servers.add(OracleSpec.address(s));
        OptionalInt id = spec.has("id") ? OptionalInt.of((int) spec.num("id", 0)) : OptionalInt.empty();
        try {
            Constructor<?> constructor = Arrays.stream(KafkaRaftClient.class.getDeclaredConstructors())
                .filter(c -> c.getParameterCount() == 18).findFirst().orElseThrow();
            client = (KafkaRaftClient<byte[]>) constructor.newInstance(id, Uuid.fromString(spec.str("dir", "")), new OracleSerde(), net, net, log.get(),
                new OraclePool(), time, expiration, (int) spec.num("fetchMaxWaitMs", 500), !spec.flag("cannotBecomeVoter", false), spec.str("cluster", "c"), servers,
                Endpoints.fromInetSocketAddresses(spec.endpoints("endpoints")),
                new SupportedVersionRange((short) spec.num("minKraft", 0), (short) spec.num("maxKraft", 1)),
                new LogContext("[" + spec.str("node", "") + "] "), random, config());
            client.register(listener);
            client.initialize(staticVoters(channel), store, metrics, ignored -> { });
        } catch (InvocationTargetException e) {
            die(e.getCause());
        } catch (Throwable t) {
            die(t);
        }
        sends.flush();
    }

    /** Static voters in id order, which is the order of their use as bootstrap servers. */
    private Map<Integer, InetSocketAddress> staticVoters(String channel) {
        Map<Integer, InetSocketAddress> m = new TreeMap<>();
        if (spec.num("kraft", 0) == 1) return m;
        VoterSet voters = spec.voters("voters", false);
        for (Integer id : voters.voterIds()) m.put(id, voters.listeners(id).address(new ListenerName(channel)).get());
        return m;
    }

    private QuorumConfig config() {
        Map<String, Object> m = new HashMap<>();
        spec.map("config").forEach((k, v) -> m.put(k, v instanceof Long l ? (Object) l.intValue() : v));
        return new QuorumConfig(new AbstractConfig(QuorumConfig.CONFIG_DEF, m, false));
    }

    // ---- commands

    /** The answer to init: the effects of the start itself. */
    Map<String, Object> started(OracleSpec c) {
        return answer(c, new LinkedHashMap<>(), 0);
    }

    Map<String, Object> run(OracleSpec c) {
        Map<String, Object> out = new LinkedHashMap<>();
        int polls = carryOut(c, out);
        return answer(c, out, polls);
    }

    private int carryOut(OracleSpec c, Map<String, Object> out) {
        fx.clear();
        waits = new ArrayList<>();
        time.now = Math.max(time.now, c.num("now", time.now));
        duringMs = c.num("during", 0);
        inside = () -> { };
        settings(c);
        if (c.flag("expire", false)) out.put("expired", expiration.fire());
        String command = c.str("cmd", "");
        if (fatal == null || command.equals("restart") || command.equals("snapshotBytes")) { // what is on disk can be read after a fatal turn
            try {
                command(command, c, out);
            } catch (InvocationTargetException e) {
                out.put("error", e.getCause().toString());
            } catch (Throwable t) {
                out.put("error", t.toString());
            }
        }
        int polls = 0;
        for (long n = c.num("poll", 0); n > 0 && fatal == null && client.isRunning(); n--, polls++) poll();
        if (c.flag("settle", false)) polls += settle();
        sends.flush();
        return polls;
    }

    void startedBriefly(OracleSpec c, StringBuilder text) {
        answerBriefly(c, Map.of(), text);
    }

    void runBriefly(OracleSpec c, StringBuilder text) {
        Map<String, Object> out = new HashMap<>();
        carryOut(c, out);
        answerBriefly(c, out, text);
    }

    /**
     * Refused, fatal, finished and deleted as digits, then offset, waits, the digest of the state if that is asked for, and the
     * effects.
     */
    private void answerBriefly(OracleSpec c, Map<String, Object> out, StringBuilder text) {
        boolean running = fatal == null && client.isRunning();
        text.append(out.containsKey("error") ? '1' : '0').append(fatal != null ? '1' : '0').append(fatal == null && !running ? '1' : '0')
            .append(Boolean.TRUE.equals(out.get("deleted")) ? '1' : '0').append(' ').append(out.getOrDefault("offset", 0L)).append(' ');
        OracleJson.write(text, waits);
        text.append(' ');
        if (fatal == null && c.flag("st", false)) text.append(Long.toHexString(OracleDigest.of(state(), time.now)));
        else text.append('-');
        text.append(' ');
        OracleJson.write(text, fx.list());
    }

    private Map<String, Object> answer(OracleSpec c, Map<String, Object> out, int polls) {
        out.put("now", time.now);
        if (polls > 0) out.put("polls", polls);
        if (!waits.isEmpty()) out.put("waits", waits);
        out.put("fx", fx.list());
        if (fatal != null) {
            out.put("fatal", fatal);
        } else {
            if (expiration.nextDeadline() != null) out.put("nextExpiry", expiration.nextDeadline());
            if (net.depth() > 0) out.put("queue", net.depth());
            if (!client.isRunning()) out.put("finished", true);
            if (c.flag("st", false)) out.put("st", state());
        }
        return out;
    }

    private Map<String, Object> state() {
        Map<String, Object> m = OracleState.dump(client, log, sends);
        m.put("stored", store.describe());
        Map<?, ?> contexts = (Map<?, ?>) OracleFields.get(client, "listenerContexts");
        for (Object context : contexts.values()) m.put("listenerNext", OracleFields.get(context, "nextOffset"));
        if (listener.heldReaders() > 0) m.put("heldReaders", listener.heldReaders());
        return m;
    }

    /** Fields that any command may carry. */
    private void settings(OracleSpec c) {
        c.map("random").forEach((bounds, values) -> {
            for (Object v : (List<?>) values) random.script(bounds, ((Long) v).intValue());
        });
        c.map("maxVersions").forEach((api, v) -> sends.limit(Integer.parseInt(api), ((Long) v).shortValue()));
        c.map("failAt").forEach((operation, n) -> fx.failAt(operation, (Long) n));
    }

    private void command(String command, OracleSpec c, Map<String, Object> out) throws Exception {
        int epoch = (int) c.num("epoch", 0);
        switch (command) {
            case "poll" -> { }
            case "request" -> request(c);
            case "response" -> sends.respond(net, c);
            case "append" -> {
                out.put("offset", client.prepareAppend(epoch, c.byteList("records")));
                if (!c.flag("noSchedule", false)) client.schedulePreparedAppend();
            }
            case "schedule" -> client.schedulePreparedAppend();
            case "resign" -> client.resign(epoch);
            case "shutdown" -> {
                if (c.flag("inside", false)) inside = () -> shutdown(c);
                else shutdown(c);
            }
            case "upgrade" -> client.getClass().getMethod("upgradeKRaftVersion", int.class, KRaftVersion.class, boolean.class)
                .invoke(client, epoch, KRaftVersion.fromFeatureLevel((short) c.num("level", 0)), c.flag("validateOnly", false));
            case "snapshot" -> out.put("created", snapshot(c, new OffsetAndEpoch(c.num("offset", 0), epoch)));
            case "deleteBefore" -> out.put("deleted", log.call("deleteBeforeSnapshot", new OffsetAndEpoch(c.num("offset", 0), epoch)));
            case "hold" -> listener.hold();
            case "release" -> listener.release();
            case "restart" -> {
                fatal = null;
                log.reopen(!c.flag("loseUnflushed", false));
                metrics.close();
                boot(c.flag("hold", false));
            }
            case "snapshotBytes" -> out.put("bytes", Base64.getEncoder().encodeToString(log.memory.snapshots().get(new OffsetAndEpoch(c.num("offset", 0), epoch))));
            case "log" -> out.put("bytes", Base64.getEncoder().encodeToString(log.memory.bytes(c.num("from", 0))));
            default -> throw new IllegalArgumentException("unknown command " + command);
        }
    }

    private void shutdown(OracleSpec c) {
        client.shutdown((int) c.num("ms", 0)).whenComplete((v, t) -> fx.add("shutdown", t == null ? "ok" : t.getClass().getSimpleName()));
    }

    private void request(OracleSpec c) {
        short api = (short) c.num("api", -1);
        short version = (short) c.num("ver", -1);
        int number = (int) c.num("corr", -1);
        ListenerName arrival = new ListenerName(c.str("arrival", spec.str("listener", "CONTROLLER")));
        RaftRequest.Inbound in = new RaftRequest.Inbound(arrival, number, version, OracleBodies.request(api, version, c.bytes("body")), time.now);
        net.request(client, in, r -> reply(number, api, version, r));
    }

    /** A completion swallows exceptions, so an answer that cannot be encoded becomes an effect of its own. */
    private void reply(int number, short api, short version, RaftResponse.Outbound r) {
        String body = null;
        try {
            body = OracleBodies.encode(r.data(), version);
        } catch (RuntimeException e) {
            // Kafka's server fails at the same place and answers UNKNOWN_SERVER_ERROR: no body
        }
        fx.add("reply", number, api, version, body);
    }

    private boolean snapshot(OracleSpec c, OffsetAndEpoch id) {
        Optional<SnapshotWriter<byte[]>> writer = client.createSnapshot(id, c.num("timestamp", 0));
        if (writer.isEmpty()) return false;
        try (SnapshotWriter<byte[]> w = writer.get()) {
            List<byte[]> records = c.byteList("records");
            if (!records.isEmpty()) w.append(records);
            w.freeze();
        }
        return true;
    }

    // ---- turns

    private void poll() {
        net.during = () -> {
            time.now += duringMs;
            Runnable once = inside;
            inside = () -> { };
            once.run();
        };
        net.lastWait = -1;
        try {
            client.poll();
        } catch (Throwable t) {
            die(t);
        }
        waits.add(net.lastWait);
        sends.flush();
    }

    /** Turns until nothing is queued and nothing but draws happens. */
    private int settle() {
        int n = 0;
        while (n < SETTLE_LIMIT && fatal == null && client.isRunning()) {
            int before = fx.list().size();
            int depth = net.depth();
            poll();
            n++;
            boolean quiet = depth == 0 && net.depth() == 0 && net.lastWait > 0 && !net.woken;
            for (int i = before; i < fx.list().size(); i++)
                if (!fx.list().get(i).get(0).equals("draw")) quiet = false;
            if (quiet) break;
        }
        return n;
    }

    private void die(Throwable t) {
        fatal = t.toString();
        if (System.getProperty("oracle.trace") != null) t.printStackTrace();
    }
}
