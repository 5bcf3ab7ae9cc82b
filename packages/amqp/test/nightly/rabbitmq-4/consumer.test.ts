// The tests of consumer.test.ts once more, on RabbitMQ 4.
process.env.RABBITMQ_VERSION = "4";
await import("../../consumer.test.ts");
