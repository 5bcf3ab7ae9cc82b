// The tests of event-to-receiver.test.ts once more, on RabbitMQ 4.
process.env.RABBITMQ_VERSION = "4";
await import("../../journeys/event-to-receiver.test.ts");
