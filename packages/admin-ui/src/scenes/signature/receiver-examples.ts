// Made by `pnpm run docs` of the receivers in examples/. Change those.

export const RECEIVER_EXAMPLES = {
  "Node.js": `import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const TOLERANCE_SECONDS = 300;
const BODY_LIMIT_BYTES = 1024 * 1024;

/**
 * @param {import("node:http").IncomingMessage["headersDistinct"]} headers
 * @param {Buffer} rawBody the bytes as received: verify first, parse afterwards
 * @param {string} secret the signing secret, its text as it is
 */
function verify(headers, rawBody, secret) {
  // Each header is there once; a second one, also one that was joined with a comma, would make it ambiguous.
  const names = ["signature", "timestamp", "event", "delivery-id"].map((name) => \`x-service-\${name}\`);
  if (names.some((name) => headers[name]?.length !== 1 || headers[name][0].includes(","))) return false;
  const [[signature], [timestamp]] = names.map((name) => headers[name]);
  if (!/^sha256=[0-9a-f]{64}$/.test(signature)) return false;
  if (!/^(0|[1-9][0-9]{0,15})$/.test(timestamp) || !Number.isSafeInteger(Number(timestamp))) return false;
  if (Math.abs(Math.floor(Date.now() / 1000) - Number(timestamp)) > TOLERANCE_SECONDS) return false;

  const expected = createHmac("sha256", secret).update(\`\${timestamp}.\`).update(rawBody).digest();
  return timingSafeEqual(expected, Buffer.from(signature.slice(7), "hex"));
}

/** Stores the event durably, once for each "id" in it, since it may come twice. Work on it afterwards. */
async function store(rawBody) {
  console.log(\`\${rawBody.length} bytes\`);
}

const secret = process.env.WEBHOOK_SECRET;
if (!secret) throw new Error("Set WEBHOOK_SECRET to the endpoint's signing secret.");

createServer(async (request, response) => {
  const answer = (status) => response.writeHead(status).end();
  try {
    if (request.method !== "POST") return answer(405);
    const chunks = [];
    let bytes = 0;
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes <= BODY_LIMIT_BYTES) chunks.push(chunk);
    }
    if (bytes > BODY_LIMIT_BYTES) return answer(413);
    const rawBody = Buffer.concat(chunks);
    if (!verify(request.headersDistinct, rawBody, secret)) return answer(401);
    await store(rawBody);
    answer(204);
  } catch (error) {
    // The sender hung up, or the event could not be stored: Herald sends it again.
    console.error(error);
    answer(500);
  }
}).listen(Number(process.env.PORT ?? 8080), "127.0.0.1");
`,
  Python: `import hashlib
import hmac
import os
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 300
BODY_LIMIT_BYTES = 1024 * 1024
HEADERS = ("X-Service-Signature", "X-Service-Timestamp", "X-Service-Event", "X-Service-Delivery-Id")


def verify(headers, raw_body: bytes, secret: str) -> bool:
    """headers: pairs of name and value, such as request.headers.items() of Flask.
    raw_body: the bytes as received. Verify first, parse afterwards.
    secret: the signing secret, its text as it is."""
    # Each header is there once; a second one, also one that was joined with a comma, would make it ambiguous.
    values = [[value for name, value in headers if name.lower() == wanted.lower()] for wanted in HEADERS]
    if any(len(found) != 1 or "," in found[0] for found in values):
        return False
    signature, timestamp = values[0][0], values[1][0]
    if not re.fullmatch(r"sha256=[0-9a-f]{64}", signature):
        return False
    if not re.fullmatch(r"0|[1-9][0-9]{0,15}", timestamp) or int(timestamp) > 2**53 - 1:
        return False
    if abs(int(time.time()) - int(timestamp)) > TOLERANCE_SECONDS:
        return False

    message = timestamp.encode() + b"." + raw_body
    expected = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
    return hmac.compare_digest("sha256=" + expected, signature)


def store(raw_body: bytes) -> None:
    """Stores the event durably, once for each "id" in it, since it may come twice. Work on it afterwards."""
    print(len(raw_body), "bytes", flush=True)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return self.answer(411)
        if int(length) > BODY_LIMIT_BYTES:
            return self.answer(413)
        raw_body = self.rfile.read(int(length))
        if not verify(self.headers.items(), raw_body, SECRET):
            return self.answer(401)
        store(raw_body)
        self.answer(204)

    def refuse_method(self):
        self.answer(405)

    do_GET = do_PUT = do_PATCH = do_DELETE = refuse_method

    def answer(self, status: int):
        self.send_response(status)
        self.end_headers()


if __name__ == "__main__":
    SECRET = os.environ["WEBHOOK_SECRET"]
    assert SECRET, "Set WEBHOOK_SECRET to the endpoint's signing secret."
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()
`,
  Go: `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	toleranceSeconds = 300
	bodyLimitBytes   = 1 << 20
)

var (
	headerNames      = []string{"X-Service-Signature", "X-Service-Timestamp", "X-Service-Event", "X-Service-Delivery-Id"}
	signaturePattern = regexp.MustCompile(\`^sha256=[0-9a-f]{64}$\`)
	timestampPattern = regexp.MustCompile(\`^(0|[1-9][0-9]{0,15})$\`)
)

// verify takes the body's bytes as received: verify first, parse afterwards.
// The secret's text is the key, as it is.
func verify(header http.Header, rawBody []byte, secret string) bool {
	// Each header is there once; a second one, also one that was joined with a comma, would make it ambiguous.
	for _, name := range headerNames {
		if values := header.Values(name); len(values) != 1 || strings.Contains(values[0], ",") {
			return false
		}
	}
	signature, timestamp := header.Get("X-Service-Signature"), header.Get("X-Service-Timestamp")
	if !signaturePattern.MatchString(signature) || !timestampPattern.MatchString(timestamp) {
		return false
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || seconds > 1<<53-1 {
		return false
	}
	if age := time.Now().Unix() - seconds; age > toleranceSeconds || age < -toleranceSeconds {
		return false
	}

	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(rawBody)
	expected := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(signature))
}

// store keeps the event durably, once for each "id" in it, since it may come twice. Work on it afterwards.
func store(rawBody []byte) error {
	log.Println(len(rawBody), "bytes")
	return nil
}

func main() {
	secret, port := os.Getenv("WEBHOOK_SECRET"), os.Getenv("PORT")
	if secret == "" {
		log.Fatal("Set WEBHOOK_SECRET to the endpoint's signing secret.")
	}
	if port == "" {
		port = "8080"
	}
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			response.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		rawBody, err := io.ReadAll(http.MaxBytesReader(response, request.Body, bodyLimitBytes))
		if err != nil {
			response.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		if !verify(request.Header, rawBody, secret) {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		if err := store(rawBody); err != nil {
			response.WriteHeader(http.StatusInternalServerError)
			return
		}
		response.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
`,
  "C#": `using System;
using System.Globalization;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

// For .NET and for .NET Framework 4.6 and later.
public static class Webhook
{
    private const long ToleranceSeconds = 300;

    private static readonly string[] Names =
        { "X-Service-Signature", "X-Service-Timestamp", "X-Service-Event", "X-Service-Delivery-Id" };

    /// <param name="valuesOf">All values of a header by its name; null or none where it is absent.</param>
    /// <param name="rawBody">The bytes as received: verify first, parse afterwards.</param>
    /// <param name="secret">The signing secret, its text as it is.</param>
    public static bool Verify(Func<string, string[]> valuesOf, byte[] rawBody, string secret)
    {
        // Each header is there once; a second one, also one that was joined with a comma, would make it ambiguous.
        string[][] headers = Names.Select(name => valuesOf(name) ?? new string[0]).ToArray();
        if (headers.Any(values => values.Length != 1 || values[0].Contains(","))) return false;
        string signature = headers[0][0], timestamp = headers[1][0];
        if (!Regex.IsMatch(signature, @"\\Asha256=[0-9a-f]{64}\\z")) return false;
        if (!Regex.IsMatch(timestamp, @"\\A(0|[1-9][0-9]{0,15})\\z")) return false;
        long seconds = long.Parse(timestamp, CultureInfo.InvariantCulture);
        if (seconds > 9007199254740991) return false;
        if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - seconds) > ToleranceSeconds) return false;

        byte[] message = Encoding.UTF8.GetBytes(timestamp + ".").Concat(rawBody).ToArray();
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

// ASP.NET Core, where the body's limit is a setting of Kestrel (MaxRequestBodySize):
//
// app.MapPost("/webhooks", async (HttpRequest request) => {
//     using var body = new MemoryStream();
//     await request.Body.CopyToAsync(body);
//     if (!Webhook.Verify(name => request.Headers[name].ToArray(), body.ToArray(), secret)) return Results.Unauthorized();
//     await Store(body.ToArray()); // durably, once for each "id"; do the work afterwards
//     return Results.NoContent();
// });
`,
  Java: `import com.sun.net.httpserver.HttpExchange;
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
`,
  PHP: `<?php

declare(strict_types=1);

const TOLERANCE_SECONDS = 300;
const BODY_LIMIT_BYTES = 1024 * 1024;

/** The value of a header; empty where it is absent. PHP joins one that is there twice with a comma. */
function headerValue(string $name): string
{
    return $_SERVER["HTTP_" . strtoupper(strtr($name, "-", "_"))] ?? "";
}

/**
 * @param string $rawBody the bytes as received: verify first, parse afterwards
 * @param string $secret the signing secret, its text as it is
 */
function verify(string $rawBody, string $secret): bool
{
    // Each header is there once; a second one would make it ambiguous.
    foreach (["X-Service-Event", "X-Service-Delivery-Id"] as $name) {
        if (headerValue($name) === "" || str_contains(headerValue($name), ",")) return false;
    }
    $signature = headerValue("X-Service-Signature");
    $timestamp = headerValue("X-Service-Timestamp");
    if (!preg_match('/\\Asha256=[0-9a-f]{64}\\z/', $signature)) return false;
    if (!preg_match('/\\A(0|[1-9][0-9]{0,15})\\z/', $timestamp) || (int) $timestamp > 2 ** 53 - 1) return false;
    if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) return false;

    $expected = "sha256=" . hash_hmac("sha256", "$timestamp.$rawBody", $secret);
    return hash_equals($expected, $signature);
}

/** Stores the event durably, once for each "id" in it, since it may come twice. Work on it afterwards. */
function store(string $rawBody): void
{
    error_log(strlen($rawBody) . " bytes");
}

function receive(): int
{
    $secret = (string) getenv("WEBHOOK_SECRET");
    if ($secret === "") throw new RuntimeException("Set WEBHOOK_SECRET to the endpoint's signing secret.");
    if ($_SERVER["REQUEST_METHOD"] !== "POST") return 405;
    $rawBody = (string) file_get_contents("php://input", false, null, 0, BODY_LIMIT_BYTES + 1);
    if (strlen($rawBody) > BODY_LIMIT_BYTES) return 413;
    if (!verify($rawBody, $secret)) return 401;
    store($rawBody);
    return 204;
}

http_response_code(receive());
`,
  Ruby: `require "openssl"
require "webrick"

TOLERANCE_SECONDS = 300
BODY_LIMIT_BYTES = 1024 * 1024

# headers: gives a header's value by its name, as \`request.headers\` of Rails does; one that is there twice is joined
#   with a comma, and a comma makes it ambiguous.
# raw_body: the bytes as received. Verify first, parse afterwards.
# secret: the signing secret, its text as it is.
def verify(headers, raw_body, secret)
  names = %w[X-Service-Signature X-Service-Timestamp X-Service-Event X-Service-Delivery-Id]
  values = names.map { |name| headers[name].to_s }
  return false if values.any? { |value| value.empty? || value.include?(",") }

  signature, timestamp = values
  return false unless signature.match?(/\\Asha256=[0-9a-f]{64}\\z/)
  return false unless timestamp.match?(/\\A(0|[1-9][0-9]{0,15})\\z/) && timestamp.to_i <= 2**53 - 1
  return false if (Time.now.to_i - timestamp.to_i).abs > TOLERANCE_SECONDS

  expected = "sha256=" + OpenSSL::HMAC.hexdigest("SHA256", secret, "#{timestamp}.".b + raw_body.b)
  OpenSSL.fixed_length_secure_compare(expected, signature)
end

# Stores the event durably, once for each "id" in it, since it may come twice. Work on it afterwards.
def store(raw_body)
  puts "#{raw_body.bytesize} bytes"
end

secret = ENV.fetch("WEBHOOK_SECRET", "")
abort "Set WEBHOOK_SECRET to the endpoint's signing secret." if secret.empty?

server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: ENV.fetch("PORT", "8080").to_i, AccessLog: [])
server.mount_proc("/") do |request, response|
  raise WEBrick::HTTPStatus::MethodNotAllowed unless request.request_method == "POST"

  raw_body = "".b
  request.body do |chunk|
    raw_body << chunk
    raise WEBrick::HTTPStatus::RequestEntityTooLarge if raw_body.bytesize > BODY_LIMIT_BYTES
  end
  raise WEBrick::HTTPStatus::Unauthorized unless verify(request, raw_body, secret)

  store(raw_body)
  response.status = 204
end
%w[INT TERM].each { |signal| trap(signal) { server.shutdown } }
server.start
`,
  Rust: `use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::env;
use std::io::Read;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};
use tiny_http::{Method, Request, Response, Server};

const TOLERANCE_SECONDS: u64 = 300;
const BODY_LIMIT_BYTES: u64 = 1024 * 1024;

/// \`raw_body\` is the bytes as received: verify first, parse afterwards.
/// \`secret\` is the signing secret, its text as it is.
fn verify(headers: &[(String, String)], raw_body: &[u8], secret: &str) -> bool {
    let (signature, timestamp) = match (once(headers, "X-Service-Signature"), once(headers, "X-Service-Timestamp")) {
        (Some(signature), Some(timestamp)) => (signature, timestamp),
        _ => return false,
    };
    if once(headers, "X-Service-Event").is_none() || once(headers, "X-Service-Delivery-Id").is_none() {
        return false;
    }
    let (digest, seconds) = match (digest_of(signature), seconds_of(timestamp)) {
        (Some(digest), Some(seconds)) => (digest, seconds),
        _ => return false,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    if now.abs_diff(seconds) > TOLERANCE_SECONDS {
        return false;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(raw_body);
    mac.verify_slice(&digest).is_ok() // in constant time
}

/// A header that is there once; a second one, also one that was joined with a comma, would make it ambiguous.
fn once<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut values = headers.iter().filter(|(each, _)| each.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    let value = values.next()?;
    (values.next().is_none() && !value.contains(',')).then_some(value)
}

/// "sha256=" and 64 lowercase hexadecimal digits.
fn digest_of(signature: &str) -> Option<Vec<u8>> {
    let hex = signature.strip_prefix("sha256=")?;
    if hex.len() != 64 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    (0..64).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}

/// The usual text of a number below 2^53, which a sign or a leading zero is not.
fn seconds_of(timestamp: &str) -> Option<u64> {
    let seconds: u64 = timestamp.parse().ok()?;
    (seconds < 1 << 53 && seconds.to_string() == timestamp).then_some(seconds)
}

/// Stores the event durably, once for each "id" in it, since it may come twice. Work on it afterwards.
fn store(raw_body: &[u8]) {
    println!("{} bytes", raw_body.len());
}

fn receive(request: &mut Request, secret: &str) -> u16 {
    if *request.method() != Method::Post {
        return 405;
    }
    let headers: Vec<(String, String)> = request
        .headers()
        .iter()
        .map(|header| (header.field.to_string(), header.value.to_string()))
        .collect();
    let mut raw_body = Vec::new();
    if request.as_reader().take(BODY_LIMIT_BYTES + 1).read_to_end(&mut raw_body).is_err() {
        return 400;
    }
    if raw_body.len() as u64 > BODY_LIMIT_BYTES {
        return 413;
    }
    if !verify(&headers, &raw_body, secret) {
        return 401;
    }
    store(&raw_body);
    204
}

fn main() {
    let secret = env::var("WEBHOOK_SECRET").unwrap_or_default();
    assert!(!secret.is_empty(), "Set WEBHOOK_SECRET to the endpoint's signing secret.");
    let port = env::var("PORT").unwrap_or("8080".into());
    let server = Server::http(format!("127.0.0.1:{port}")).unwrap();
    for mut request in server.incoming_requests() {
        let secret = secret.clone();
        thread::spawn(move || {
            let status = receive(&mut request, &secret);
            let _ = request.respond(Response::empty(status));
        });
    }
}
`,
};
