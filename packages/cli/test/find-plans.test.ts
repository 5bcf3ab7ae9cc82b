import { storeHistory } from "@herald/dev/harness/history";
import { expectWalks } from "@herald/dev/harness/plans";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeAll, test } from "@jest/globals";
import { organizationsWith } from "../src/find-command.ts";

// One statement stores the history, which takes long on a busy machine.
const db = useDatabase({ statementTimeoutMs: 170_000 });
const id = "0190a1b2-0000-7000-8000-0000000000aa";

beforeAll(() => storeHistory(db.database.prisma, "of a backlog"));

test.each([
  ["id", { eventId: id, entityId: null, deliveryId: null }, "business_event_organization_id_id_idx"],
  ["entity", { eventId: null, entityId: id, deliveryId: null }, "business_event_organization_id_entity_id_key_idx"],
])("herald find looks for an event's %s by an index, in each organization", (_name, sought, index) =>
  expectWalks(db.database.queries, [index, "undelivered_event_pkey", "delivery_pkey"], (queries) =>
    organizationsWith(queries, sought),
  ),
);
