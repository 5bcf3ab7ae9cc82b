import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign as signWith } from "node:crypto";
import { machineClock } from "@herald/common/runtime/clock";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { tokenVerifier, type VerifyToken } from "../../src/authentication/verify-token.ts";
import { readManagementApiConfig } from "../../src/config.ts";
import { KeyServer } from "../support/key-server.ts";
import { AUDIENCE, environment, ISSUER, JWT_SECRET } from "../support/use-api.ts";

/** Forged tokens, against each way of verifying them. Made by hand: no library would make these. */
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const attackersRsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const smallRsa = generateKeyPairSync("rsa", { modulusLength: 1024 });
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsaPem = rsa.publicKey.export({ type: "spki", format: "pem" }).toString();

const base64url = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const now = Math.floor(Date.now() / 1_000);
const claims = (override: object = {}) => ({
  sub: "user-1",
  iss: ISSUER,
  aud: AUDIENCE,
  exp: now + 600,
  organization_id: "organization-1",
  ...override,
});

type Signer = (input: string) => Buffer;
const rs256: Signer = (input) => signWith("sha256", Buffer.from(input), rsa.privateKey);
const byRsa =
  (key: KeyObject): Signer =>
  (input) =>
    signWith("sha256", Buffer.from(input), key);
const es256: Signer = (input) =>
  signWith("sha256", Buffer.from(input), { key: ec.privateKey, dsaEncoding: "ieee-p1363" });
const hs256 =
  (secret: string | Buffer): Signer =>
  (input) =>
    createHmac("sha256", secret).update(input).digest();
const zeros =
  (length: number): Signer =>
  () =>
    Buffer.alloc(length);

function token(header: object, sign: Signer, payload: unknown = claims()): string {
  const input = `${base64url(header)}.${base64url(payload)}`;
  return `${input}.${sign(input).toString("base64url")}`;
}

const [attacker, provider] = [new KeyServer(), new KeyServer()];
let verifiers: Record<"keys of a server" | "a public key" | "a shared secret", VerifyToken>;

beforeAll(async () => {
  attacker.keys = [{ ...attackersRsa.publicKey.export({ format: "jwk" }), kid: "rsa", alg: "RS256", use: "sig" }];
  provider.keys = [
    { ...rsa.publicKey.export({ format: "jwk" }), kid: "rsa", alg: "RS256", use: "sig" },
    { ...ec.publicKey.export({ format: "jwk" }), kid: "ec", alg: "ES256", use: "sig" },
    { ...smallRsa.publicKey.export({ format: "jwk" }), kid: "small", alg: "RS256", use: "sig" },
    { kty: "oct", k: base64url("published by mistake, and known to all"), kid: "oct", alg: "HS256" },
  ];
  for (const server of [attacker, provider]) await server.start();
  verifiers = {
    "keys of a server": verifier({ AUTH_JWKS_URL: provider.url.href }),
    "a public key": verifier({ AUTH_PUBLIC_KEY: rsaPem }),
    "a shared secret": verifier({ AUTH_JWT_SECRET: JWT_SECRET }),
  };
});
afterAll(async () => {
  for (const server of [attacker, provider]) await server.stop();
});

const RS256 = { alg: "RS256", kid: "rsa" };
const claiming = (override: object, header: object = RS256) => token(header, rs256, claims(override));
const good = claiming({});
const [goodHeader, goodPayload, goodSignature] = good.split(".") as [string, string, string];
const algorithms = ["none", "None", "NONE", "nOnE", "none ", "", "HS256", "hs256", "RS1", "RSA1_5", "dir", "ES256K"];
const kids = [
  "unknown",
  "",
  "../../../../dev/null",
  "/proc/self/environ",
  "' union select 'secret'; --",
  "rsa\u0000",
  "RSA",
  "https://attacker.example/key",
  "__proto__",
  "constructor",
  "x".repeat(10_000),
];
const attackersJwk = { ...attackersRsa.publicKey.export({ format: "jwk" }), alg: "RS256" };
const signedByAttacker = byRsa(attackersRsa.privateKey);

/** By name, so that a failure says which. Made late: the attacker's address is known then. */
const forged: Record<string, () => string> = {
  ...Object.fromEntries(
    algorithms.flatMap((alg) => [
      [`alg ${JSON.stringify(alg)} without signature`, () => token({ alg, kid: "rsa" }, zeros(0))],
      [
        `alg ${JSON.stringify(alg)} with the signature of another`,
        () => `${base64url({ alg, kid: "rsa" })}.${goodPayload}.${goodSignature}`,
      ],
    ]),
  ),
  "no alg": () => token({ kid: "rsa" }, rs256),
  "alg as a list": () => token({ alg: ["RS256"], kid: "rsa" }, rs256),
  "HS256 by the public key's PEM": () => token({ alg: "HS256", kid: "rsa" }, hs256(rsaPem)),
  "HS256 by the public key's PEM without its end": () => token({ alg: "HS256", kid: "rsa" }, hs256(rsaPem.trim())),
  "HS256 by the public key's DER": () =>
    token({ alg: "HS256" }, hs256(createPublicKey(rsaPem).export({ type: "spki", format: "der" }))),
  "HS256 by a published key": () =>
    token({ alg: "HS256", kid: "oct" }, hs256("published by mistake, and known to all")),
  "HS256 by nothing": () => token({ alg: "HS256" }, hs256("")),
  ...Object.fromEntries(
    kids.map((kid) => [
      `kid ${JSON.stringify(kid.slice(0, 30))}`,
      () => token({ alg: "RS256", kid }, signedByAttacker),
    ]),
  ),
  "jku of the attacker": () => token({ ...RS256, jku: attacker.url.href }, signedByAttacker),
  "x5u of the attacker": () => token({ ...RS256, x5u: attacker.url.href }, signedByAttacker),
  "a key inside": () => token({ alg: "RS256", jwk: attackersJwk }, signedByAttacker),
  "a key and its name inside": () => token({ ...RS256, jwk: { ...attackersJwk, kid: "rsa" } }, signedByAttacker),
  "a certificate inside": () => token({ ...RS256, x5c: ["AAAA"] }, signedByAttacker),
  "an unknown critical extension": () => token({ ...RS256, crit: ["x"], x: 1 }, rs256),
  "no critical extension in crit": () => token({ ...RS256, crit: [] }, rs256),
  "b64 false": () => token({ ...RS256, b64: false, crit: ["b64"] }, rs256),
  "ES256 by nothing but zeros": () => token({ alg: "ES256", kid: "ec" }, zeros(64)),
  "ES256 of no length": () => token({ alg: "ES256", kid: "ec" }, zeros(0)),
  "ES256 in DER": () =>
    token({ alg: "ES256", kid: "ec" }, (input) => signWith("sha256", Buffer.from(input), ec.privateKey)),
  "RS256 by an EC key": () => token({ alg: "RS256", kid: "ec" }, es256),
  "an RSA key of 1,024 bits": () => token({ alg: "RS256", kid: "small" }, byRsa(smallRsa.privateKey)),
  "an empty signature": () => `${goodHeader}.${goodPayload}.`,
  "no signature": () => `${goodHeader}.${goodPayload}`,
  "four parts": () => `${good}.AAAA`,
  "five parts, as encrypted ones have": () => `${good}.AAAA.AAAA`,
  "another payload under the signature": () =>
    `${goodHeader}.${base64url(claims({ organization_id: "other" }))}.${goodSignature}`,
  "a signature with a bit turned": () => good.replace(/.{2}$/, (end) => (end === "AA" ? "BB" : "AA")),
  "expired a minute ago": () => claiming({ exp: now - 60 }),
  "an end after the last date of JavaScript": () => claiming({ exp: 8.64e12 + 1 }),
  "an end beyond all dates": () => claiming({ exp: 1e20 }),
  "an end in ten years": () => claiming({ exp: now + 3_650 * 24 * 3_600 }),
  "an ID token of OpenID Connect": () => claiming({ at_hash: "x" }, { ...RS256, typ: "JWT" }),
  "an ID token of a code": () => claiming({ c_hash: "x" }, { ...RS256, typ: "JWT" }),
  "an ID token without hashes": () => claiming({ nonce: "n" }, { ...RS256, typ: "JWT" }),
  ...Object.fromEntries(
    ["Refresh", "Offline", "ID", "id", "Logout", "", 7, null, ["Bearer"]].map((typ) => [
      `typ ${JSON.stringify(typ)} among the claims`,
      () => claiming({ typ }),
    ]),
  ),
  ...Object.fromEntries(
    [{ jkt: "x" }, { "x5t#S256": "x" }, {}, null].map((cnf) => [
      `a token that is bound to a key: cnf ${JSON.stringify(cnf)}`,
      () => claiming({ cnf }, { ...RS256, typ: "at+jwt" }),
    ]),
  ),
  "an ID token of Cognito": () => claiming({ token_use: "id" }),
  "an end in the year 10000": () => claiming({ exp: 253_402_300_800 }),
  "a subject that is an object": () => claiming({ sub: { a: 1 } }),
  "a subject in a list": () => claiming({ sub: ["user-1"] }),
  "a subject that is null": () => claiming({ sub: null }),
  "an empty subject": () => claiming({ sub: "" }),
  "other audiences": () => claiming({ aud: ["a", "b"] }),
  "an audience that is an object": () => claiming({ aud: { 0: AUDIENCE } }),
  "an issuer in a list": () => claiming({ iss: [ISSUER] }),
  "an issuer with more behind it": () => claiming({ iss: `${ISSUER}.evil.example` }),
  "a payload that is a list": () => token(RS256, rs256, [claims()]),
  "a payload that is no JSON": () => token(RS256, rs256, "{"),
  "the last of two ends": () => token(RS256, rs256, JSON.stringify(claims()).replace(/\}$/, `,"exp":${now - 60}}`)),
  ...Object.fromEntries(
    ["logout+jwt", "application/dpop+jwt", "secevent+jwt", "id_token", "", 7, null, ["JWT"]].map((typ) => [
      `typ ${JSON.stringify(typ)}`,
      () => token({ ...RS256, typ }, rs256),
    ]),
  ),
  "a megabyte": () => token({ ...RS256, x: "x".repeat(1024 * 1024) }, signedByAttacker),
};

describe.each(["keys of a server", "a public key", "a shared secret"] as const)("§5.1 §7/401 against %s", (way) => {
  test.each(Object.keys(forged))("no token passes: %s", async (name) => {
    const made = forged[name] as () => string;
    await expect(verifiers[way](made())).rejects.toMatchObject({ status: 401 });
    expect(attacker.requests).toBe(0);
  });
});

test("§5.1 a token that isn't forged passes, so the table of forgeries can fail", async () => {
  for (const way of ["keys of a server", "a public key"] as const) {
    expect(await verifiers[way](good)).toMatchObject({ sub: "user-1" });
    await verifiers[way](token({ ...RS256, typ: "at+jwt", jku: attacker.url.href }, rs256));
    for (const typ of ["JWT", "jwt", "AT+JWT", "application/at+jwt"]) {
      await verifiers[way](token({ ...RS256, typ }, rs256));
    }
    for (const typ of ["Bearer", "bearer", "JWT", "at+jwt"]) {
      await verifiers[way](claiming({ typ }));
    }
    // Keycloak before 25 has the nonce in all tokens.
    await verifiers[way](claiming({ typ: "Bearer", nonce: "n" }, { ...RS256, typ: "JWT" }));
    await verifiers[way](claiming({ nonce: "n" }, { ...RS256, typ: "at+jwt" }));
    await verifiers[way](claiming({ aud: ["other", AUDIENCE] }));
    await verifiers[way](claiming({ exp: now + 31 * 24 * 3_600 }));
  }
  await verifiers["keys of a server"](token({ alg: "ES256", kid: "ec" }, es256));
  await verifiers["a shared secret"](token({ alg: "HS256" }, hs256(JWT_SECRET)));
  expect(attacker.requests).toBe(0);
});

describe("§5.4 §7/401 a refused token is told from others by the reason that is so", () => {
  test.each([
    ["no end", { exp: undefined }, /has no claim exp/],
    ["an end that is text", { exp: "9999999999" }, /claim exp is of a wrong type/],
    ["an end that is null", { exp: null }, /claim exp is of a wrong type/],
    [
      "an end in two months",
      { exp: now + 60 * 24 * 3_600 },
      /ends more than 31 days from now\. Use a token for this API, or correct its issuer/,
    ],
    ["a beginning that is text", { nbf: "tomorrow" }, /claim nbf is of a wrong type/],
    ["a beginning in a minute", { nbf: now + 61 }, /begins more than 30 s from now/],
    ["no subject", { sub: undefined }, /has no claim sub/],
    ["a subject that is a number", { sub: 7 }, /claim sub is not valid/],
    ["no issuer", { iss: undefined }, /has no claim iss/],
    ["another issuer", { iss: "another" }, /made by another issuer\. Use a token/],
    ["no audience", { aud: undefined }, /has no claim aud/],
    ["another audience", { aud: "another" }, /made for another audience\. Use a token/],
    ["a bound key", { cnf: {} }, /is bound to a key/],
    ["a nonce", { nonce: "n" }, /is an ID token/],
  ])("%s", async (_title, override, reason) => {
    const made = token(RS256, rs256, claims(override));
    await expect(verifiers["a public key"](made)).rejects.toMatchObject({
      status: 401,
      facts: { detail: expect.stringMatching(reason) },
    });
  });

  test("a bad signature, and an end a minute ago", async () => {
    const facts = { detail: expect.stringMatching(/signature/) };
    await expect(verifiers["a public key"](token(RS256, signedByAttacker))).rejects.toMatchObject({ facts });
    const expired = verifiers["a public key"](claiming({ exp: now - 60 }));
    await expect(expired).rejects.toMatchObject({ code: "token_expired" });
  });

  test.each([
    ["begins in 29 s", { nbf: now + 29 }],
    ["ended 20 s ago", { exp: now - 20 }],
  ])("a clock that is a little wrong does not matter: a token that %s passes", async (_title, override) => {
    await verifiers["a public key"](token(RS256, rs256, claims(override)));
  });
});

function verifier(settings: Record<string, string>): VerifyToken {
  return tokenVerifier(readManagementApiConfig(environment(settings)), machineClock);
}
