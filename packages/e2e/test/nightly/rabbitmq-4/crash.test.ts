// The tests of crash.test.ts once more, on RabbitMQ 4.
process.env.RABBITMQ_VERSION = "4";
await import("../../journeys/crash.test.ts");
