import { expect, test } from "@jest/globals";
import { diagnose } from "./diagnosis.ts";

test.each([
  [503, "interrupted: the dispatcher ended before the result was recorded", "Herald itself"],
  [503, "host not found", "can't be found"],
  [503, "DNS lookup timed out", "can't be found"],
  [503, "connection timed out", "can't be reached"],
  [503, "host unreachable", "can't be reached"],
  [503, "timed out after 15 s", "took too long"],
  [503, "certificate expired", "TLS certificate"],
  [
    503,
    "certificate not trusted (unknown authority, or the receiver does not send its intermediate certificate)",
    "TLS certificate",
  ],
  [503, "receiver asks for a client certificate", "TLS certificate"],
  [503, "receiver does not speak TLS on this port", "encrypted"],
  [503, "connection closed during the TLS handshake", "encrypted"],
  [503, "connection refused", "Nothing accepts connections"],
  [503, "address not allowed", "public ones only"],
  [503, "connection closed without a response", "broke"],
  [503, "response is not valid HTTP", "not valid HTTP"],
  [503, "receiver answered 503", "it is down"],
  [503, "request failed", "it is down"],
  [301, "receiver answered 301, redirects are not followed", "redirects are never followed"],
  [401, "receiver answered 401", "signing secret"],
  [404, "receiver answered 404", "nothing that takes a POST"],
  [422, "receiver answered 422", "does not accept the body"],
  [429, "receiver answered 429", "limits the rate"],
  [500, "receiver answered 500", "fails inside"],
  [418, "receiver answered 418", "answered 418"],
] as const)("a run of failures that ends in %i %s is explained", (statusCode, errorSummary, words) => {
  expect(
    diagnose([
      { statusCode: 200, errorSummary: null },
      { statusCode, errorSummary },
    ])?.cause,
  ).toContain(words);
});

test("no failure needs no explanation", () => {
  expect(diagnose([])).toBeNull();
});

test("only a webhook that is off is to be resumed", () => {
  const run = [{ statusCode: 500, errorSummary: null }];
  expect(diagnose(run, false)?.remedy).toContain("Then resume.");
  expect(diagnose(run, true)?.remedy).toContain("Retries go on by themselves.");
});
