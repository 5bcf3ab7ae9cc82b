import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { expect, test } from "@jest/globals";
import { readManagementApiConfig } from "../src/config.ts";

// The built service, as a process.
const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

/** How the service ends with these settings, and all that it prints. */
async function run(settings: Record<string, string>): Promise<{ ended: unknown[]; printed: string }> {
  const child = spawn(process.execPath, [MAIN], { env: { PATH: process.env.PATH, ...settings } });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
  }
  return { ended: await once(child, "close"), printed };
}

test("a configuration that can't be used ends the start with 78, and names every problem", async () => {
  const { ended, printed } = await run({
    DATABASE_URL: "postgresql://127.0.0.1:1/none",
    AMQP_URL: "amqp://127.0.0.1:1",
    AUTH_JWT_SECRET: "",
    SECRET_SEALING_KEY: "",
    PORT: "many",
    BASE_PATH: "no-slash",
  });
  expect(ended).toEqual([78, null]);
  for (const name of ["SECRET_SEALING_KEY", "PORT", "BASE_PATH"]) expect(printed).toContain(name);
});

test("in production settings that are not safe end the start with 78, all of them named, and no secret shown", async () => {
  const unsafe = {
    DATABASE_URL: "postgresql://herald:hunter2@db.example.com/herald",
    AMQP_URL: "amqp://guest:guest@mq.example.com",
    AUTH_JWT_SECRET: "hunter2".repeat(5),
    AUTH_JWKS_URL: "http://login.example.com/jwks",
    PUBLIC_ORIGIN: "http://herald.example.com",
    ALLOWED_PRIVATE_NETWORKS: "0.0.0.0/0",
  };
  const { ended, printed } = await run(unsafe);
  expect(ended).toEqual([78, null]);
  const named = [...printed.matchAll(/- (\S+) is not safe with HERALD_ENV=production/g)].map(([, name]) => name);
  expect([...new Set(named)].sort()).toEqual(Object.keys(unsafe).sort());
  expect(printed).not.toContain("hunter2");
});

test("in production the admin page's public origin is required", () => {
  const production = {
    DATABASE_URL: "postgres://herald:a-password@localhost/herald",
    AMQP_URL: "amqp://herald:a-password@localhost",
    SECRET_SEALING_KEY: newSealingKeys("k1").SECRET_SEALING_KEY,
    AUTH_JWKS_URL: "https://login.example.com/jwks",
    AUTH_ISSUER: "https://login.example.com",
    AUTH_AUDIENCE: "herald",
  };
  expect(() => readManagementApiConfig(production)).toThrow(/PUBLIC_ORIGIN is missing/);
  expect(() => readManagementApiConfig({ ...production, HERALD_ENV: "development" })).not.toThrow();
  expect(() => readManagementApiConfig({ ...production, PUBLIC_ORIGIN: "https://herald.example.com" })).not.toThrow();
});
