package org.apache.kafka.raft;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** Reads private fields of Kafka's classes by name. */
final class OracleFields {
    private static final Map<Class<?>, Map<String, Field>> CACHE = new HashMap<>();

    private OracleFields() { }

    static Map<String, Field> of(Class<?> type) {
        return CACHE.computeIfAbsent(type, k -> {
            Map<String, Field> m = new LinkedHashMap<>();
            for (Class<?> c = k; c != null && c != Object.class; c = c.getSuperclass())
                if (c.getName().startsWith("org.apache.kafka"))
                    for (Field f : c.getDeclaredFields()) {
                        f.setAccessible(true);
                        m.putIfAbsent(f.getName(), f);
                    }
            return m;
        });
    }

    static boolean has(Object o, String name) {
        return of(o.getClass()).containsKey(name);
    }

    static Object get(Object o, String name) {
        try {
            Field f = of(o.getClass()).get(name);
            if (f == null) throw new IllegalStateException(o.getClass().getName() + " has no field " + name);
            return f.get(o);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}
