import { generateKeyPairSync } from "node:crypto";
import { ConfigError } from "@herald/common/config/read-config";
import { machineClock } from "@herald/common/runtime/clock";
import type { ProblemCode } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from "jose";
import { remoteKeys } from "../src/authentication/keys.ts";
import { tokenVerifier } from "../src/authentication/verify-token.ts";
import { readManagementApiConfig } from "../src/config.ts";
import { KeyServer } from "./support/key-server.ts";
import { AUDIENCE, environment, ISSUER, JWT_SECRET, token } from "./support/use-api.ts";

interface Key {
  kid: string | undefined;
  alg: string;
  privateKey: CryptoKey;
  jwk: JWK;
}

async function makeKey(kid: string | undefined, alg = "ES256"): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), alg, use: "sig", ...(kid !== undefined && { kid }) };
  return { kid, alg, privateKey, jwk };
}

function sign({ kid, alg, privateKey }: Key): Promise<string> {
  return new SignJWT({})
    .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
    .setSubject("user-1")
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setExpirationTime("1h")
    .sign(privateKey);
}

const config = (settings: Record<string, string>) => readManagementApiConfig(environment(settings));

/** Asks for the key of a token. */
const find = (getKey: ReturnType<typeof remoteKeys>, { kid = "", alg = "ES256" }: Partial<Key>) =>
  getKey({ alg, kid }, { payload: "", signature: "" });

describe("§5.1 keys of an identity provider", () => {
  const server = new KeyServer();
  beforeEach(async () => {
    Object.assign(server, { keys: [], status: 200, requests: 0 });
    await server.start();
  });
  afterEach(() => server.stop());

  const verifier = () => tokenVerifier(config({ AUTH_JWKS_URL: server.url.href }), machineClock);

  test("a token of a published key is accepted, and the keys are read once", async () => {
    const key = await makeKey("a");
    server.keys = [key.jwk];
    const verify = verifier();
    for (let call = 0; call < 5; call++) expect((await verify(await sign(key))).sub).toBe("user-1");
    expect(server.requests).toBe(1);
  });

  test.each(["RS256", "PS256", "ES384", "EdDSA"])("a key server's key for %s is accepted", async (alg) => {
    const key = await makeKey("a", alg);
    server.keys = [key.jwk];
    await verifier()(await sign(key));
  });

  test.each([
    ["without a restart", 0],
    ["though the machine's clock was set back by a day", 86_400_000],
  ])("a rotated key is found %s", async (_title, backMs) => {
    const [old, fresh] = [await makeKey("old"), await makeKey("new")];
    server.keys = [old.jwk];
    const getKey = remoteKeys(server.url, { cooldownMs: backMs === 0 ? 0 : 100 });
    await find(getKey, old);
    server.keys = [fresh.jwk];
    const now = Date.now();
    const machine = jest.spyOn(Date, "now").mockImplementation(() => now - backMs);
    try {
      await find(getKey, fresh);
      if (backMs === 0) await expect(find(getKey, old)).rejects.toMatchObject({ code: "ERR_JWKS_NO_MATCHING_KEY" });
    } finally {
      machine.mockRestore();
    }
  });

  test("many tokens of unknown keys make few requests to the key server", async () => {
    const [known, unknown] = [await makeKey("known"), await makeKey("unknown")];
    server.keys = [known.jwk];
    const verify = verifier();
    for (let call = 0; call < 20; call++) {
      await expect(verify(await sign(unknown))).rejects.toMatchObject({ code: "token_invalid" });
    }
    expect(server.requests).toBe(1);
  });

  test("an unreachable key server is a 503 and no verdict on the token", async () => {
    const key = await makeKey("a");
    await server.stop();
    await expect(verifier()(await sign(key))).rejects.toMatchObject({
      code: "key_server_unavailable",
      status: 503,
      facts: { headers: { "Retry-After": "5" } },
    });
  });

  test.each([500, 404, 302])("a key server that answers %p is a 503, and is left alone for a while", async (status) => {
    server.status = status;
    const verify = verifier();
    const token = await sign(await makeKey("a"));
    for (let call = 0; call < 5; call++) await expect(verify(token)).rejects.toMatchObject({ status: 503 });
    expect(server.requests).toBe(1);
  });

  test.each<[string, JWK, ProblemCode]>([
    ["without its numbers", { kty: "EC", crv: "P-256", x5c: ["MII="] }, "key_server_unavailable"],
    ["with numbers that are none", { kty: "RSA", n: "?", e: "?" }, "token_invalid"],
    ["on an unknown curve", { kty: "EC", crv: "P-257", x: "AA", y: "AA" }, "token_invalid"],
  ])("a published key %s is no failure of ours, however often it is tried", async (_title, jwk, code) => {
    const key = await makeKey("a", jwk.kty === "RSA" ? "RS256" : "ES256");
    server.keys = [{ ...jwk, kid: "a", alg: key.alg }];
    const verify = verifier();
    for (let call = 0; call < 3; call++) await expect(verify(await sign(key))).rejects.toMatchObject({ code });
  });

  test("while the key server is away, the known keys are still used", async () => {
    const [known, unknown] = [await makeKey("known"), await makeKey("unknown")];
    server.keys = [known.jwk];
    const getKey = remoteKeys(server.url, { maxAgeMs: 0, cooldownMs: 0, failureCooldownMs: 0 });
    await find(getKey, known);
    await server.stop();
    await find(getKey, known);
    // Only the server could say whether this one is new.
    await expect(find(getKey, unknown)).rejects.toMatchObject({ name: "KeyServerError" });
    await server.start();
    server.keys = [unknown.jwk];
    await eventually(() => find(getKey, unknown));
  });

  test("known keys expire while the key server is away", async () => {
    server.keys = [(await makeKey("a")).jwk];
    const getKey = remoteKeys(server.url, { maxAgeMs: 0, maxStaleMs: 0 });
    await find(getKey, { kid: "a" });
    await server.stop();
    await expect(find(getKey, { kid: "a" })).rejects.toThrow("can't be read");
  });

  test("a token that names no key is tried with all keys that fit", async () => {
    const [first, second, stranger] = [await makeKey(undefined), await makeKey(undefined), await makeKey(undefined)];
    server.keys = [first.jwk, second.jwk];
    const verify = verifier();
    expect((await verify(await sign(first))).sub).toBe("user-1");
    expect((await verify(await sign(second))).sub).toBe("user-1");
    await expect(verify(await sign(stranger))).rejects.toMatchObject({ code: "token_invalid" });
  });
});

describe("§5.1 one public key", () => {
  test("a public key verifies tokens of its private key only, with line breaks written either way", async () => {
    const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
    const pem = await exportSPKI(publicKey);
    const own = await sign({ kid: undefined, alg: "RS256", privateKey, jwk: {} });
    for (const AUTH_PUBLIC_KEY of [pem, pem.replaceAll("\n", "\\n")]) {
      const verify = tokenVerifier(config({ AUTH_PUBLIC_KEY }), machineClock);
      expect((await verify(own)).sub).toBe("user-1");
      await expect(verify(await sign(await makeKey(undefined, "RS256")))).rejects.toMatchObject({ status: 401 });
      await expect(verify(await sign(await makeKey(undefined, "ES256")))).rejects.toMatchObject({ status: 401 });
    }
  });

  test.each(["PS256", "ES256", "ES384", "ES512", "EdDSA"])("a public key for %s verifies its tokens", async (alg) => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const verify = tokenVerifier(config({ AUTH_PUBLIC_KEY: await exportSPKI(publicKey) }), machineClock);
    expect((await verify(await sign({ kid: undefined, alg, privateKey, jwk: {} }))).sub).toBe("user-1");
  });

  test("a public key of a kind that signs no token ends the start", () => {
    const pem = generateKeyPairSync("x25519").publicKey.export({ type: "spki", format: "pem" }).toString();
    expect(() => tokenVerifier(config({ AUTH_PUBLIC_KEY: pem }), machineClock)).toThrow(/of the kind x25519/);
  });

  test("a public key that can't be read ends the start, which says what is wrong", () => {
    expect(() => tokenVerifier(config({ AUTH_PUBLIC_KEY: "no key" }), machineClock)).toThrow(ConfigError);
  });
});

describe("settings", () => {
  const refused = (settings: Record<string, string>) => {
    try {
      config(settings);
    } catch (error) {
      return (error as ConfigError).message;
    }
    throw new Error("The configuration was accepted.");
  };

  test("a configuration needs exactly one key source", () => {
    expect(refused({})).toMatch(/AUTH_JWKS_URL, AUTH_PUBLIC_KEY and \(development\) AUTH_JWT_SECRET/);
    expect(refused({ AUTH_JWKS_URL: "https://x.example", AUTH_JWT_SECRET: "x".repeat(32) })).toMatch(/only one/);
  });

  test("a configuration must name issuer and audience", () => {
    expect(refused({ AUTH_JWKS_URL: "https://x.example", AUTH_ISSUER: "", AUTH_AUDIENCE: "" })).toMatch(
      /AUTH_ISSUER[\s\S]*AUTH_AUDIENCE/,
    );
  });

  test("a short secret isn't repeated", () => {
    expect(refused({ AUTH_JWT_SECRET: "short and secret" })).not.toContain("short and secret");
  });
});

test("the time of a token's check comes from the clock", async () => {
  const clock = steeredClock(new Date());
  const verify = tokenVerifier(config({ AUTH_JWT_SECRET: JWT_SECRET }), clock);
  const made = await token({ expiresInS: 600 });
  await verify(made);
  clock.advance(11 * 60_000);
  await expect(verify(made)).rejects.toMatchObject({ code: "token_expired" });
});
