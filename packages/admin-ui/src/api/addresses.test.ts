import { expect, test } from "@jest/globals";
import { addressesFrom } from "./addresses.ts";

test("the page finds itself and the API at the root", () => {
  expect(addressesFrom("https://herald.example/administration/integrations/")).toEqual({
    router: "/administration/integrations",
    api: "/api/organization/integration-operations",
  });
});

test("the page finds itself and the API below a BASE_PATH", () => {
  expect(addressesFrom("https://example.com/apps/herald/administration/integrations/")).toEqual({
    router: "/apps/herald/administration/integrations",
    api: "/apps/herald/api/organization/integration-operations",
  });
});
