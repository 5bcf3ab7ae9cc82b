<?php

// Emits WorkItemCompleted for each work item whose id, a UUID, is a line of the standard input.

declare(strict_types=1);

require __DIR__ . "/vendor/autoload.php";

use PhpAmqpLib\Channel\AMQPChannel;
use PhpAmqpLib\Connection\AbstractConnection;
use PhpAmqpLib\Connection\AMQPSSLConnection;
use PhpAmqpLib\Connection\AMQPStreamConnection;
use PhpAmqpLib\Exception\AMQPExceptionInterface;
use PhpAmqpLib\Message\AMQPMessage;
use PhpAmqpLib\Wire\AMQPTable;

const PAUSE_MICROSECONDS = 500_000;
const ANSWER_SECONDS = 3.0;

/** Emitting the same event again, with its id and time, is safe. */
class NotEmitted extends Exception
{
}

/** Make an event once, and keep it over retries: its organization, id and time say which event it is. */
function newEvent(string $organizationId, string $type, string $entityType, string $entityId, array $data): array
{
    return [
        "organizationId" => $organizationId,
        "id" => newUuid(),
        "type" => $type,
        "occurredAtUtc" => (new DateTimeImmutable("now", new DateTimeZone("UTC")))->format("Y-m-d\\TH:i:s.v\\Z"),
        "entityType" => $entityType,
        "entityId" => $entityId,
        "data" => (object) $data,
    ];
}

function newUuid(): string
{
    $bytes = random_bytes(16);
    $bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
    $bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
    return vsprintf("%s%s-%s-%s-%s-%s%s%s", str_split(bin2hex($bytes), 4));
}

/** The first digit chooses one of sixteen queues, so that an organization's flood does not hold up the others. */
function routingKey(array $event): string
{
    $digits = hash("sha256", $event["organizationId"]);
    // Dots divide a routing key, so those of a type become hyphens.
    return strtr($event["type"], ".", "-") . ".$digits[0].$digits[1]";
}

class Emitter
{
    private ?AbstractConnection $connection = null;
    private ?AMQPChannel $channel = null;
    private bool $refused = false;
    private bool $returned = false;

    public function __construct(private string $url, private string $exchange, private float $timeoutSeconds)
    {
    }

    /** Returns when the broker has stored the event. */
    public function emit(array $event, ?string $traceparent): void
    {
        $deadline = microtime(true) + $this->timeoutSeconds;
        while (true) {
            try {
                $this->publish($event, $traceparent, max(0.001, $deadline - microtime(true)));
                break;
            } catch (AMQPExceptionInterface $error) {
                // The broker may have it or not. Sent again, it is the same event, and Herald delivers it once.
                $this->close();
                if (microtime(true) >= $deadline) {
                    throw new NotEmitted("the broker did not confirm it in time: {$error->getMessage()}", 0, $error);
                }
                usleep(PAUSE_MICROSECONDS);
            }
        }
        if ($this->refused) throw new NotEmitted("the broker refused it: too many events wait, try again later");
        if ($this->returned) throw new NotEmitted("no queue takes it: start Herald's publisher, and compare BROKER_NAMESPACE");
    }

    private function publish(array $event, ?string $traceparent, float $timeoutSeconds): void
    {
        if ($this->channel === null) $this->open();
        $this->refused = $this->returned = false;
        $body = json_encode($event, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
        $message = new AMQPMessage($body, [
            "content_type" => "application/json",
            "delivery_mode" => AMQPMessage::DELIVERY_MODE_PERSISTENT,
            "message_id" => $event["id"],
            "type" => $event["type"],
            "application_headers" => new AMQPTable($traceparent === null ? [] : ["traceparent" => $traceparent]),
        ]);
        // Nothing is declared: an emitter may write to the exchange, which Herald makes, and nothing else.
        $this->channel->basic_publish($message, $this->exchange, routingKey($event), mandatory: true);
        // What no queue takes is returned before it is confirmed.
        $this->channel->wait_for_pending_acks_returns($timeoutSeconds);
    }

    private function open(): void
    {
        $url = parse_url($this->url);
        $secure = $url["scheme"] === "amqps";
        $account = [
            $url["host"],
            $url["port"] ?? ($secure ? 5671 : 5672),
            rawurldecode($url["user"] ?? "guest"),
            rawurldecode($url["pass"] ?? "guest"),
            rawurldecode(substr($url["path"] ?? "", 1)) ?: "/",
        ];
        // Else the library waits without end for a broker that does not answer, also when it closes the connection.
        $timeouts = ["read_write_timeout" => ANSWER_SECONDS, "channel_rpc_timeout" => ANSWER_SECONDS];
        $this->connection = $secure
            ? new AMQPSSLConnection(...$account, ssl_options: ["verify_peer" => true], options: $timeouts)
            : new AMQPStreamConnection(...$account, ...$timeouts);
        $this->channel = $this->connection->channel();
        $this->channel->confirm_select();
        $this->channel->set_return_listener(function (): void {
            $this->returned = true;
        });
        $this->channel->set_nack_handler(function (): void {
            $this->refused = true;
        });
    }

    public function close(): void
    {
        [$connection, $this->connection, $this->channel] = [$this->connection, null, null];
        try {
            $connection?->close();
        } catch (AMQPExceptionInterface) {
            // It was lost.
        }
    }
}

$organizationId = getenv("ORGANIZATION_ID");
if ($organizationId === false) exit("Set ORGANIZATION_ID to the organization whose events these are.\n");
$emitter = new Emitter(
    getenv("AMQP_URL") ?: "amqp://localhost",
    (getenv("BROKER_NAMESPACE") ?: "herald") . ".events",
    (float) (getenv("TIMEOUT_SECONDS") ?: 30),
);
$exitCode = 0;
while (($line = fgets(STDIN)) !== false) {
    $changes = ["Status" => ["oldValue" => "InProgress", "newValue" => "Done"]];
    $event = newEvent($organizationId, "WorkItemCompleted", "WorkItem", trim($line), ["changes" => $changes]);
    try {
        $emitter->emit($event, getenv("TRACEPARENT") ?: null);
        echo "emitted {$event["id"]}\n";
    } catch (NotEmitted $error) {
        $exitCode = 1;
        echo "not emitted {$event["id"]}: {$error->getMessage()}\n";
    }
}
$emitter->close();
exit($exitCode);
