import { createHmac } from "node:crypto";
import { afterEach, describe, expect, test } from "@jest/globals";
import { CHECKS } from "../src/check/checks.ts";
import { verify } from "../src/index.ts";
import { type CheckOptions, checkReceiver } from "../src/listen/index.ts";
import { idOf, type Parts, SECRET, type SmallReceiver, startReceiver } from "./small-receiver.ts";

let receiver: SmallReceiver | undefined;
afterEach(async () => {
  await receiver?.close();
  receiver = undefined;
});

/** The ids of the checks that a receiver fails. */
async function failures(changes: Partial<Parts>, options: Partial<CheckOptions> = {}): Promise<string[]> {
  receiver = await startReceiver(changes);
  const results = await checkReceiver({ url: receiver.url, secret: SECRET, ...options });
  expect(results.map(({ id }) => id)).toEqual(CHECKS.map(({ id }) => id));
  return results.filter(({ passed }) => !passed).map(({ id }) => id);
}

/** What goes through `verify` with another body, signature or timestamp than what came. */
const headerOf = (headers: unknown, name: string) => (headers as Record<string, string[] | undefined>)[name]?.[0] ?? "";

test("§4.4 a right receiver passes every check", async () => {
  expect(await failures({})).toEqual([]);
});

const ofVerification = CHECKS.filter(({ title }) => title.startsWith("refuses"))
  .map(({ id }) => id)
  .filter((id) => !/^(oversized|method)/.test(id));

/** Each mistake, what a receiver does that makes it, and the checks that fail for it and no others. */
const mistakes: [mistake: string, parts: Partial<Parts>, found: string[]][] = [
  ["verifies nothing", { isVerified: () => true }, ofVerification],
  [
    "does not look at its clock",
    { isVerified: (input) => verify({ ...input, toleranceSeconds: Number.MAX_SAFE_INTEGER }).ok },
    ["stale", "future", "ancient", "timestamp_milliseconds"],
  ],
  [
    "refuses what is old, and not what is ahead",
    {
      isVerified: (input) => {
        const signedAt = Number(headerOf(input.headers, "x-service-timestamp")) * 1000;
        return verify({ ...input, now: new Date(signedAt > Date.now() && signedAt < 8e15 ? signedAt : Date.now()) }).ok;
      },
    },
    ["future", "timestamp_milliseconds"],
  ],
  [
    "parses the body before it verifies it",
    {
      isVerified: (input) => {
        try {
          const body = Buffer.from(JSON.stringify(JSON.parse(Buffer.from(input.body).toString())));
          return verify({ ...input, body }).ok;
        } catch {
          return false;
        }
      },
    },
    ["good_spacing", "changed_spacing"],
  ],
  [
    "takes the first of two headers",
    {
      headers: ({ headersDistinct }) =>
        Object.fromEntries(Object.entries(headersDistinct).map(([name, values]) => [name, values?.[0]])),
    },
    ["two_signatures", "two_timestamps", "two_events", "two_delivery_ids"],
  ],
  [
    "compares signatures without case",
    {
      headers: ({ headersDistinct }) => ({
        ...headersDistinct,
        "x-service-signature": headersDistinct["x-service-signature"]?.map((value) => value.toLowerCase()),
      }),
    },
    ["signature_scheme_capitals", "signature_capitals"],
  ],
  [
    "reads the timestamp as loosely as its language does",
    {
      isVerified: ({ headers, body }) => {
        const timestamp = headerOf(headers, "x-service-timestamp");
        const known = Number.parseInt(timestamp, 10);
        if (!(Math.abs(Date.now() / 1000 - known) <= 300) || !isOnce(headers)) return false;
        return headerOf(headers, "x-service-signature") === hmac(SECRET, timestamp, body);
      },
    },
    ["timestamp_leading_zero", "timestamp_plus", "timestamp_fraction", "timestamp_exponent"],
  ],
  ["has no limit", { limitBytes: Number.POSITIVE_INFINITY }, ["oversized", "oversized_without_length"]],
  ["takes any method", { isPost: () => true }, ["method_get", "method_put"]],
  [
    "answers a duplicate with a failure",
    {
      store: (body, seen) => {
        const id = idOf(body);
        if (id === null) return 400;
        if (seen.has(id)) return 409;
        seen.add(id);
        return 204;
      },
    },
    ["duplicate", "duplicate_at_once"],
  ],
  [
    "makes an error of a header that is missing",
    {
      headers: ({ headersDistinct }) => {
        if (!headersDistinct["x-service-signature"]) throw new TypeError("undefined is not a text");
        return headersDistinct;
      },
    },
    ["unsigned", "signature_missing"],
  ],
  [
    "takes every verified body for an event",
    { store: (body) => (JSON.parse(body.toString()).type ? 204 : 400) },
    ["no_json", "no_text", "no_body", "no_event"],
  ],
  [
    "dies of a sender that hangs up",
    { onCutOff: (server) => void server.close().closeAllConnections() },
    ["cut_off", "no_http"],
  ],
  ["redirects", { store: () => 307 }, CHECKS.filter(({ id }) => !ofRefusal(id)).map(({ id }) => id)],
];

function ofRefusal(id: string): boolean {
  return CHECKS.some((check) => check.id === id && check.title.startsWith("refuses"));
}

function isOnce(headers: unknown): boolean {
  return ["signature", "timestamp", "event", "delivery-id"].every(
    (name) => (headers as Record<string, string[]>)[`x-service-${name}`]?.length === 1,
  );
}

/** The signature over any text of a timestamp, with any key. */
function hmac(key: string | Buffer, timestamp: string, body: Uint8Array): string {
  return `sha256=${createHmac("sha256", key).update(`${timestamp}.`).update(body).digest("hex")}`;
}

describe("planted mistakes", () => {
  test.each(mistakes)("a receiver that %s is found out", async (_mistake, parts, found) => {
    expect(await failures(parts)).toEqual(found);
  });

  test("a receiver that decodes its secret is found out", async () => {
    const key = Buffer.from(SECRET, "base64");
    const found = await failures({
      isVerified: ({ headers, body }) =>
        headerOf(headers, "x-service-signature") === hmac(key, headerOf(headers, "x-service-timestamp"), body),
    });
    expect(found).toEqual(expect.arrayContaining(["good", "decoded_secret"]));
  });

  test("§4.4.5 a receiver that works before it answers is found out", async () => {
    const never = new Promise<number>(() => {});
    receiver = await startReceiver({ store: () => never });
    const results = await checkReceiver({ url: receiver.url, secret: SECRET, timeoutMs: 200 });
    const good = results.find(({ id }) => id === "good");
    expect(good).toMatchObject({ passed: false, statuses: [null], advice: expect.stringContaining("afterwards") });
  });
});
