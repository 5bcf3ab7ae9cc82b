// The tests of broker-files.test.ts once more, on RabbitMQ 4.
process.env.RABBITMQ_VERSION = "4";
await import("../privileges/broker-files.test.ts");
