import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

/**
 * Puts bodies through Kafka's own readers and writers. Each line of the input is "KIND KEY VERSION HEX" with kind request,
 * response, control or metadata; the answer is "REST HEX JSON" (bytes left over, what Kafka writes again or - if it cannot,
 * Kafka's JSON) or "error CLASS". To be run with the jars of a release on the class path:
 *
 *   java -cp 'libs/*' Codec.java < bodies > answers
 */
public class Codec {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] f = line.split(" ", -1);
            out.println(answer(f[0], Short.parseShort(f[1]), Short.parseShort(f[2]), HexFormat.of().parseHex(f[3])));
        }
        out.flush();
    }

    static String answer(String kind, short key, short version, byte[] body) throws Exception {
        Message m = message(kind, key);
        ByteBuffer buffer = ByteBuffer.wrap(body);
        try {
            m.read(new ByteBufferAccessor(buffer), version);
        } catch (Exception e) {
            return "error " + e.getClass().getSimpleName();
        }
        int rest = buffer.remaining();
        String again = "-";
        try {
            ByteBuffer written = MessageUtil.toByteBufferAccessor(m, version).buffer();
            byte[] bytes = new byte[written.remaining()];
            written.get(bytes);
            again = HexFormat.of().formatHex(bytes);
        } catch (RuntimeException e) {
            // stays unwritable
        }
        Class<?> converter = Class.forName(m.getClass().getName() + "JsonConverter");
        Method write = converter.getMethod("write", m.getClass(), short.class, boolean.class);
        JsonNode json = (JsonNode) write.invoke(null, m, version, true);
        return rest + " " + again + " " + json;
    }

    static Message message(String kind, short key) {
        switch (kind) {
            case "request":
                return ApiMessageType.fromApiKey(key).newRequest();
            case "response":
                return ApiMessageType.fromApiKey(key).newResponse();
            case "metadata":
                return MetadataRecordType.fromId(key).newMetadataRecord();
            default:
                switch (key) {
                    case 2: return new LeaderChangeMessage();
                    case 3: return new SnapshotHeaderRecord();
                    case 4: return new SnapshotFooterRecord();
                    case 5: return new KRaftVersionRecord();
                    default: return new VotersRecord();
                }
        }
    }
}
