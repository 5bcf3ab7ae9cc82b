import { expect, test } from "@jest/globals";
import { apartByRabbitmqVersion, rabbitmqVersion } from "./rabbitmq-versions.ts";

test("the installed RabbitMQ is the default, and RABBITMQ_VERSION asks for another one", () => {
  expect(rabbitmqVersion({})).toBe("installed");
  expect(rabbitmqVersion({ RABBITMQ_VERSION: "" })).toBe("installed");
  expect(rabbitmqVersion({ RABBITMQ_VERSION: "3.10" })).toBe("3.10");
  expect(rabbitmqVersion({ RABBITMQ_VERSION: "4" })).toBe("4");
});

test("a version of RabbitMQ that tests can't have is refused, with those that they can", () => {
  for (const version of ["3.9", "4.0.5", "latest"]) {
    expect(() => rabbitmqVersion({ RABBITMQ_VERSION: version })).toThrow(
      /It can be one of installed, 3\.10, 4; without it/,
    );
  }
});

test("what brokers of two versions must not share has two names", () => {
  expect(apartByRabbitmqVersion("rabbitmq", "installed")).toBe("rabbitmq");
  expect(apartByRabbitmqVersion("rabbitmq", "3.10")).toBe("rabbitmq");
  expect(apartByRabbitmqVersion("rabbitmq", "4")).toBe("rabbitmq-4");
});
