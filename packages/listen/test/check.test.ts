import { createHmac } from "node:crypto";
import { verify } from "@herald/receiver";
import { afterEach, expect, test } from "@jest/globals";
import { Webhook } from "standardwebhooks";
import { FORGED_REQUESTS } from "../src/check/forged-requests.ts";
import { GOOD_REQUESTS } from "../src/check/good-requests.ts";
import { ODD_REQUESTS } from "../src/check/odd-requests.ts";
import { type CheckOptions, type CheckResult, checkReceiver } from "../src/index.ts";
import { idOf, type Parts, RIGHT, SECRET, type SmallReceiver, startReceiver } from "./small-receiver.ts";

let receiver: SmallReceiver | undefined;
afterEach(async () => {
  await receiver?.close();
  receiver = undefined;
});

const CHECKS = [...GOOD_REQUESTS, ...FORGED_REQUESTS, ...ODD_REQUESTS];

/** The ids of the checks that a receiver fails. */
async function failures(changes: Partial<Parts>): Promise<string[]> {
  const results = await resultsFor(changes);
  expect(results.map(({ id }) => id)).toEqual(CHECKS.map(({ id }) => id));
  return results.filter(({ passed }) => !passed).map(({ id }) => id);
}

async function resultsFor(changes: Partial<Parts>, options: Partial<CheckOptions> = {}): Promise<CheckResult[]> {
  receiver = await startReceiver(changes);
  return checkReceiver({ url: receiver.url, secret: SECRET, ...options });
}

/** Verifies as a receiver with a library of Standard Webhooks does, which gets the body as text. */
const byLibrary: Parts["isVerified"] = ({ headers, body }) => {
  const joined = Object.entries(headers).map(([name, values]) => [name, [values].flat().join(", ")]);
  try {
    new Webhook(SECRET).verify(Buffer.from(body).toString(), Object.fromEntries(joined));
    return true;
  } catch (error) {
    // The library parses the body once its signature is right.
    return error instanceof SyntaxError;
  }
};

/** The first value of a header; "" if there is none. */
const headerOf = (headers: unknown, name: string) => (headers as Record<string, string[] | undefined>)[name]?.[0] ?? "";

test("§4.4 a right receiver passes every check", async () => {
  expect(await failures({})).toEqual([]);
});

test("§4.4.6 a receiver that knows an event by its id answers a duplicate with success, acts once, and passes", async () => {
  const came: string[] = [];
  const acted: string[] = [];
  const store: Parts["store"] = (body, seen, headers) => {
    const id = idOf(body);
    if (id !== null) came.push(id);
    if (id !== null && !seen.has(id)) acted.push(id);
    return RIGHT.store(body, seen, headers);
  };
  expect(await failures({ store })).toEqual([]);
  expect(acted).toEqual([...new Set(came)]);
  expect(came.length).toBeGreaterThan(acted.length);
});

test.each<[string, Parts["isVerified"]]>([
  ["verifies with a library of Standard Webhooks", byLibrary],
  ["takes either signature", (input) => verify(input).ok || byLibrary(input)],
  ["wants both signatures", (input) => verify(input).ok && byLibrary(input)],
])("a right receiver that %s passes every check", async (_name, isVerified) => {
  expect(await failures({ isVerified })).toEqual([]);
});

test("a receiver of Standard Webhooks that does not look at its clock is found out", async () => {
  const isVerified: Parts["isVerified"] = ({ headers, body }) => {
    const signed = `${headerOf(headers, "webhook-id")}.${headerOf(headers, "webhook-timestamp")}.`;
    const digest = createHmac("sha256", Buffer.from(SECRET, "base64")).update(signed).update(body).digest("base64");
    return headerOf(headers, "webhook-signature") === `v1,${digest}`;
  };
  expect(await failures({ isVerified })).toEqual(expect.arrayContaining(["stale", "future", "ancient"]));
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
    ["duplicate", "duplicate_resent", "duplicate_at_once"],
  ],
  [
    "refuses types that it does not know",
    { store: (body, seen) => (isOfType(body, "WorkItemCompleted") ? RIGHT.store(body, seen, {}) : 422) },
    ["good_other_types"],
  ],
  [
    "knows an event by its delivery id",
    {
      store: (body, _seen, headers) => {
        const id = headerOf(headers, "x-service-delivery-id");
        if (idOf(body) === null) return 400;
        if (deliveries.has(id)) return 409;
        deliveries.add(id);
        return 204;
      },
    },
    ["duplicate", "delivery_id_again", "duplicate_at_once"],
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

const deliveries = new Set<string>();

function isOfType(body: Buffer, type: string): boolean {
  try {
    const event = JSON.parse(body.toString());
    return typeof event?.type !== "string" || event.type === type;
  } catch {
    return true;
  }
}

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

test.each(mistakes)("a receiver that %s is found out", async (_mistake, parts, found) => {
  expect(await failures(parts)).toEqual(found);
});

test("a receiver that decodes its secret is found out", async () => {
  const key = Buffer.from(SECRET, "base64");
  const found = await failures({
    isVerified: ({ headers, body }) =>
      headerOf(headers, "x-service-signature") === hmac(key, headerOf(headers, "x-service-timestamp"), body),
  });
  expect(found).toEqual(expect.arrayContaining(["good", "other_key"]));
});

test("a receiver that takes the type from the unsigned header is asked about, by the event's id", async () => {
  const kept = new Map<string, string>();
  const results = await resultsFor({
    store: (body, seen, headers) => {
      kept.set(idOf(body) ?? "", headerOf(headers, "x-service-event"));
      return RIGHT.store(body, seen, headers);
    },
  });
  const [question = ""] = results.find(({ id }) => id === "type_of_header")?.questions ?? [];
  const [, id = "", right = "", wrong = ""] =
    /^Event (\S+) came as (\w+) in .* as (\w+) in the unsigned/.exec(question) ?? [];
  expect(right).not.toBe(wrong);
  // A person who looks into the store sees this.
  expect(kept.get(id)).toBe(wrong);
});

test("§4.4.7 a receiver that knows an event by its delivery id alone is asked about, by the event's id", async () => {
  const effects: string[] = [];
  const results = await resultsFor({
    store: (body, seen, headers) => {
      const id = headerOf(headers, "x-service-delivery-id");
      if (!deliveries.has(id)) effects.push(idOf(body) ?? "");
      deliveries.add(id);
      return RIGHT.store(body, seen, headers);
    },
  });
  const asked = (id: string) => results.find((result) => result.id === id)?.questions.join() ?? "";
  const [resent = ""] = /[0-9a-f-]{36}/.exec(asked("duplicate_resent")) ?? [];
  const [first, second] = asked("delivery_id_again").match(/[0-9a-f-]{36}/g) ?? [];
  expect(effects.filter((id) => id === resent)).toHaveLength(2);
  expect([effects.includes(first ?? ""), effects.includes(second ?? "")]).toEqual([true, false]);
});

test("§4.4.5 a receiver that answers late is warned of, and one that answers in time is not", async () => {
  const store: Parts["store"] = (...args) =>
    new Promise((resolve) => setTimeout(() => resolve(RIGHT.store(...args)), 30));
  const warned = async (slowMs: number) => {
    const results = await resultsFor({ store }, { slowMs });
    await receiver?.close();
    expect(results.every(({ passed }) => passed)).toBe(true);
    return results.find(({ id }) => id === "good")?.warning;
  };
  expect(await warned(20)).toContain("do the work afterwards");
  expect(await warned(Number.POSITIVE_INFINITY)).toBeNull();
});

test("§4.4.5 a receiver that works before it answers is found out", async () => {
  const never = new Promise<number>(() => {});
  receiver = await startReceiver({ store: () => never });
  const results = await checkReceiver({ url: receiver.url, secret: SECRET, timeoutMs: 200 });
  const good = results.find(({ id }) => id === "good");
  expect(good).toMatchObject({ passed: false, statuses: [null], advice: expect.stringContaining("afterwards") });
});
