import { openDatabase } from "@herald/common/database/open-database";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox } from "@herald/common/security/secret-box";
import { useOwnPostgres } from "@herald/testkit/harness/own-postgres";
import { insertDelivery, insertEndpoint, insertEvent } from "@herald/testkit/harness/rows";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { expect, test } from "@jest/globals";
import { callHerald } from "./run-herald.ts";

const own = useOwnPostgres();
const db = useDatabase();
const broker = useBroker();
const { SECRET_KEYS } = newSealingKeys("k");
const ENDPOINT_ID = "00000000-0000-4000-8000-000000000001";
/** Of bucket 6. */
const ORGANIZATION_ID = "o";

test("herald buckets needs no more rights than herald_app has, in the giving database and in the taking one", async () => {
  const { prisma } = db.database;
  const sealedSecret = secretBox(SECRET_KEYS).seal("s", ENDPOINT_ID);
  const endpoint = await insertEndpoint(prisma, { id: ENDPOINT_ID, organizationId: ORGANIZATION_ID, sealedSecret });
  await insertEvent(prisma, ORGANIZATION_ID);
  await insertDelivery(prisma, endpoint);
  const run = (action: string, to: string, from: string) =>
    callHerald(["buckets", action, "6"], {
      DATABASE_URL: to,
      FROM_DATABASE_URL: from,
      AMQP_URL: broker.url,
      BROKER_NAMESPACE: broker.namespace,
      SECRET_KEYS,
    });
  expect(await run("move", own.url(), db.url)).toMatchObject({ code: 0, stderr: "" });
  expect(await run("forget", own.url(), db.url)).toMatchObject({ code: 0, stderr: "" });
  // As its publishers do.
  await prisma.erasure.deleteMany();
  await prisma.due.deleteMany();
  await prisma.delivery.deleteMany();
  expect(await run("move", db.url, own.url())).toMatchObject({ code: 0, stderr: "" });
  expect(await run("forget", db.url, own.url())).toMatchObject({ code: 0, stderr: "" });
  expect(await prisma.delivery.count()).toBe(1);
  const app = openDatabase(own.url());
  const left = await Promise.all([app.prisma.webhookEndpoint.count(), app.prisma.businessEvent.count()]).finally(() =>
    app.close(),
  );
  expect(left).toEqual([0, 0]);
});
