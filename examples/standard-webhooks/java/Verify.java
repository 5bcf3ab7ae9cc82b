// Maven: com.standardwebhooks:standardwebhooks
import com.standardwebhooks.Webhook;
import java.net.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

public class Verify {
    public static void main(String[] args) throws Exception {
        // The secret as the page showed it: the library decodes it itself.
        Webhook webhook = new Webhook(System.getenv("WEBHOOK_SECRET"));

        HttpHeaders headers = HttpHeaders.of(Map.of(
            "webhook-id", List.of(args[0]),
            "webhook-timestamp", List.of(args[1]),
            "webhook-signature", List.of(args[2])), (name, value) -> true);
        String rawBody = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        webhook.verify(rawBody, headers); // throws where it does not verify
        System.out.println(rawBody);
    }
}
