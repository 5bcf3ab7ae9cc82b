/** Languages that the page shows a verifier in. */
export const LANGUAGES = ["Node.js", "Python", "Go", "C#"] as const;
export type Language = (typeof LANGUAGES)[number];

/**
 * A verifier to copy, without dependencies, that keeps every rule of SPEC 4.4.3.
 * @param prefix first part of the header names, e.g. "X-Service".
 */
export function receiverCode(language: Language, prefix: string): string {
  return templates[language].replaceAll("X-Service", prefix).replaceAll("x-service", prefix.toLowerCase());
}

const templates: Record<Language, string> = {
  "Node.js": `import { createHmac, timingSafeEqual } from "node:crypto";

const TOLERANCE_SECONDS = 300;

/**
 * @param {import("node:http").IncomingHttpHeaders} headers
 * @param {Buffer} rawBody the bytes as received: verify first, parse afterwards
 * @param {string} secret the signing secret, its text as it is
 */
export function verify(headers, rawBody, secret) {
  const signature = headers["x-service-signature"] ?? "";
  const timestamp = headers["x-service-timestamp"] ?? "";
  if (!/^sha256=[0-9a-f]{64}$/.test(signature)) return false;
  if (timestamp.length > 16 || String(Number(timestamp)) !== timestamp) return false;
  if (!Number.isSafeInteger(Number(timestamp)) || Number(timestamp) < 0) return false;
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;

  const expected = createHmac("sha256", secret).update(\`\${timestamp}.\`).update(rawBody).digest();
  return timingSafeEqual(expected, Buffer.from(signature.slice(7), "hex"));
}

// express: app.post("/webhooks", express.raw({ type: "*/*", limit: "1mb" }), (request, response) => {
//   if (!verify(request.headers, request.body, process.env.WEBHOOK_SECRET)) return response.sendStatus(401);
//   store(JSON.parse(request.body)); // durably, once for each "id"; do the work afterwards
//   response.sendStatus(204);
// });
`,
  Python: `import hashlib
import hmac
import re
import time

TOLERANCE_SECONDS = 300


def verify(headers, raw_body: bytes, secret: str) -> bool:
    """raw_body: the bytes as received. Verify first, parse afterwards.
    secret: the signing secret, its text as it is."""
    signature = headers.get("X-Service-Signature", "")
    timestamp = headers.get("X-Service-Timestamp", "")
    if not re.fullmatch(r"sha256=[0-9a-f]{64}", signature):
        return False
    if not re.fullmatch(r"0|[1-9][0-9]{0,15}", timestamp) or int(timestamp) > 2**53 - 1:
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False

    message = timestamp.encode() + b"." + raw_body
    expected = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
    return hmac.compare_digest("sha256=" + expected, signature)


# Flask: @app.post("/webhooks")
# def receive():
#     if not verify(request.headers, request.get_data(), os.environ["WEBHOOK_SECRET"]):
#         return "", 401
#     store(json.loads(request.get_data()))  # durably, once for each "id"; do the work afterwards
#     return "", 204
`,
  Go: `package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

const tolerance = 300 * time.Second

var (
	signaturePattern = regexp.MustCompile(\`^sha256=[0-9a-f]{64}$\`)
	timestampPattern = regexp.MustCompile(\`^(0|[1-9][0-9]{0,15})$\`)
)

// Verify takes the body's bytes as received: verify first, parse afterwards.
// The secret's text is the key, as it is.
func Verify(header http.Header, rawBody []byte, secret string) bool {
	signature, timestamp := only(header, "X-Service-Signature"), only(header, "X-Service-Timestamp")
	if !signaturePattern.MatchString(signature) || !timestampPattern.MatchString(timestamp) {
		return false
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || seconds > 1<<53-1 {
		return false
	}
	if age := time.Since(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return false
	}

	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(rawBody)
	expected := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(signature))
}

// only returns a header that is there once; a second one would make it ambiguous.
func only(header http.Header, name string) string {
	if values := header.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// In the handler: rawBody, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
// 401 if Verify is false; else store it durably, once for each "id", answer 204, and do the work afterwards.
`,
  "C#": `using System;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

// For .NET and for .NET Framework 4.6 and later.
public static class Webhook
{
    private const long ToleranceSeconds = 300;

    /// <param name="rawBody">The bytes as received: verify first, parse afterwards.</param>
    /// <param name="secret">The signing secret, its text as it is.</param>
    public static bool Verify(string signature, string timestamp, byte[] rawBody, string secret)
    {
        if (!Regex.IsMatch(signature ?? "", @"\\Asha256=[0-9a-f]{64}\\z")) return false;
        if (!Regex.IsMatch(timestamp ?? "", @"\\A(0|[1-9][0-9]{0,15})\\z")) return false;
        long seconds = long.Parse(timestamp, CultureInfo.InvariantCulture);
        if (seconds > 9007199254740991) return false;
        if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - seconds) > ToleranceSeconds) return false;

        byte[] prefix = Encoding.UTF8.GetBytes(timestamp + ".");
        byte[] message = new byte[prefix.Length + rawBody.Length];
        prefix.CopyTo(message, 0);
        rawBody.CopyTo(message, prefix.Length);
        using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(secret)))
        {
            string digest = BitConverter.ToString(hmac.ComputeHash(message)).Replace("-", "").ToLowerInvariant();
            return SameInConstantTime("sha256=" + digest, signature);
        }
    }

    // What CryptographicOperations.FixedTimeEquals does, which .NET Framework doesn't have.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    private static bool SameInConstantTime(string expected, string given)
    {
        int difference = expected.Length ^ given.Length;
        for (int index = 0; index < expected.Length && index < given.Length; index++)
            difference |= expected[index] ^ given[index];
        return difference == 0;
    }
}

// ASP.NET Core: app.MapPost("/webhooks", async (HttpRequest request) => {
//     using var body = new MemoryStream();
//     await request.Body.CopyToAsync(body);
//     string signature = request.Headers["X-Service-Signature"].ToString();
//     string timestamp = request.Headers["X-Service-Timestamp"].ToString();
//     if (!Webhook.Verify(signature, timestamp, body.ToArray(), secret)) return Results.Unauthorized();
//     await Store(body.ToArray()); // durably, once for each "id"; do the work afterwards
//     return Results.NoContent();
// });
`,
};
