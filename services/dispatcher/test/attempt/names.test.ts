import type { Resolve } from "@herald/common/security/address-guard";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Sender } from "../../src/attempt/sender.ts";
import { countConnects, request, SHORT_DEADLINE_MS, sender } from "./sending.ts";

let sending: Sender;

afterEach(() => sending.close());

async function send(resolve: Resolve) {
  sending = sender({ resolve, deadlineMs: SHORT_DEADLINE_MS });
  let result: Awaited<ReturnType<Sender["send"]>> | undefined;
  const connects = await countConnects(async () => {
    result = await sending.send(request());
  });
  expect(connects).toBe(0);
  return result;
}

const failsWith =
  (code: string): Resolve =>
  async (name) => {
    throw Object.assign(new Error(`queryA ${code} ${name}`), { code, syscall: "queryA", hostname: name });
  };

describe("name look-up", () => {
  test.each([
    ["ENOTFOUND", "host not found"],
    ["ESERVFAIL", "DNS lookup failed"],
    ["ETIMEOUT", "DNS lookup timed out"],
  ])("§2.2/503 %s is recorded as 503, %p", async (code, errorSummary) => {
    expect(await send(failsWith(code))).toMatchObject({ statusCode: 503, succeeded: false, errorSummary });
  });

  test("§8/timeout a name look-up that never ends is ended by the attempt's deadline", async () => {
    expect(await send(() => new Promise(() => {}))).toMatchObject({
      statusCode: 503,
      errorSummary: "timed out after 0.4 s",
    });
  });

  test("a name that resolves after the deadline leads to no connection", async () => {
    let answer: (addresses: { address: string; family: number }[]) => void = () => {};
    const late = new Promise<{ address: string; family: number }[]>((resolve) => {
      answer = resolve;
    });
    expect(await send(() => late)).toMatchObject({ errorSummary: "timed out after 0.4 s" });
    const connects = await countConnects(async () => {
      answer([{ address: "127.0.0.1", family: 4 }]);
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect(connects).toBe(0);
  });
});
