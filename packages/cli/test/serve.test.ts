import { expect, test } from "@jest/globals";
import { callHerald } from "./run-herald.ts";

const RIGHT = {
  DATABASE_URL: "postgresql://herald:do-not-show@127.0.0.1:1/herald",
  AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:1",
  SECRET_KEYS: "k1:do-not-show",
  SECRET_SEALING_KEY: "k1:public",
};

test("herald serve says at once what is wrong with the settings of each of its services, and shows no secret", async () => {
  const wrong = { ...RIGHT, PORT: "high", MEMORY_MIB: "64", MAX_ENDPOINTS: "0", LOG_LEVEL: "loud" };
  const { code, stdout, stderr } = await callHerald(["serve"], wrong);
  expect({ code, stdout }).toEqual({ code: 78, stdout: "" });
  for (const name of ["PORT", "MEMORY_MIB", "MAX_ENDPOINTS", "LOG_LEVEL"]) expect(stderr).toContain(`${name} must be`);
  expect(stderr).not.toContain("do-not-show");
});

test("herald serve says what settings have wrong together, whichever service reads them", async () => {
  const { code, stderr } = await callHerald(["serve"], RIGHT);
  expect(code).toBe(78);
  expect(stderr).toContain("No key to verify tokens with");
});

test("herald serve refuses in production what is not safe", async () => {
  const unsafe = { ...RIGHT, HERALD_ENV: "production", AMQP_URL: "amqp://do-not-show:do-not-show@127.0.0.1" };
  const { code, stderr } = await callHerald(["serve"], unsafe);
  expect(code).toBe(78);
  expect(stderr).toContain("AMQP_URL is not safe with HERALD_ENV=production");
  expect(stderr).not.toContain("do-not-show");
});
