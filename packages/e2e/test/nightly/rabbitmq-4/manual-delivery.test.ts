// The tests of manual-delivery.test.ts once more, on RabbitMQ 4.
process.env.RABBITMQ_VERSION = "4";
await import("../../journeys/manual-delivery.test.ts");
