package org.apache.kafka.raft;

import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;

import java.util.AbstractList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The requests a client sends, numbered for the driver, and the answers that come back. */
final class OracleSends {
    private record InFlight(RaftRequest.Outbound request, short version) { }

    private final OracleEffects fx;
    private final Map<Integer, Short> maxVersions = new HashMap<>();
    private final TreeMap<Integer, InFlight> inFlight = new TreeMap<>();
    private int next;

    OracleSends(OracleEffects fx) {
        this.fx = fx;
    }

    /** The highest version of an api that peers accept. */
    void limit(int api, short version) {
        maxVersions.put(api, version);
    }

    void clear() {
        inFlight.clear();
    }

    void onSend(RaftRequest.Outbound o) {
        fx.add(new Pending(o));
    }

    /** A send waits for the end of the turn, so that its number does not depend on the order of a hash set. */
    private static final class Pending extends AbstractList<Object> {
        final RaftRequest.Outbound out;

        Pending(RaftRequest.Outbound out) {
            this.out = out;
        }

        @Override public Object get(int i) {
            return "send";
        }

        @Override public int size() {
            return 1;
        }
    }

    /** Sorts each run of consecutive sends by destination and api, and encodes them. */
    void flush() {
        List<List<Object>> list = fx.list();
        for (int i = 0; i < list.size(); ) {
            if (!(list.get(i) instanceof Pending)) {
                i++;
                continue;
            }
            int j = i;
            while (j < list.size() && list.get(j) instanceof Pending) j++;
            list.subList(i, j).sort(Comparator.comparingInt((List<Object> s) -> ((Pending) s).out.destination().id())
                .thenComparingInt(s -> ((Pending) s).out.data().apiKey()));
            for (int k = i; k < j; k++) list.set(k, describe(((Pending) list.get(k)).out));
            i = j;
        }
    }

    private List<Object> describe(RaftRequest.Outbound o) {
        int number = next++;
        short api = o.data().apiKey();
        Node to = o.destination();
        AbstractRequest.Builder<?> b = KafkaNetworkChannel.buildRequest(o.data());
        short version = (short) Math.min(b.latestAllowedVersion(), maxVersions.getOrDefault((int) api, Short.MAX_VALUE));
        inFlight.put(number, new InFlight(o, version));
        String body = null;
        try {
            // The builder decides some fields, for instance which of Fetch's two replica id fields is filled.
            body = OracleBodies.encode(b.build(version).data(), version);
        } catch (UnsupportedVersionException e) {
            // no body: the driver answers "unsupported"
        }
        return Arrays.asList("send", number, to.id(), to.host() + ":" + to.port(), api, version, body);
    }

    /** Number of the request with the client's own correlation id, null if it is unknown. */
    Integer number(long correlationId) {
        for (Map.Entry<Integer, InFlight> e : inFlight.entrySet())
            if (e.getValue().request.correlationId() == correlationId) return e.getKey();
        return null;
    }

    /** Puts an answer, or a failure of the transport, into the client's queue. */
    void respond(OracleNet net, OracleSpec c) {
        int number = (int) c.num("corr", -1);
        InFlight f = inFlight.remove(number);
        if (f == null) throw new IllegalArgumentException("no request " + number);
        ApiKeys key = ApiKeys.forId(f.request.data().apiKey());
        ApiMessage data = c.has("error")
            ? RaftUtil.errorResponse(key, failure(c.str("error", "")))
            : OracleBodies.response(key.id, (short) c.num("ver", f.version), c.bytes("body"));
        net.respond(f.request, new RaftResponse.Inbound(f.request.correlationId(), data, f.request.destination()));
    }

    private static Errors failure(String name) {
        return switch (name) {
            case "disconnect" -> Errors.BROKER_NOT_AVAILABLE;
            case "auth" -> Errors.NETWORK_EXCEPTION;
            case "unsupported" -> Errors.UNSUPPORTED_VERSION;
            default -> Errors.valueOf(name);
        };
    }
}
