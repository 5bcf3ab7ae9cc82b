import { describe, expect, test } from "@jest/globals";
import { findCredentials } from "./credentials.ts";

const find = (headers: Record<string, string>) => findCredentials(headers, "session");
const JWT = "aaa.bbb.ccc";

describe("§5.1 credentials of a request", () => {
  test.each([
    [{}, { kind: "none" }],
    [{ authorization: `Bearer ${JWT}` }, { kind: "bearer", token: JWT }],
    [{ authorization: `bearer   ${JWT} ` }, { kind: "bearer", token: JWT }],
    [{ cookie: `session=${JWT}` }, { kind: "cookie", token: JWT }],
    [{ cookie: `a=1; session=${JWT}; b=2` }, { kind: "cookie", token: JWT }],
    [{ cookie: "other=1" }, { kind: "none" }],
    [{ cookie: "session=" }, { kind: "none" }],
    // A token that is too long for one cookie.
    [{ cookie: "session.1=b.ccc; a=1; session.0=aaa.bb" }, { kind: "cookie", token: "aaa.bbb.ccc" }],
    [{ cookie: "session.0=aaa; session.2=ccc" }, { kind: "cookie", token: "aaa" }],
    [{ cookie: `session.0=old; session=${JWT}` }, { kind: "cookie", token: JWT }],
    [{ cookie: "session.1=bbb" }, { kind: "none" }],
    // The header was put there on purpose, the cookie by the browser.
    [
      { authorization: `Bearer ${JWT}`, cookie: "session=x.y.z" },
      { kind: "bearer", token: JWT },
    ],
    // Gateways add keys of their own.
    [
      { authorization: `Bearer ${JWT}`, "x-api-key": "k" },
      { kind: "bearer", token: JWT },
    ],
    [
      { cookie: `session=${JWT}`, "x-api-key": "k" },
      { kind: "cookie", token: JWT },
    ],
    [{ "x-api-key": "k" }, { kind: "api-key", header: "x-api-key" }],
    [{ "api-key": "k" }, { kind: "api-key", header: "api-key" }],
    [{ "x-api-token": "k" }, { kind: "api-key", header: "x-api-token" }],
    [{ authorization: "" }, { kind: "none" }],
    [{ authorization: "Bearer" }, { kind: "api-key", header: "Authorization" }],
    [{ authorization: "Bearer key" }, { kind: "api-key", header: "Authorization" }],
    [{ authorization: `Bearer ${JWT} ${JWT}` }, { kind: "api-key", header: "Authorization" }],
    [{ authorization: "Basic a2V5Og==" }, { kind: "api-key", header: "Authorization" }],
    [{ authorization: "ApiKey 0123456789" }, { kind: "api-key", header: "Authorization" }],
    [{ authorization: JWT }, { kind: "api-key", header: "Authorization" }],
  ])("the headers %j hold the right credentials", (headers, expected) => {
    expect(find(headers as Record<string, string>)).toEqual(expected);
  });
});
