import { eventually } from "@herald/dev/harness/eventually";
import { ODD_SETTINGS, setUserSettings } from "@herald/dev/harness/odd-settings";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

/** More than comes with a delivery's row. */
const LARGE = JSON.stringify("x".repeat(9 * 1024));

test("regression: whatever settings Herald's user has, failed attempts are stored and repeated, and manual deliveries are attempted", async () => {
  const { api, db, receiver, emitter } = environment;
  await setUserSettings(db, ODD_SETTINGS);
  const { endpoint } = await eventually(() => api.create({ url: receiver.url }));
  receiver.answerWith((_request, index) => ({ status: index < 2 ? 500 : 200 }));
  await emitter.emit(environment.event());
  for (const failures of [1, 2]) {
    await environment.rested(endpoint.id, failures);
    await environment.advanceToNextAttempts(endpoint.id);
  }
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 1 }));
  expect(await api.deliver(endpoint.id, "WorkItemCompleted", LARGE)).toMatchObject({ succeeded: true });
  expect(await api.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });
  expect(receiver.requests).toHaveLength(5);
  const where = { organizationId: api.organizationId };
  const rows = await db.database.prisma.delivery.findMany({ where });
  for (const row of rows) expect(row).toMatchObject({ errorSummary: null, failureKind: null, statusCode: 200 });
  expect(await db.database.prisma.businessEvent.findMany({ where })).toMatchObject([{ traceparent: null }]);
  const nowMs = environment.clock.now().getTime();
  for (const { attemptedAtUtc } of (await api.get(endpoint.id)).deliveries) {
    expect(Math.abs(Date.parse(attemptedAtUtc ?? "") - nowMs)).toBeLessThan(60_000);
  }
});
