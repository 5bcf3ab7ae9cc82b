<?php
// composer require standard-webhooks/standard-webhooks
require "vendor/autoload.php";

// The secret as the page showed it: the library decodes it itself.
$webhook = new StandardWebhooks\Webhook(getenv("WEBHOOK_SECRET"));

[, $id, $timestamp, $signature] = $argv;
$headers = ["webhook-id" => $id, "webhook-timestamp" => $timestamp, "webhook-signature" => $signature];
$rawBody = file_get_contents("php://stdin");
$event = $webhook->verify($rawBody, $headers); // throws where it does not verify
print_r($event);
