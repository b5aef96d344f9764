package org.apache.kafka.raft;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;

/** One JSON object a line in, one a line out; many nodes in one process. */
public final class OracleMain {
    private final Map<String, OracleNode> nodes = new HashMap<>();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false);
        System.setOut(System.err); // nobody else writes into the protocol
        OracleLines in = new OracleLines(System.in);
        OracleMain main = new OracleMain();
        while (true) {
            StringBuilder text = new StringBuilder(1024);
            try {
                Map<String, Object> fields = in.next();
                if (fields == null) break;
                OracleSpec command = new OracleSpec(fields);
                if ("quit".equals(command.str("cmd", ""))) break;
                if (command.flag("brief", false)) main.brief(text, command);
                else OracleJson.write(text, main.run(command));
            } catch (IOException e) {
                break; // of the stream of commands
            } catch (Throwable t) {
                if (System.getProperty("oracle.trace") != null) t.printStackTrace();
                text.setLength(0);
                OracleJson.write(text, Map.of("error", t.toString()));
            }
            text.append('\n');
            out.write(text.toString().getBytes(StandardCharsets.UTF_8));
            if (!in.ready()) out.flush(); // a driver that sends ahead gets its answers in bulk
        }
        out.flush();
    }

    /** An answer that the driver foresees byte by byte. */
    private void brief(StringBuilder text, OracleSpec c) throws Exception {
        String name = c.str("node", "");
        switch (c.str("cmd", "")) {
            case "init" -> {
                OracleNode n = new OracleNode(c);
                nodes.put(name, n);
                n.startedBriefly(c, text);
            }
            case "reset" -> {
                nodes.clear();
                text.append("ok []");
            }
            default -> {
                OracleNode n = nodes.get(name);
                if (n == null) throw new IllegalArgumentException("no node " + name);
                n.runBriefly(c, text);
            }
        }
    }

    private Map<String, Object> run(OracleSpec c) throws Exception {
        String name = c.str("node", "");
        switch (c.str("cmd", "")) {
            case "hello" -> {
                return hello();
            }
            case "drop" -> {
                nodes.remove(name);
                return Map.of();
            }
            case "reset" -> {
                nodes.clear();
                return Map.of();
            }
            case "init" -> {
                OracleNode n = new OracleNode(c);
                nodes.put(name, n);
                return n.started(c);
            }
            default -> {
                OracleNode n = nodes.get(name);
                if (n == null) throw new IllegalArgumentException("no node " + name);
                return n.run(c);
            }
        }
    }

    private Map<String, Object> hello() throws Exception {
        Properties p = new Properties();
        try (InputStream in = KafkaRaftClient.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            p.load(in);
        }
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("version", p.getProperty("version"));
        m.put("commit", p.getProperty("commitId"));
        return m;
    }
}
