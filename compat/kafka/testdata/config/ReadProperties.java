import java.io.FileInputStream;
import java.util.List;
import java.util.Properties;
import kafka.server.KafkaConfig;

/** Reads property files with Kafka's own KafkaConfig: for each file one line, its verdict; for names after "--" the values of the first file. */
public class ReadProperties {
    public static void main(String[] args) throws Exception {
        int names = List.of(args).indexOf("--");
        for (int i = 0; i < names; i++) {
            Properties properties = new Properties();
            try (FileInputStream in = new FileInputStream(args[i])) {
                properties.load(in);
            }
            try {
                KafkaConfig config = KafkaConfig.fromProps(properties);
                System.out.println("accepted\t" + config.effectiveAdvertisedControllerListeners());
                for (int n = names + 1; i == 0 && n < args.length; n++) {
                    String value = config.values().containsKey(args[n]) ? String.valueOf(config.values().get(args[n])) : "absent";
                    System.out.println("value\t" + args[n] + "\t" + value);
                }
            } catch (Exception e) {
                System.out.println("refused\t" + e.getMessage().replace('\n', ' ').replace('\t', ' '));
            }
        }
    }
}
