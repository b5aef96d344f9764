package org.apache.kafka.raft;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.network.ListenerName;

import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Typed reading of a command. */
final class OracleSpec {
    private final Map<String, Object> fields;

    OracleSpec(Map<String, Object> fields) {
        this.fields = fields;
    }

    boolean has(String key) {
        return fields.get(key) != null;
    }

    void remove(String key) {
        fields.remove(key);
    }

    long num(String key, long otherwise) {
        return has(key) ? (Long) fields.get(key) : otherwise;
    }

    String str(String key, String otherwise) {
        return has(key) ? (String) fields.get(key) : otherwise;
    }

    boolean flag(String key, boolean otherwise) {
        return has(key) ? (Boolean) fields.get(key) : otherwise;
    }

    @SuppressWarnings("unchecked")
    Map<String, Object> map(String key) {
        return has(key) ? (Map<String, Object>) fields.get(key) : Map.of();
    }

    @SuppressWarnings("unchecked")
    List<Object> list(String key) {
        return has(key) ? (List<Object>) fields.get(key) : List.of();
    }

    @SuppressWarnings("unchecked")
    List<Map<String, Object>> maps(String key) {
        return (List<Map<String, Object>>) (List<?>) list(key);
    }

    byte[] bytes(String key) {
        return java.util.Base64.getDecoder().decode((String) fields.get(key));
    }

    List<byte[]> byteList(String key) {
        return list(key).stream().map(r -> java.util.Base64.getDecoder().decode((String) r)).toList();
    }

    InetSocketAddress address(String key) {
        return address(fields.get(key));
    }

    static InetSocketAddress address(Object text) {
        String s = (String) text;
        int colon = s.lastIndexOf(':');
        return InetSocketAddress.createUnresolved(s.substring(0, colon), Integer.parseInt(s.substring(colon + 1)));
    }

    Map<ListenerName, InetSocketAddress> endpoints(String key) {
        Map<ListenerName, InetSocketAddress> m = new TreeMap<>(Comparator.comparing(ListenerName::value));
        map(key).forEach((name, text) -> m.put(new ListenerName(name), address(text)));
        return m;
    }

    /** The voters, in id order; without directory ids for kraft.version 0. */
    VoterSet voters(String key, boolean directoryIds) {
        Map<Integer, VoterSet.VoterNode> m = new TreeMap<>();
        for (Map<String, Object> fields : maps(key)) {
            OracleSpec v = new OracleSpec(fields);
            int id = (int) v.num("id", 0);
            Uuid dir = directoryIds && v.has("dir") ? Uuid.fromString(v.str("dir", "")) : ReplicaKey.NO_DIRECTORY_ID;
            m.put(id, VoterSet.VoterNode.of(ReplicaKey.of(id, dir), Endpoints.fromInetSocketAddresses(v.endpoints("endpoints")),
                new SupportedVersionRange((short) v.num("minKraft", 0), (short) v.num("maxKraft", 1))));
        }
        return VoterSet.fromMap(m);
    }
}
