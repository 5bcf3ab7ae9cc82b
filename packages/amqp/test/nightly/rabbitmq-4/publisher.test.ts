// The tests of publisher.test.ts once more, on RabbitMQ 4.
process.env.RABBITMQ_VERSION = "4";
await import("../../publisher.test.ts");
