// Emits WorkItemCompleted for each work item whose id, a UUID, is a line of the standard input.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;
using RabbitMQ.Client;
using RabbitMQ.Client.Exceptions;

string organizationId = Environment.GetEnvironmentVariable("ORGANIZATION_ID")
    ?? throw new InvalidOperationException("Set ORGANIZATION_ID to the organization whose events these are.");
string? traceparent = Environment.GetEnvironmentVariable("TRACEPARENT");
var emitter = new Emitter(
    new Uri(Environment.GetEnvironmentVariable("AMQP_URL") ?? "amqp://localhost"),
    (Environment.GetEnvironmentVariable("BROKER_NAMESPACE") ?? "herald") + ".events",
    TimeSpan.FromSeconds(int.Parse(Environment.GetEnvironmentVariable("TIMEOUT_SECONDS") ?? "30")));
int exitCode = 0;
while (Console.ReadLine() is { } line)
{
    var changes = new { Status = new { oldValue = "InProgress", newValue = "Done" } };
    var emitted = Event.New(organizationId, "WorkItemCompleted", "WorkItem", line.Trim(), new { changes });
    try
    {
        await emitter.EmitAsync(emitted, traceparent);
        Console.WriteLine($"emitted {emitted.id}");
    }
    catch (NotEmittedException error)
    {
        exitCode = 1;
        Console.WriteLine($"not emitted {emitted.id}: {error.Message}");
    }
}
await emitter.CloseAsync();
return exitCode;

/// <summary>Its members have the names of the message's fields.</summary>
record Event(
    string organizationId, string id, string type, string occurredAtUtc, string entityType, string entityId, object data)
{
    /// <summary>Make it once, and keep it over retries: its organization, id and time say which event it is.</summary>
    public static Event New(string organizationId, string type, string entityType, string entityId, object data)
    {
        string now = DateTime.UtcNow.ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture);
        return new Event(organizationId, Guid.NewGuid().ToString(), type, now, entityType, entityId, data);
    }

    /// <summary>The first digit chooses one of sixteen queues, so that a flood does not hold up others' events.</summary>
    public string RoutingKey()
    {
        string digits = Convert.ToHexString(SHA256.HashData(Encoding.UTF8.GetBytes(organizationId))).ToLowerInvariant();
        // Dots divide a routing key, so those of a type become hyphens.
        return $"{type.Replace('.', '-')}.{digits[0]}.{digits[1]}";
    }
}

/// <summary>Emitting the same event again, with its id and time, is safe.</summary>
class NotEmittedException(string message, Exception cause) : Exception(message, cause);

class Emitter(Uri url, string exchange, TimeSpan timeout)
{
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(500);
    private IConnection? connection;
    private IChannel? channel;

    /// <summary>Returns when the broker has stored the event.</summary>
    public async Task EmitAsync(Event emitted, string? traceparent)
    {
        using var deadline = new CancellationTokenSource(timeout);
        while (true)
        {
            try
            {
                await PublishAsync(emitted, traceparent, deadline.Token);
                return;
            }
            catch (PublishException error) when (error.IsReturn)
            {
                throw new NotEmittedException("no queue takes it: start Herald's publisher, and compare BROKER_NAMESPACE", error);
            }
            catch (PublishException error) when (channel is { IsOpen: true })
            {
                throw new NotEmittedException("the broker refused it: too many events wait, try again later", error);
            }
            catch (Exception error) when (
                error is RabbitMQClientException or IOException or TimeoutException or OperationCanceledException)
            {
                // The broker may have it or not. Sent again, it is the same event, and Herald delivers it once.
                await CloseAsync();
                if (deadline.IsCancellationRequested)
                {
                    throw new NotEmittedException($"the broker did not confirm it in time: {error.Message}", error);
                }
                await Task.Delay(Pause);
            }
        }
    }

    private async Task PublishAsync(Event emitted, string? traceparent, CancellationToken cancel)
    {
        if (channel is null)
        {
            // Else the library opens connections by itself, and knows nothing of events that were not confirmed.
            var factory = new ConnectionFactory { Uri = url, AutomaticRecoveryEnabled = false };
            connection = await factory.CreateConnectionAsync(cancel);
            // With the tracking, each publishing waits for its confirm.
            var confirms = new CreateChannelOptions(
                publisherConfirmationsEnabled: true, publisherConfirmationTrackingEnabled: true);
            channel = await connection.CreateChannelAsync(confirms, cancel);
        }
        var properties = new BasicProperties
        {
            ContentType = "application/json",
            Persistent = true,
            MessageId = emitted.id,
            Type = emitted.type,
            Headers = new Dictionary<string, object?>(),
        };
        if (traceparent is not null) properties.Headers["traceparent"] = traceparent;
        byte[] body = JsonSerializer.SerializeToUtf8Bytes(emitted);
        // Nothing is declared: an emitter may write to the exchange, which Herald makes, and nothing else.
        await channel.BasicPublishAsync(exchange, emitted.RoutingKey(), mandatory: true, properties, body, cancel);
    }

    public async Task CloseAsync()
    {
        IConnection? lost = connection;
        (connection, channel) = (null, null);
        if (lost is not null) await lost.AbortAsync();
    }
}
