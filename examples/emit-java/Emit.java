import com.google.gson.Gson;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;

/** Emits WorkItemCompleted for each work item whose id, a UUID, is a line of the standard input. Java 17 and later. */
public class Emit {
    private static final String EXCHANGE = setting("BROKER_NAMESPACE", "herald") + ".events";
    private static final long TIMEOUT_MS = 1000 * Long.parseLong(setting("TIMEOUT_SECONDS", "30"));
    private static final long PAUSE_MS = 500;
    private static final DateTimeFormatter UTC =
        DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

    /** Make it once, and keep it over retries: its organization, id and time say which event it is. */
    record Event(
            String organizationId,
            String id,
            String type,
            String occurredAtUtc,
            String entityType,
            String entityId,
            Map<String, Object> data) {

        static Event of(
                String organizationId, String type, String entityType, String entityId, Map<String, Object> data) {
            String id = UUID.randomUUID().toString();
            return new Event(organizationId, id, type, UTC.format(Instant.now()), entityType, entityId, data);
        }

        /** The first digit chooses one of sixteen queues: an organization's flood does not hold up the others. */
        String routingKey() throws GeneralSecurityException {
            MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
            byte[] hash = sha256.digest(organizationId.getBytes(StandardCharsets.UTF_8));
            String digits = HexFormat.of().formatHex(hash);
            // Dots divide a routing key, so those of a type become hyphens.
            return type.replace('.', '-') + "." + digits.charAt(0) + "." + digits.charAt(1);
        }
    }

    /** Emitting the same event again, with its id and time, is safe. */
    static class NotEmittedException extends Exception {
        private static final long serialVersionUID = 1;

        NotEmittedException(String message, Throwable cause) {
            super(message, cause);
        }
    }

    static class Emitter {
        private final ConnectionFactory factory = new ConnectionFactory();
        private Connection connection;
        private Channel channel;
        private volatile boolean returned;

        Emitter(String url) throws Exception {
            if (url.startsWith("amqps:")) {
                // Else the library trusts every certificate.
                factory.useSslProtocol(SSLContext.getDefault());
                factory.enableHostnameVerification();
            }
            factory.setUri(url);
            factory.setRequestedHeartbeat(10);
            // Else the library opens connections by itself, and knows nothing of events that were not confirmed.
            factory.setAutomaticRecoveryEnabled(false);
        }

        /** Returns when the broker has stored the event. */
        void emit(Event event, String traceparent)
                throws NotEmittedException, GeneralSecurityException, InterruptedException {
            if (!event.entityId().matches("(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")) {
                throw new NotEmittedException("its entity id is no UUID, so Herald would reject it", null);
            }
            long deadline = System.nanoTime() + TIMEOUT_MS * 1_000_000;
            while (true) {
                try {
                    publish(event, traceparent, Math.max(1, (deadline - System.nanoTime()) / 1_000_000));
                    return;
                } catch (IOException | TimeoutException | ShutdownSignalException error) {
                    // The broker may have it or not. Sent again, it is the same event, and Herald delivers it once.
                    close();
                    if (System.nanoTime() - deadline >= 0) {
                        throw new NotEmittedException("the broker did not confirm it in time: " + error, error);
                    }
                    Thread.sleep(PAUSE_MS);
                }
            }
        }

        private void publish(Event event, String traceparent, long timeoutMs)
                throws IOException, TimeoutException, InterruptedException, NotEmittedException, GeneralSecurityException {
            if (channel == null) open();
            returned = false;
            AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder()
                .contentType("application/json")
                .deliveryMode(2) // persistent
                .messageId(event.id())
                .type(event.type())
                .headers(traceparent == null ? Map.of() : Map.of("traceparent", traceparent))
                .build();
            byte[] body = new Gson().toJson(event).getBytes(StandardCharsets.UTF_8);
            boolean mandatory = true;
            channel.basicPublish(EXCHANGE, event.routingKey(), mandatory, properties, body);
            if (!channel.waitForConfirms(timeoutMs)) {
                throw new NotEmittedException("the broker refused it: too many events wait, try again later", null);
            }
            // What no queue takes is returned before it is confirmed.
            if (returned) {
                throw new NotEmittedException("no queue takes it: start Herald's publisher, and compare BROKER_NAMESPACE", null);
            }
        }

        /** Nothing is declared: an emitter may write to the exchange, which Herald makes, and nothing else. */
        private void open() throws IOException, TimeoutException {
            connection = factory.newConnection("emit-java");
            channel = connection.createChannel();
            channel.addReturnListener(message -> returned = true);
            channel.confirmSelect();
        }

        void close() {
            if (connection != null) connection.abort(1000);
            connection = null;
            channel = null;
        }
    }

    private static String setting(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }

    public static void main(String[] args) throws Exception {
        String organizationId = System.getenv("ORGANIZATION_ID");
        if (organizationId == null) {
            throw new IllegalStateException("Set ORGANIZATION_ID to the organization whose events these are.");
        }
        Emitter emitter = new Emitter(setting("AMQP_URL", "amqp://localhost"));
        int exitCode = 0;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> changes = Map.of("Status", Map.of("oldValue", "InProgress", "newValue", "Done"));
            Event event =
                Event.of(organizationId, "WorkItemCompleted", "WorkItem", line.strip(), Map.of("changes", changes));
            try {
                emitter.emit(event, System.getenv("TRACEPARENT"));
                System.out.println("emitted " + event.id());
            } catch (NotEmittedException error) {
                exitCode = 1;
                System.out.println("not emitted " + event.id() + ": " + error.getMessage());
            }
        }
        emitter.close();
        System.exit(exitCode);
    }
}
