import { sign } from "@herald/receiver";
import { expect, test } from "@jest/globals";
import { describeRequest } from "./describe-request.ts";
import { type ReceivedRequest, verdictOn } from "./received-request.ts";

const secret = "a signing secret";
const receivedAt = new Date("2025-11-20T15:04:05.123Z");
const timestamp = Math.floor(receivedAt.getTime() / 1000) - 2;
const id = "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111";

function received(text: string, secrets = [secret], changes: Partial<ReceivedRequest> = {}): ReceivedRequest {
  const body = Buffer.from(text);
  const request = {
    receivedAt,
    method: "POST",
    path: "/hooks",
    headers: [
      ["X-Service-Signature", sign(secret, timestamp, body)],
      ["X-Service-Timestamp", String(timestamp)],
      ["X-Service-Event", "RiskCreated"],
      ["X-Service-Delivery-Id", "delivery-1"],
    ] as [string, string][],
    body,
    ...changes,
  };
  return { ...request, verdict: verdictOn(request, { secrets }, receivedAt) };
}

test("a verified request says what it is, how old its signature is, and what it holds", () => {
  const body = `{"id":"${id}","type":"RiskCreated"}`;
  expect(describeRequest(received(body), { answer: "204" })).toBe(
    [
      "15:04:05.123 POST /hooks  RiskCreated  verified, signed 2 s ago  -> 204",
      `  delivery delivery-1  event ${id}`,
      `  ${body}`,
    ].join("\n"),
  );
});

test("an unverified request says why, and what to look at", () => {
  const text = describeRequest(received("{}", ["another"]), { answer: "401" });
  expect(text).toContain("NOT VERIFIED (signature_mismatch)  -> 401");
  expect(text).toContain("compare the secret");
});

test("a manual payload is named by its header", () => {
  expect(describeRequest(received("[1]"), { answer: "204" })).toContain("RiskCreated  verified");
});

test("a long body is cut, and its length shown", () => {
  const text = describeRequest(received(JSON.stringify({ x: "y".repeat(5000) })), { answer: "204" });
  expect(text.length).toBeLessThan(900);
  expect(text).toMatch(/\.\.\. \(5008 bytes\)$/);
});

test("nothing in a request can steer the terminal", () => {
  const text = describeRequest(
    received("\u001b[2J\u202e{}", [secret], {
      path: "/\u001b[31m",
      headers: [["X-Service-Event", "\u0007"]],
    }),
    { answer: "401" },
  );
  expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  expect(text).toContain("\\u001b[2J\\u202e{}");
});
