package org.apache.kafka.raft;

import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.raft.internals.FuturePurgatory;
import org.apache.kafka.raft.internals.KRaftControlRecordStateMachine;
import org.apache.kafka.snapshot.RawSnapshotWriter;

import java.lang.reflect.Field;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import static org.apache.kafka.raft.OracleFields.get;
import static org.apache.kafka.raft.OracleFields.has;

/** Everything a client knows, with every list in id order. Nothing here calls a method that touches a timer. */
final class OracleState {
    private OracleState() { }

    static Map<String, Object> dump(KafkaRaftClient<?> client, OracleLog log, OracleSends sends) {
        Map<String, Object> m = new LinkedHashMap<>();
        QuorumState q = client.quorum();
        EpochState role = (EpochState) get(q, "state");
        m.put("role", role.name());
        m.put("epoch", q.epoch());
        m.put("leader", q.leaderIdOrSentinel());
        m.put("leaderEndpoints", text(q.leaderEndpoints()));
        m.put("voted", q.votedKey().map(OracleState::key).orElse(null));
        m.put("hw", offset(q.highWatermark()));
        logFields(m, log);
        KRaftControlRecordStateMachine p = (KRaftControlRecordStateMachine) get(client, "partitionState");
        m.put("kraft", p.lastKraftVersion().featureLevel());
        m.put("voters", voters(p.lastVoterSet()));
        m.put("votersOffset", p.lastVoterSetOffset().orElse(-1));
        m.put("timers", timers(role));
        m.put("cleaner", get(get(get(client, "snapshotCleaner"), "timer"), "deadlineMs"));
        m.put("conns", connections(client, sends));
        m.put("parked", ((FuturePurgatory<?>) get(client, "fetchPurgatory")).numWaiting());
        roleFields(m, role);
        if (!client.isRunning()) m.put("finished", true);
        return m;
    }

    private static void logFields(Map<String, Object> m, OracleLog log) {
        m.put("start", log.call("startOffset"));
        m.put("end", log.end());
        m.put("lastEpoch", lastEpoch(log));
        if (log.memory == null) {
            m.put("latestSnapshot", log.call("latestSnapshotId").toString());
            return;
        }
        m.put("logHW", log.memory.highWatermark().offset());
        m.put("flushed", log.memory.flushedOffset());
        m.put("epochs", log.memory.epochs());
        List<Object> snapshots = new ArrayList<>();
        log.memory.snapshots().forEach((k, v) -> snapshots.add(List.of(k.offset(), k.epoch(), v.length)));
        m.put("snapshots", snapshots);
    }

    /** -1 where the log cannot tell, on which the client itself would fail. */
    private static Object lastEpoch(OracleLog log) {
        try {
            return log.call("lastFetchedEpoch");
        } catch (RuntimeException e) {
            return -1;
        }
    }

    @SuppressWarnings("unchecked")
    private static void roleFields(Map<String, Object> m, EpochState role) {
        if (has(role, "epochElection")) m.put("tally", tally(get(role, "epochElection")));
        if (has(role, "retries")) m.put("retries", get(role, "retries"));
        if (has(role, "isBackingOff")) m.put("backingOff", get(role, "isBackingOff"));
        if (role instanceof ResignedState r) {
            m.put("unacked", new TreeSet<>(r.unackedVoters()));
            m.put("successors", r.preferredSuccessors().stream().map(OracleState::key).toList());
        } else if (role instanceof FollowerState f) {
            m.put("hasFetched", get(f, "hasFetchedFromLeader"));
            if (has(f, "hasUpdatedLeader")) m.put("hasUpdatedLeader", get(f, "hasUpdatedLeader"));
            m.put("fetchingSnapshot", ((Optional<RawSnapshotWriter>) get(f, "fetchingSnapshot"))
                .map(x -> List.of(x.snapshotId().offset(), x.snapshotId().epoch(), x.sizeInBytes())).orElse(null));
        } else if (role instanceof LeaderState<?> l) {
            leaderFields(m, l);
        }
    }

    @SuppressWarnings("unchecked")
    private static void leaderFields(Map<String, Object> m, LeaderState<?> l) {
        m.put("epochStart", l.epochStartOffset());
        m.put("granting", new TreeSet<>(l.grantingVoters()));
        m.put("replicas", replicas((Map<?, ?>) get(l, "voterStates")));
        m.put("observers", replicas((Map<?, ?>) get(l, "observerStates")));
        m.put("fetched", new TreeSet<>((Set<Integer>) get(l, "fetchedVoters")));
        m.put("nextOffset", get(get(l, "accumulator"), "nextOffset"));
        m.put("resignRequested", l.isResignRequested());
        Object holder = has(l, "changeVoterState") ? get(l, "changeVoterState") : l;
        for (String kind : List.of("add", "remove", "update")) {
            if (!has(holder, kind + "VoterHandlerState")) continue;
            ((Optional<?>) get(holder, kind + "VoterHandlerState")).ifPresent(s -> m.put("pendingChange", pending(kind, s)));
        }
        if (!has(l, "kraftVersionUpgradeState")) return;
        Object upgrade = ((java.util.concurrent.atomic.AtomicReference<?>) get(l, "kraftVersionUpgradeState")).get();
        if (has(upgrade, "voters")) m.put("volatileVoters", voters((VoterSet) get(upgrade, "voters")));
        if (has(upgrade, "kraftVersion")) m.put("requestedKraft", get(upgrade, "kraftVersion").toString());
    }

    private static Map<String, Object> row(Object... namesAndValues) {
        Map<String, Object> m = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2)
            if (namesAndValues[i + 1] != null) m.put((String) namesAndValues[i], namesAndValues[i + 1]);
        return m;
    }

    private static Map<String, Object> pending(String kind, Object state) {
        Object offset = has(state, "lastOffset") ? get(state, "lastOffset") : OptionalLong.empty();
        if (offset instanceof OptionalLong o) offset = o.orElse(-1);
        return row("kind", kind, "voter", has(state, "voterKey") ? key((ReplicaKey) get(state, "voterKey")) : "",
            "deadline", get(get(state, "timeout"), "deadlineMs"), "offset", offset);
    }

    private static long offset(Optional<LogOffsetMetadata> o) {
        return o.map(LogOffsetMetadata::offset).orElse(-1L);
    }

    private static final Map<VoterSet, List<Object>> VOTERS = new IdentityHashMap<>(); // a set never changes

    private static List<Object> voters(VoterSet set) {
        List<Object> l = VOTERS.get(set);
        if (l != null) return l;
        if (VOTERS.size() > 1000) VOTERS.clear();
        VOTERS.put(set, l = new ArrayList<>());
        fill(l, set);
        return l;
    }

    private static void fill(List<Object> l, VoterSet set) {
        set.voterNodes().stream().sorted(Comparator.comparingInt(v -> v.voterKey().id()))
            .forEach(v -> {
                SupportedVersionRange range = (SupportedVersionRange) get(v, "supportedKRaftVersion");
                l.add(row("key", key(v.voterKey()), "endpoints", text(v.listeners()), "min", range.min(), "max", range.max()));
            });
    }

    private static final Map<Endpoints, String> TEXT = new HashMap<>();

    private static String text(Endpoints e) {
        return TEXT.computeIfAbsent(e, k -> {
            TreeMap<String, String> m = new TreeMap<>();
            ((Map<?, ?>) get(k, "endpoints")).forEach((l, a) ->
                m.put(((ListenerName) l).value(), ((InetSocketAddress) a).getHostString() + ":" + ((InetSocketAddress) a).getPort()));
            return m.toString();
        });
    }

    static String key(ReplicaKey k) {
        return k.id() + k.directoryId().map(d -> "/" + d).orElse("");
    }

    private static final Map<String, String> TIMER_NAMES = Map.of("electionTimer", "election", "fetchTimer", "fetch",
        "updateVoterPeriodTimer", "updateVoter", "updateVoterSetPeriodTimer", "updateVoter",
        "checkQuorumTimer", "checkQuorum", "beginQuorumEpochTimer", "beginEpoch", "backoffTimer", "backoff");

    private static Map<String, Object> timers(EpochState role) {
        Map<String, Object> m = new TreeMap<>();
        for (Field f : OracleFields.of(role.getClass()).values()) {
            if (f.getType() != Timer.class) continue;
            String name = TIMER_NAMES.getOrDefault(f.getName(), f.getName());
            if (name.equals("backoff") && !(Boolean) get(role, "isBackingOff")) continue;
            m.put(name, get(get(role, f.getName()), "deadlineMs"));
        }
        if (role instanceof LeaderState<?> l) {
            long linger = ((Number) get(get(get(l, "accumulator"), "lingerTimer"), "deadlineMs")).longValue();
            if (linger != Long.MAX_VALUE) m.put("linger", linger);
        }
        return m;
    }

    private static List<Object> connections(KafkaRaftClient<?> client, OracleSends sends) {
        TreeMap<Integer, Object> m = new TreeMap<>();
        ((Map<?, ?>) get(get(client, "requestManager"), "connections")).forEach((id, c) -> {
            OptionalLong inFlight = (OptionalLong) get(c, "inFlightCorrelationId");
            int node = Integer.parseInt((String) id);
            m.put(node, row("id", node, "state", get(c, "state").toString(), "sent", get(c, "lastSendTimeMs"), "failed", get(c, "lastFailTimeMs"),
                "corr", inFlight.isPresent() ? sends.number(inFlight.getAsLong()) : null));
        });
        return new ArrayList<>(m.values());
    }

    private static Map<Integer, Object> tally(Object election) {
        TreeMap<Integer, Object> m = new TreeMap<>();
        ((Map<?, ?>) get(election, "voterStates")).forEach((id, v) -> m.put((Integer) id, get(v, "state").toString()));
        return m;
    }

    @SuppressWarnings("unchecked")
    private static List<Object> replicas(Map<?, ?> states) {
        TreeMap<String, Object> m = new TreeMap<>();
        for (Object r : states.values()) {
            String key = key((ReplicaKey) get(r, "replicaKey"));
            m.put(key, row("key", key, "end", offset((Optional<LogOffsetMetadata>) get(r, "endOffset")), "lastFetch", get(r, "lastFetchTimestamp"),
                "leaderEnd", get(r, "lastFetchLeaderLogEndOffset"), "caughtUp", get(r, "lastCaughtUpTimestamp"), "acked", get(r, "hasAcknowledgedLeader")));
        }
        return new ArrayList<>(m.values());
    }
}
