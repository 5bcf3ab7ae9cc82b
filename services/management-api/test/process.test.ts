import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { eventually } from "@herald/dev/harness/eventually";
import { loggingChild } from "@herald/dev/harness/logging-child";
import { useDatabase } from "@herald/dev/harness/use-database";
import { runToEnd } from "@herald/dev/stack/programs";
import { expect, test } from "@jest/globals";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { readManagementApiConfig } from "../src/config.ts";
import { API_PREFIX } from "../src/operations.ts";

const db = useDatabase();

// The built service, as a process.
const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

/** How the service ends with these settings, and all that it prints. */
const run = (settings: Record<string, string>) =>
  runToEnd(process.execPath, [MAIN], { env: { PATH: process.env.PATH, ...settings } });

test("a configuration that can't be used ends the start with 78, and names every problem", async () => {
  const { code, stdout, stderr } = await run({
    DATABASE_URL: "postgresql://127.0.0.1:1/none",
    AMQP_URL: "amqp://127.0.0.1:1",
    AUTH_JWT_SECRET: "",
    SECRET_SEALING_KEY: "",
    PORT: "many",
    BASE_PATH: "no-slash",
  });
  expect(code).toBe(78);
  for (const name of ["SECRET_SEALING_KEY", "PORT", "BASE_PATH"]) expect(stdout + stderr).toContain(name);
});

test("regression: while the identity provider's keys can't be read, requests are refused, and the log has two lines in all", async () => {
  let keys: object | undefined;
  const keyServer = createServer((_request, response) =>
    response.writeHead(keys ? 200 : 500, { connection: "close" }).end(JSON.stringify(keys)),
  );
  await once(keyServer.listen(0, "127.0.0.1"), "listening");
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: "ES256" })
    .setSubject("a")
    .setIssuer("i")
    .setAudience("a")
    .setExpirationTime("1h")
    .sign(privateKey);
  const settings = {
    HERALD_ENV: "development",
    DATABASE_URL: db.url,
    AMQP_URL: "amqp://127.0.0.1:1",
    AUTH_JWKS_URL: `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/`,
    AUTH_ISSUER: "i",
    AUTH_AUDIENCE: "a",
    SECRET_SEALING_KEY: newSealingKeys("k1").SECRET_SEALING_KEY,
    HTTP_HOST: "127.0.0.1",
    PORT: "0",
    OPERATIONS_PORT: "0",
  };
  const { lines, kill } = loggingChild([MAIN], { env: settings });
  try {
    const get = async () => {
      const port = lines().find(({ message }) => message === "listening")?.port;
      const headers = { authorization: `Bearer ${token}`, connection: "close" };
      const answer = await fetch(`http://127.0.0.1:${port}${API_PREFIX}/webhooks`, { headers });
      return [answer.status, ((await answer.json()) as { code: string }).code];
    };
    await eventually(async () => expect(await get()).toEqual([503, "key_server_unavailable"]));
    for (let request = 0; request < 5; request++) expect(await get()).toEqual([503, "key_server_unavailable"]);
    const ofOutage = () => lines().filter(({ message }) => /key server|request/.test(String(message)));
    const down = { level: "warn", reason: expect.stringMatching(/^The key server at .*Correct AUTH_JWKS_URL/) };
    expect(ofOutage()).toEqual([expect.objectContaining(down)]);
    keys = { keys: [await exportJWK(publicKey)] };
    // The token has no claim that names an organization.
    await eventually(async () => expect(await get()).toEqual([403, "organization_missing"]));
    const back = { level: "info", message: "the key server: back" };
    expect(ofOutage()).toEqual([expect.objectContaining(down), expect.objectContaining(back)]);
  } finally {
    kill();
    keyServer.close();
  }
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
