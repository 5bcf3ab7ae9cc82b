import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { routingKey } from "./routing-key.ts";

test.each([
  ["org-1", "RiskCreated", "RiskCreated.c.2"],
  ["acme", "RiskCreated", "RiskCreated.8.2"],
  ["Zürich 😀", "WorkItemCompleted", "WorkItemCompleted.8.9"],
  ["org-1", "risk.created", "risk-created.c.2"],
])("the routing key for organization %s and type %s is %s", (organizationId, type, key) => {
  expect(routingKey({ organizationId, type })).toBe(key);
});

test("a routing key is three words, the last two of them hexadecimal digits (property)", () => {
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1 }), (organizationId, type) => {
      expect(routingKey({ organizationId, type })).toMatch(/^[^.]+\.[0-9a-f]\.[0-9a-f]$/s);
    }),
  );
});
