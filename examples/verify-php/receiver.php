<?php

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
    if (!preg_match('/\Asha256=[0-9a-f]{64}\z/', $signature)) return false;
    if (!preg_match('/\A(0|[1-9][0-9]{0,15})\z/', $timestamp) || (int) $timestamp > 2 ** 53 - 1) return false;
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
