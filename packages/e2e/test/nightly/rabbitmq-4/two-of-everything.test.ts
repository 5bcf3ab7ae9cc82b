// The tests of two-of-everything.test.ts once more, on RabbitMQ 4.
process.env.RABBITMQ_VERSION = "4";
await import("../../journeys/two-of-everything.test.ts");
