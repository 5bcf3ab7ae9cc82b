import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Java 17 and later: java Receiver.java */
public class Receiver {
    private static final long TOLERANCE_SECONDS = 300;
    private static final int BODY_LIMIT_BYTES = 1024 * 1024;
    private static final List<String> NAMES =
        List.of("X-Service-Signature", "X-Service-Timestamp", "X-Service-Event", "X-Service-Delivery-Id");

    /**
     * @param headers all values of each header, by names that are compared without case
     * @param rawBody the bytes as received: verify first, parse afterwards
     * @param secret the signing secret, its text as it is
     */
    static boolean verify(Map<String, List<String>> headers, byte[] rawBody, String secret)
            throws GeneralSecurityException {
        // Each header is there once; a second one, also one that was joined with a comma, would make it ambiguous.
        for (String name : NAMES) {
            List<String> values = headers.get(name);
            if (values == null || values.size() != 1 || values.get(0).contains(",")) return false;
        }
        String signature = headers.get(NAMES.get(0)).get(0);
        String timestamp = headers.get(NAMES.get(1)).get(0);
        if (!signature.matches("sha256=[0-9a-f]{64}")) return false;
        if (!timestamp.matches("0|[1-9][0-9]{0,15}")) return false;
        long seconds = Long.parseLong(timestamp);
        if (seconds > (1L << 53) - 1) return false;
        if (Math.abs(Instant.now().getEpochSecond() - seconds) > TOLERANCE_SECONDS) return false;

        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
        mac.update((timestamp + ".").getBytes(StandardCharsets.UTF_8));
        String expected = "sha256=" + HexFormat.of().formatHex(mac.doFinal(rawBody));
        return MessageDigest.isEqual(expected.getBytes(StandardCharsets.UTF_8), signature.getBytes(StandardCharsets.UTF_8));
    }

    /** Stores the event durably, once for each "id" in it, since it may come twice. Work on it afterwards. */
    static void store(byte[] rawBody) {
        System.out.println(rawBody.length + " bytes");
    }

    static int receive(HttpExchange exchange, String secret) {
        try {
            if (!exchange.getRequestMethod().equals("POST")) return 405;
            byte[] rawBody = exchange.getRequestBody().readNBytes(BODY_LIMIT_BYTES + 1);
            if (rawBody.length > BODY_LIMIT_BYTES) return 413;
            if (!verify(exchange.getRequestHeaders(), rawBody, secret)) return 401;
            store(rawBody);
            return 204;
        } catch (IOException | GeneralSecurityException | RuntimeException error) {
            // The sender hung up, or the event could not be stored: Herald sends it again.
            error.printStackTrace();
            return 500;
        }
    }

    public static void main(String[] args) throws IOException {
        String secret = System.getenv().getOrDefault("WEBHOOK_SECRET", "");
        if (secret.isEmpty()) throw new IllegalStateException("Set WEBHOOK_SECRET to the endpoint's signing secret.");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(receive(exchange, secret), -1);
            exchange.close();
        });
        server.start();
    }
}
