import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { deliveryId, eventKey } from "../../src/database/ids.ts";

const db = useDatabase();

// From the years 1 to 9999: what both sides can say in milliseconds within 48 bits is from 1970 on.
const occurredAt = fc.date({ min: new Date(0), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true });
const organizationId = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
  .filter((text) => !text.includes("\0"));
const event = fc.record({ organizationId, id: fc.uuid(), endpointId: fc.uuid(), occurredAt });

test("PostgreSQL makes the same ids as TypeScript, and they sort by time", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 50 }), async (events) => {
      const rows = await db.database.queries.$queryRaw<{ key: string; delivery: string }[]>`
        select key, delivery_id(key, endpoint_id) as delivery
        from unnest(
          ${events.map((each) => each.organizationId)}::text[], ${events.map((each) => each.id)}::uuid[],
          ${events.map((each) => each.endpointId)}::uuid[], ${events.map((each) => each.occurredAt)}::timestamptz[]
        ) with ordinality as event (organization_id, id, endpoint_id, occurred_at, position)
        cross join lateral event_key(organization_id, id, occurred_at) as key
        order by position`;
      const made = events.map((each) => {
        const key = eventKey(each.organizationId, each.id, each.occurredAt);
        return { key, delivery: deliveryId(key, each.endpointId) };
      });
      expect(rows).toEqual(made);
      const byTime = [...events].sort((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime());
      const times = byTime.map((each) => eventKey(each.organizationId, each.id, each.occurredAt).slice(0, 13));
      expect(times).toEqual([...times].sort());
    }),
    { numRuns: 100 },
  );
});
