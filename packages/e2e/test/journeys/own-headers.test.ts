import { eventually } from "@herald/dev/harness/eventually";
import { verify } from "@herald/receiver";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

/** Whether any row of any table has this text. */
async function isStored(text: string): Promise<boolean> {
  const { prisma } = environment.db.database;
  const tables = await prisma.$queryRaw<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`;
  const found = tables.map(({ name }) =>
    prisma.$queryRawUnsafe<unknown[]>(`select from ${name} as row where row::text like $1 limit 1`, `%${text}%`),
  );
  return (await Promise.all(found)).flat().length > 0;
}

test("§2.3 own headers go with each attempt as they are when it begins: with a first one, a retry after an edit, and a manual delivery", async () => {
  const { api, receiver, emitter } = environment;
  const headers = { Authorization: "Bearer HEADER-MARK-1", "X-Tenant": "HEADER-MARK-2" };
  const { endpoint, signingSecret } = await api.create({ url: receiver.url, headers });
  receiver.answerWith({ status: 500 });
  await emitter.emit(environment.event());
  const [first] = await receiver.received(1);
  expect(first?.headers).toMatchObject({ authorization: "Bearer HEADER-MARK-1", "x-tenant": "HEADER-MARK-2" });
  // They are not signed.
  const { body = Buffer.alloc(0), headers: received = {} } = first ?? {};
  const { authorization: _a, "x-tenant": _t, ...signed } = received;
  const now = environment.clock.now();
  expect(verify({ secret: signingSecret as string, headers: signed, body, now })).toMatchObject({ ok: true });
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ failing: 1 }));

  receiver.answerWith({ status: 200 });
  await api.edit(endpoint.id, { headers: { Authorization: null, "X-Other": "HEADER-MARK-3" } });
  await environment.advanceToNextAttempts(endpoint.id);
  const [, retry] = await receiver.received(2);
  expect(retry?.headers).toMatchObject({ authorization: "Bearer HEADER-MARK-1", "x-other": "HEADER-MARK-3" });
  expect(retry?.headers).not.toHaveProperty("x-tenant");

  await api.edit(endpoint.id, { headers: { authorization: "Bearer HEADER-MARK-4" } });
  expect(await api.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });
  const [, , manual] = await receiver.received(3);
  expect(manual?.headers).toMatchObject({ authorization: "Bearer HEADER-MARK-4" });
  expect(manual?.headers).not.toHaveProperty("x-other");

  await environment.settled();
  expect(await isStored("WorkItemCompleted")).toBe(true);
  expect(await isStored("HEADER-MARK")).toBe(false);
});
