import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { apiClient } from "../../../src/herald/api-client.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

const DAY_MS = 24 * 60 * 60_000;
// Shorter than what is caught up, so a day goes as soon as no catch-up can reach it.
const environment = useTestEnvironment({
  settings: { RETENTION_DAYS: "1" },
  tuning: { retentionIntervalMs: 1_000 },
  partitioned: false,
});

test("what was delivered is not delivered again when its history is gone: not by a resume, nor when its event is emitted again", async () => {
  const { receiver, emitter, clock, db } = environment;
  const api = await apiClient(environment.herald.apiUrl, environment.api.organizationId, { tokenFor: "17d" });
  // Old is what PostgreSQL's clock calls old too, so the test begins in the past and ends in the present.
  const begin = clock.now().getTime() - 13 * DAY_MS;
  clock.set(new Date(begin));
  const { endpoint } = await api.create({ url: receiver.url });
  const first = environment.event();
  await emitter.emit(first);
  await receiver.received(1);
  await environment.settled();
  const [delivery] = await db.database.prisma.delivery.findMany({ where: { endpointId: endpoint.id } });
  const { id = "" } = delivery ?? {};

  const fresh: string[] = [];
  for (const days of [2, 6, 10, 13]) {
    clock.set(new Date(begin + days * DAY_MS));
    // The eight days that everything is kept for begin when its own day is over.
    if (days >= 10) {
      await eventually(async () => expect(await db.database.prisma.delivery.count({ where: { id } })).toBe(0));
    }
    await api.edit(endpoint.id, { enabled: false });
    await api.edit(endpoint.id, { enabled: true });
    await environment.caughtUp(endpoint.id);
    await emitter.emit(first);
    const next = environment.event();
    fresh.push(next.id);
    await emitter.emit(next);
    await receiver.received(1 + fresh.length);
    await environment.settled();
  }
  const arrived = receiver.requests.map(({ body }) => JSON.parse(body.toString()).id as string);
  expect(arrived).toEqual([first.id, ...fresh]);
  const stored = { organizationId: api.organizationId, id: first.id };
  expect(await db.database.prisma.businessEvent.count({ where: stored })).toBe(0);
});
