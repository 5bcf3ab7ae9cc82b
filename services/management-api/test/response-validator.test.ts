import { DEFAULT_API_LIMITS } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { openApiDocument } from "../src/openapi/document.ts";
import { responseValidator, type SeenResponse } from "./support/response-validator.ts";

/** That right responses pass is a proof only if wrong ones do not. */
const validate = responseValidator(
  openApiDocument({ limits: DEFAULT_API_LIMITS, basePath: "", cookieName: "herald_session" }),
);
const session = "/api/organization/integration-operations/session";
const problem = {
  type: "urn:herald:problem:token-expired",
  title: "t",
  status: 401,
  code: "token_expired",
  detail: "d",
  requestId: "r",
};
const right: SeenResponse = {
  method: "GET",
  path: session,
  status: 401,
  headers: {
    "content-type": "application/problem+json; charset=utf-8",
    "x-request-id": "r",
    "www-authenticate": "Bearer",
  },
  body: problem,
  text: JSON.stringify(problem),
};

test("a response that the OpenAPI document describes passes the validator", () =>
  expect(() => validate(right)).not.toThrow());

test.each<[string, Partial<SeenResponse>, RegExp]>([
  ["another status", { status: 418 }, /no such status/],
  ["another operation", { method: "POST" }, /no such operation/],
  ["another content type", { headers: { ...right.headers, "content-type": "application/json" } }, /content type/],
  ["a missing header", { headers: { ...right.headers, "www-authenticate": undefined } }, /www-authenticate/i],
  ["a missing field", { body: { ...problem, detail: undefined } }, /detail/],
  ["a field too many", { body: { ...problem, secret: "x" } }, /additional properties/],
  ["a code of another status", { body: { ...problem, code: "permission_missing" } }, /code/],
])("a response with %s doesn't pass the validator", (_name, change, why) => {
  expect(() => validate({ ...right, ...change })).toThrow(why);
});
