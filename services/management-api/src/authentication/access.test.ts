import { expect, test } from "@jest/globals";
import { missingFor } from "./access.ts";
import { callerOf } from "./caller.ts";
import { claimsOf } from "./settings.ts";

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
