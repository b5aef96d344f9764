package org.apache.kafka.raft;

import java.util.List;
import java.util.Map;

/**
 * A state as one number, so that it can be compared without being sent. It covers what the driver compares of a state, as the
 * driver normalises it: an inherited timer that has run out counts as due now, one that never runs out as none, a connection
 * without a request and without a failure as none.
 */
final class OracleDigest {
    private static final long NEVER = 1L << 60;

    private final StringBuilder text = new StringBuilder(512);

    private OracleDigest() { }

    static long of(Map<String, Object> state, long now) {
        OracleDigest d = new OracleDigest();
        d.common(state, now);
        d.role(state);
        long h = 0xcbf29ce484222325L; // FNV-1a
        for (int i = 0; i < d.text.length(); i++) h = (h ^ d.text.charAt(i)) * 0x100000001b3L;
        return h;
    }

    private void common(Map<String, Object> m, long now) {
        fields(m, "role", "epoch", "leader", "leaderEndpoints", "voted", "hw", "start", "end", "lastEpoch", "logHW", "flushed", "kraft", "votersOffset");
        rows(m.get("epochs"));
        rows(m.get("snapshots"));
        voters(m.get("voters"));
        if (m.get("stored") == null) add("none");
        else ((List<?>) m.get("stored")).forEach(this::add);
        ((Map<?, ?>) m.get("timers")).forEach((name, at) -> {
            long deadline = ((Number) at).longValue();
            if (deadline < NEVER) {
                add(name);
                add(Math.max(deadline, now));
            }
        });
        for (Object o : (List<?>) m.get("conns")) {
            Map<?, ?> c = (Map<?, ?>) o;
            switch ((String) c.get("state")) {
                case "AWAITING_RESPONSE" -> fields(c, "id", "corr", "sent");
                case "BACKING_OFF" -> fields(c, "id", "failed");
                default -> { }
            }
        }
        fields(m, "parked", "finished", "cleaner");
    }

    private void role(Map<String, Object> m) {
        if (m.get("tally") != null) {
            ((Map<?, ?>) m.get("tally")).forEach((id, vote) -> {
                add(id);
                add(vote);
            });
            fields(m, "retries", "backingOff");
        }
        switch ((String) m.get("role")) {
            case "Resigned" -> {
                list(m.get("unacked"));
                list(m.get("successors"));
            }
            case "Follower" -> {
                fields(m, "hasFetched", "hasUpdatedLeader");
                list(m.get("fetchingSnapshot"));
            }
            case "Leader" -> {
                fields(m, "epochStart", "nextOffset", "resignRequested", "requestedKraft");
                list(m.get("granting"));
                list(m.get("fetched"));
                for (String kind : List.of("replicas", "observers"))
                    for (Object r : (List<?>) m.get(kind)) fields((Map<?, ?>) r, "key", "end", "lastFetch", "leaderEnd", "caughtUp", "acked");
                if (m.get("pendingChange") != null) fields((Map<?, ?>) m.get("pendingChange"), "kind", "voter", "deadline", "offset");
                voters(m.get("volatileVoters"));
            }
            default -> { }
        }
    }

    private void add(Object value) {
        if (value != null) text.append(value);
        text.append('|');
    }

    private void fields(Map<?, ?> m, String... names) {
        for (String name : names) add(m.get(name));
    }

    private void list(Object values) {
        if (values != null) for (Object v : (Iterable<?>) values) add(v);
        text.append(';');
    }

    private void rows(Object rows) {
        if (rows != null) for (Object row : (List<?>) rows) list(row);
        text.append(';');
    }

    private void voters(Object voters) {
        if (voters != null) for (Object v : (List<?>) voters) fields((Map<?, ?>) v, "key", "endpoints", "min", "max");
        text.append(';');
    }
}
