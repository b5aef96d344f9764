package org.apache.kafka.raft;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
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
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false);
        System.setOut(System.err); // nobody else writes into the protocol
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        OracleMain main = new OracleMain();
        StringBuilder text = new StringBuilder();
        for (String line; (line = in.readLine()) != null; ) {
            if (line.isEmpty() || line.charAt(0) == '#') continue; // a session file may carry comments
            Map<String, Object> answer;
            try {
                Map<String, Object> command = OracleJson.object(line);
                if ("quit".equals(command.get("cmd"))) break;
                answer = main.run(command);
            } catch (Throwable t) {
                if (System.getProperty("oracle.trace") != null) t.printStackTrace();
                answer = Map.of("error", t.toString());
            }
            text.setLength(0);
            OracleJson.write(text, answer);
            text.append('\n');
            out.write(text.toString().getBytes(StandardCharsets.UTF_8));
            out.flush();
        }
    }

    private Map<String, Object> run(Map<String, Object> command) throws Exception {
        OracleSpec c = new OracleSpec(command);
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
                OracleNode n = new OracleNode(command);
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
