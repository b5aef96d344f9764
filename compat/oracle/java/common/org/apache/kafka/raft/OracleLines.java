package org.apache.kafka.raft;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Map;

/** Commands from a stream, one a line, and whether one is there already. */
final class OracleLines {
    private final InputStream in;
    private byte[] buffer = new byte[1 << 16];
    private int from;
    private int end;

    OracleLines(InputStream in) {
        this.in = in;
    }

    /** Whether some of the next line is there without waiting for it. */
    boolean ready() throws IOException {
        return from < end || in.available() > 0;
    }

    /** The object on the next line; empty lines and comments are passed over. Null at the end of the stream. */
    Map<String, Object> next() throws IOException {
        for (int at = from; ; at++) {
            if (at == end) {
                int before = from;
                boolean more = more();
                at -= before - from;
                if (!more) return from == end ? null : take(end, end);
            }
            if (buffer[at] != '\n') continue;
            if (at > from && buffer[from] != '#') return take(at, at + 1);
            from = at + 1;
        }
    }

    private Map<String, Object> take(int to, int next) {
        int begin = from;
        from = next;
        return OracleJson.object(buffer, begin, to);
    }

    /** Reads on. What is held is moved to the front. */
    private boolean more() throws IOException {
        if (from > 0) System.arraycopy(buffer, from, buffer, 0, end - from);
        end -= from;
        from = 0;
        if (end == buffer.length) buffer = Arrays.copyOf(buffer, 2 * end);
        int n = in.read(buffer, end, buffer.length - end);
        end += Math.max(0, n);
        return n > 0;
    }
}
