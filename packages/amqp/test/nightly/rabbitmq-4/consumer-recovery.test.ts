// The tests of consumer-recovery.test.ts once more, on RabbitMQ 4.
process.env.RABBITMQ_VERSION = "4";
await import("../../consumer-recovery.test.ts");
