package org.apache.kafka.raft;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Lines of a stream, and whether one is there already. */
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

    /** The next line without its end, null at the end of the stream. */
    String next() throws IOException {
        for (int at = from; ; at++) {
            if (at == end) {
                int before = from;
                if (!more()) return take(end, end);
                at -= before - from;
            }
            if (buffer[at] == '\n') return take(at, at + 1);
        }
    }

    private String take(int to, int next) {
        if (from == end) return null;
        String line = new String(buffer, from, to - from, StandardCharsets.UTF_8);
        from = next;
        return line;
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
