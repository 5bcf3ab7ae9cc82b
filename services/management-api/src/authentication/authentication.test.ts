import { describe, expect, test } from "@jest/globals";
import type { Request } from "express";
import { missingFor } from "./access.ts";
import { callerOf } from "./caller.ts";
import { assertSameOrigin, findCredentials } from "./credentials.ts";
import { claimsOf } from "./settings.ts";

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

describe("a change by cookie", () => {
  const change = (setting: string | undefined, host: string, origin: string) => () =>
    assertSameOrigin({ method: "POST", headers: { host, origin } } as Request, setting);
  const HOOKS = "https://hooks.example.com";

  test.each<[setting: string | undefined, host: string, origin: string]>([
    [HOOKS, "any", HOOKS],
    ["https://Hooks.Example.com", "any", HOOKS],
    ["https://hooks.example.com:443", "any", HOOKS],
    ["http://hooks.example.com:80", "any", "http://hooks.example.com"],
    ["https://hooks.example.com:8443", "any", `${HOOKS}:8443`],
    ["https://bücher.example", "any", "https://xn--bcher-kva.example"],
    [undefined, "hooks.example.com", HOOKS],
    [undefined, "Hooks.Example.com", HOOKS],
    [undefined, "hooks.example.com:443", HOOKS],
    [undefined, "127.0.0.1:8080", "http://127.0.0.1:8080"],
  ])("with PUBLIC_ORIGIN %j and Host %j, the page at %j is the page itself", (...given) => {
    expect(change(...given)).not.toThrow();
  });

  test.each<[setting: string | undefined, host: string, origin: string, expected: string]>([
    [
      HOOKS,
      "hooks.example.com",
      "http://hooks.example.com",
      `from http://hooks.example.com, and Herald expects ${HOOKS}.`,
    ],
    [HOOKS, "other.example", "https://other.example", "PUBLIC_ORIGIN, if the page is at the first one"],
    [`${HOOKS}:8443`, "any", HOOKS, `expects ${HOOKS}:8443. `],
    [
      undefined,
      "10.0.0.7:8080",
      HOOKS,
      `from ${HOOKS}, and Herald expects https://10.0.0.7:8080. It compares with the Host`,
    ],
    [undefined, "hooks.example.com", "null", "from null, and Herald expects hooks.example.com."],
    [undefined, "", "x".repeat(9_000), `from ${"x".repeat(270)}, and`],
    ...[
      ...["", "https://evil.example", `${HOOKS}.evil.example`, "https://evil.example/hooks.example.com", "file://"],
      ...[
        "https://hooks.example.com@evil.example",
        `${HOOKS}:444`,
        "https://evilhooks.example.com",
        `${HOOKS}, ${HOOKS}`,
      ],
    ].map((origin): [undefined, string, string, string] => [
      undefined,
      "hooks.example.com",
      origin,
      `from ${origin}, `,
    ]),
  ])(
    "with PUBLIC_ORIGIN %j and Host %j, a refused page at %.40j hears which two differ, and the setting",
    (...given) => {
      const [setting, host, origin, expected] = given;
      expect(change(setting, host, origin)).toThrow(expected);
      expect(change(setting, host, origin)).toThrow("PUBLIC_ORIGIN");
    },
  );
});

const names = claimsOf({ AUTH_CLAIMS: "" });
const everything = {
  sub: "user-1",
  exp: 2_000_000_000,
  organization_id: "organization-1",
  permissions: ["integrations.view", "integrations.manage"],
  subscription: "active",
  modules: ["administration"],
  entitlements: ["integrations"],
};
const missing = (access: "view" | "manage", claims: object) =>
  missingFor(access, callerOf({ ...everything, ...claims }, names), "administration").map(({ what }) => what);

test("§5.2 reading needs the permission to view; everything else needs the permissions to view and to manage", () => {
  const viewer = { permissions: ["integrations.view"] };
  expect(missing("view", viewer)).toEqual([]);
  expect(missing("manage", viewer)).toEqual(["permission integrations.manage"]);
  expect(missing("manage", { permissions: ["integrations.manage"] })).toEqual(["permission integrations.view"]);
  expect(missing("manage", { permissions: "integrations.view integrations.manage" })).toEqual([]);
});

test("§5.3 access needs a subscription that is active or trialing", () => {
  expect(missing("view", { subscription: "trialing" })).toEqual([]);
  for (const subscription of ["Active", "past_due", "", null, ["active"]]) {
    expect(missing("view", { subscription })).toEqual(["active subscription"]);
  }
});

test("a claim of another type counts as absent", () => {
  expect(missing("view", { permissions: { "integrations.view": true } })).toEqual(["permission integrations.view"]);
  expect(missing("view", { permissions: "integrations.viewer" })).toEqual(["permission integrations.view"]);
  expect(missing("view", { modules: true })).toEqual(["module administration"]);
  const tooLong = ["x".repeat(129), "😀".repeat(129)];
  const controlled = ["a\0b", "acme\nacme", "acme\u0085"];
  for (const organization_id of [null, undefined]) {
    expect(missing("view", { organization_id })).toEqual(["organization"]);
  }
  for (const organization_id of [42, "", true, {}, ["organization-1"], ...tooLong, ...controlled]) {
    expect(missing("view", { organization_id })).toEqual([
      "organization (the token's claim organization_id is no text of 1 to 128 characters: correct its issuer)",
    ]);
  }
});

test("claims are read under the names that the settings give them", () => {
  const renamed = claimsOf({ AUTH_CLAIMS: "organization=https://example.com/tenant,permissions=scope" });
  const caller = callerOf({ "https://example.com/tenant": "t1", scope: "a b", subscription: "active" }, renamed);
  expect(caller).toMatchObject({ organizationId: "t1", permissions: new Set(["a", "b"]), subscription: "active" });
});
