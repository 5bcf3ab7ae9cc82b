import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

test("§2.3 first attempts that are handed over go to the endpoint as it is by then", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: `${receiver.url}/old` });
  for (const path of ["/old", "/old", "/new", "/new"]) {
    if (path === "/new") await api.edit(endpoint.id, { url: `${receiver.url}/new` });
    const before = receiver.requests.length;
    await emitter.emit(environment.event());
    await receiver.received(before + 1);
    await environment.settled();
  }
  expect(receiver.requests.map(({ path }) => path)).toEqual(["/old", "/old", "/new", "/new"]);
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 4 }));
});
