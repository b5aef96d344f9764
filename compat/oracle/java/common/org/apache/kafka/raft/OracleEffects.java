package org.apache.kafka.raft;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What a client does, in order, and the storage failures that the driver asked for. */
final class OracleEffects {
    private List<List<Object>> list = new ArrayList<>();
    private final Map<String, Long> failures = new HashMap<>();

    void add(Object... parts) {
        list.add(Arrays.asList(parts));
    }

    void add(List<Object> effect) {
        list.add(effect);
    }

    List<List<Object>> list() {
        return list;
    }

    void clear() {
        list = new ArrayList<>();
    }

    /** Lets the n-th call of the operation from now on fail. */
    void failAt(String operation, long n) {
        failures.put(operation, n);
    }

    /** Called by store and log before the operation takes place. */
    void attempt(String operation) {
        if (failures.isEmpty()) return;
        Long n = failures.get(operation);
        if (n == null) return;
        if (n > 1) {
            failures.put(operation, n - 1);
            return;
        }
        failures.remove(operation);
        throw new UncheckedIOException(new IOException("injected failure of " + operation));
    }
}
