import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

/** How the next delivery's first attempt begins, as its row in `due` says while the receiver is asked. */
async function nextFirstAttempt(): Promise<"claimed" | "by its hint"> {
  const { db, receiver, emitter } = environment;
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  receiver.answerWith(async () => {
    await answered;
    return { status: 200 };
  });
  const before = receiver.requests.length;
  await emitter.emit(environment.event());
  await receiver.received(before + 1);
  const [due] = await db.database.prisma.due.findMany();
  answer();
  await environment.settled();
  return due?.claimId === due?.deliveryId ? "by its hint" : "claimed";
}

test("§2.3 first attempts need no claim after the first one, until the endpoint changes", async () => {
  const { api, receiver } = environment;
  const { endpoint } = await api.create({ url: `${receiver.url}/old` });
  expect(await nextFirstAttempt()).toBe("claimed");
  expect(await nextFirstAttempt()).toBe("by its hint");
  await api.edit(endpoint.id, { url: `${receiver.url}/new` });
  expect(await nextFirstAttempt()).toBe("claimed");
  expect(await nextFirstAttempt()).toBe("by its hint");
  expect(receiver.requests.map(({ path }) => path)).toEqual(["/old", "/old", "/new", "/new"]);
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 4 }));
});
